#include "vgpuformats/files.hpp"

#include <cerrno>
#include <filesystem>
#include <limits>
#include <set>
#include <system_error>

#include <unistd.h>

#include "held_signals.hpp"
#include "paths.hpp"
#include "replacement.hpp"
#include "run_marks.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuformats/posix_io.hpp"

namespace vgpuformats {

vgpualloc::expected<std::string> read_file(const std::string& path) {
    return posix::read_path(path, std::numeric_limits<std::size_t>::max());
}

vgpualloc::expected<void> keep_inputs(const std::string& folder, const std::vector<std::string>& names,
                                      const std::vector<std::string>& inputs) {
    for (const std::string& name : names) {
        const std::filesystem::path output = std::filesystem::path{folder} / name;
        for (const std::string& input : inputs) {
            if (input == standard_input) continue; // and not a file of this name
            std::error_code absent;                // an output that does not exist yet is no input
            if (!std::filesystem::equivalent(output, input, absent)) continue;
            return vgpualloc::unexpected(bad_value(vgpualloc::error_code::unsupported, "out", folder,
                                                   "a folder whose " + name + " is not an input"));
        }
    }
    return {};
}

namespace {

/// Puts all files in their places or, after an error, what was there.
tl::expected<void, write_failure> swap_all(const std::string& folder, std::vector<staged_file>& staged,
                                           run_marks& marks) {
    std::vector<replacement> replacements;
    for (const staged_file& file : staged) {
        if (!file.is_stream()) replacements.push_back({file.temporary(), file.target()});
    }
    const bool is_one = replacements.size() == 1; // one rename is all or nothing by itself
    replacement_journal journal;
    if (!is_one) {
        if (auto written = journal.write(folder, replacements, marks); !written) return written;
    }
    for (staged_file& file : staged) {
        auto swapped = is_one ? tl::expected<void, write_failure>{} : file.keep_old(marks);
        if (swapped) swapped = file.swap_in();
        if (swapped) continue;
        while (!staged.empty()) staged.pop_back(); // the last first: two of them may have one target
        return swapped;
    }
    for (staged_file& file : staged) file.finish();
    return {};
}

} // namespace

tl::expected<void, write_failure> write_files(const std::string& folder, const std::vector<output_file>& files) {
    if (folder.empty()) {
        return tl::unexpected(write_failure{
            bad_input(vgpualloc::error_code::missing, "out", "missing", "the path of a folder to write to")});
    }
    // In this order, because they go in the other one: the files, then the marks beside them, then the folders that are
    // empty by then, and at last the signal that ends the program.
    const held_signals signals;
    posix::created_folders folders;
    run_marks marks;
    std::vector<staged_file> staged;
    staged.reserve(files.size());

    const auto create = [&folders](const std::string& path) -> tl::expected<void, write_failure> {
        const auto created = folders.create(path);
        if (created) return {};
        auto problem = failed_to("write", path, folders.error_number());
        static_cast<vgpualloc::error&>(problem.value()) = created.error();
        return problem;
    };
    if (auto created = create(folder); !created) return created;
    for (const output_file& file : files) {
        const std::string target = folder + "/" + file.name;
        if (file.name.find('/') != std::string::npos) {
            if (auto created = create(target.substr(0, target.rfind('/'))); !created) return created;
        }
        if (auto target_known = staged.emplace_back(target).find_target(); !target_known) return target_known;
    }
    std::set<std::string> target_folders;
    for (const staged_file& file : staged) {
        if (!file.is_stream()) target_folders.insert(folder_of(file.target()));
    }
    if (!target_folders.empty()) {
        target_folders.insert(folder);
        const replacement_guard guard{folder, signals};
        if (guard.is_interrupted()) return failed_to("write", folder, EINTR);
        for (const std::string& path : target_folders) take_up_runs(path);
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (auto written = staged[i].write(files[i], marks, signals); !written) return written;
    }
    // What goes into a pipe cannot be taken back, but the files can be left as they are if that fails.
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (auto written = staged[i].write_through(files[i], signals); !written) return written;
    }
    if (!target_folders.empty()) {
        const replacement_guard guard{folder, signals};
        if (guard.is_interrupted()) return failed_to("write", folder, EINTR);
        // What was killed meanwhile is completed before these files are there, and never later over them.
        for (const std::string& path : target_folders) take_up_runs(path);
        if (auto swapped = swap_all(folder, staged, marks); !swapped) return swapped;
    }
    folders.keep();
    return {};
}

tl::expected<void, write_failure> remove_files(const std::string& folder, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        const std::string path = folder + "/" + name;
        if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed_to("remove", path, errno);
        // rmdir refuses what is not empty.
        for (std::size_t slash = name.rfind('/'); slash != std::string::npos && slash > 0;
             slash = name.rfind('/', slash - 1)) {
            if (::rmdir((folder + "/" + name.substr(0, slash)).c_str()) != 0) break;
        }
    }
    return {};
}

} // namespace vgpuformats
