#include "vgpuformats/files.hpp"

#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>

#include <unistd.h>

#include "vgpuformats/input.hpp"
#include "vgpuformats/posix_io.hpp"
#include "write_failures.hpp"

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
