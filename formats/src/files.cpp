#include "vgpuformats/files.hpp"

#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>

#include <unistd.h>

#include "posix_io.hpp"
#include "replacement.hpp"
#include "vgpuformats/input.hpp"

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
            return vgpualloc::unexpected(vgpualloc::error{.code = vgpualloc::error_code::unsupported,
                                                          .where = "",
                                                          .field = "out",
                                                          .value = folder,
                                                          .expected = "a folder whose " + name + " is not an input"});
        }
    }
    return {};
}

tl::expected<void, write_failure> write_files(const std::string& folder, const std::vector<output_file>& files) {
    if (folder.empty()) {
        return tl::unexpected(write_failure{
            {vgpualloc::error_code::missing, {}, "out", {}, "missing; expected the path of a folder to write to"}});
    }
    posix::created_folders folders; // declared first: emptied of our files before it goes away
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
    {
        const replacement_guard guard{folder};
        take_up_replacements(folder, files);
    }
    for (const output_file& file : files) {
        const std::string target = folder + "/" + file.name;
        if (file.name.find('/') != std::string::npos) {
            if (auto created = create(target.substr(0, target.rfind('/'))); !created) return created;
        }
        if (auto written = staged.emplace_back(target).write(file); !written) return written;
    }
    {
        const replacement_guard guard{folder};
        replacement_journal journal;
        if (auto written = journal.write(folder, staged); !written) return written;
        for (staged_file& file : staged) {
            if (auto swapped = file.swap_in(); !swapped) {
                staged.clear(); // undone while nothing can come in between
                return swapped;
            }
        }
        for (staged_file& file : staged) file.finish();
        folders.keep();
    }
    for (staged_file& file : staged) {
        if (auto written = file.write_through(); !written) return written;
    }
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
