#include "write_failures.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace vgpuformats {

namespace {

/// Nothing that the user wrote is wrong; with room, or another disk, the same command would have done.
bool is_of_system(int error_number) noexcept {
    constexpr std::array of_system{ENOSPC, EDQUOT, EFBIG, EIO, EMFILE, ENFILE, ENOMEM};
    return std::ranges::find(of_system, error_number) != of_system.end();
}

} // namespace

tl::unexpected<write_failure> failed_to(std::string_view action, const std::string& path, int error_number) {
    return tl::unexpected(write_failure{posix::io_failure(path, action, error_number), is_of_system(error_number)});
}

tl::expected<void, write_failure> create_folder(posix::created_folders& folders, const std::string& path) {
    const auto created = folders.create(path);
    if (created) return {};
    auto problem = failed_to("write", path, folders.error_number());
    static_cast<vgpualloc::error&>(problem.value()) = created.error();
    return problem;
}

tl::expected<void, write_failure> check_folder_name(const std::string& folder) {
    if (!folder.empty()) return {};
    return tl::unexpected(
        write_failure{bad_input(vgpualloc::error_code::missing, "out", "missing", "the path of a folder to write to")});
}

} // namespace vgpuformats
