// Files that appear together or not at all, whatever ends the program.
#include <cerrno>
#include <set>

#include "held_signals.hpp"
#include "paths.hpp"
#include "replacement.hpp"
#include "run_marks.hpp"
#include "write_failures.hpp"

namespace vgpuformats {

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
    if (auto named = check_folder_name(folder); !named) return named;
    // In this order, because they go in the other one: the files, then the marks beside them, then the folders that are
    // empty by then, and at last the signal that ends the program.
    const held_signals signals;
    posix::created_folders folders;
    run_marks marks;
    std::vector<staged_file> staged;
    staged.reserve(files.size());

    if (auto created = create_folder(folders, folder); !created) return created;
    for (const output_file& file : files) {
        const std::string target = folder + "/" + file.name;
        if (file.name.find('/') != std::string::npos) {
            if (auto created = create_folder(folders, folder_of(target)); !created) return created;
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

} // namespace vgpuformats
