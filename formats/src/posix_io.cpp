#include "vgpuformats/posix_io.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vgpuformats::posix {

int unique_fd::close() noexcept {
    if (fd_ < 0) return 0;
    // Not retried on EINTR: Linux has released the descriptor by then, and another thread may own its number.
    return ::close(std::exchange(fd_, -1)) == 0 || errno == EINTR ? 0 : errno;
}

vgpualloc::error io_failure(const std::string& path, std::string_view action, int error_number) {
    return {.code = vgpualloc::error_code::io,
            .where = path.empty() ? "''" : path,
            .problem = "cannot " + std::string{action} + ": " + std::generic_category().message(error_number),
            .error_number = error_number};
}

unique_fd open_file(const std::string& path, int flags) noexcept {
    int fd = -1;
    do {
        fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EINTR);
    return unique_fd{fd};
}

ssize_t read_some(int fd, char* to, std::size_t bytes_max) noexcept {
    ssize_t got = -1;
    do {
        got = ::read(fd, to, bytes_max);
    } while (got < 0 && errno == EINTR);
    return got;
}

tl::expected<std::string, int> read_to_end(int fd, std::size_t bytes_expected, std::size_t bytes_max) {
    constexpr std::size_t step_bytes = 65536;
    const std::size_t limit = bytes_max == std::numeric_limits<std::size_t>::max() ? bytes_max : bytes_max + 1;
    std::string content;
    // One byte more than expected, so that the end shows without growing.
    content.resize(std::min(limit, bytes_expected > 0 ? bytes_expected + 1 : step_bytes));
    std::size_t filled = 0;
    while (filled < limit) {
        if (filled == content.size()) content.resize(std::min(limit, content.size() * 2));
        const ssize_t got = read_some(fd, content.data() + filled, content.size() - filled);
        if (got < 0) return tl::unexpected(errno);
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
    }
    content.resize(filled);
    return content;
}

vgpualloc::expected<std::string> read_path(const std::string& path, std::size_t bytes_max) {
    const unique_fd file = open_file(path, O_RDONLY);
    if (!file) return vgpualloc::unexpected(io_failure(path, "open", errno));
    struct stat found{};
    if (::fstat(file.get(), &found) != 0) return vgpualloc::unexpected(io_failure(path, "read", errno));
    if (S_ISDIR(found.st_mode)) return vgpualloc::unexpected(io_failure(path, "read", EISDIR));
    if (S_ISCHR(found.st_mode)) { // some never end
        return vgpualloc::unexpected(bad_input(vgpualloc::error_code::io, "", "cannot read: it is a device",
                                               "a file, a "
                                               "pipe, or - for standard input")
                                         .at(path));
    }
    const std::size_t bytes_expected = found.st_size > 0 ? static_cast<std::size_t>(found.st_size) : 0;
    auto bytes = read_to_end(file.get(), bytes_expected, bytes_max);
    if (!bytes) return vgpualloc::unexpected(io_failure(path, "read", bytes.error()));
    return *std::move(bytes);
}

int write_all(int fd, std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        // A disk that fills up takes a part first and says ENOSPC to the next call.
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

created_folders::~created_folders() {
    // rmdir refuses what is not empty, so that nobody else's file is lost.
    for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) ::rmdir(folder->c_str());
}

vgpualloc::expected<void> created_folders::create(const std::string& folder) {
    struct stat found{};
    // Shortest prefix first: "a", "a/b", "a/b/c". An absolute path starts at "/x".
    for (std::size_t end = folder.find_first_not_of('/'); end != std::string::npos;
         end = folder.find_first_not_of('/', end)) {
        end = folder.find('/', end);
        const std::string prefix = folder.substr(0, end);
        if (::mkdir(prefix.c_str(), 0777) == 0) {
            made_.push_back(prefix);
        } else if (const int why = errno; ::stat(prefix.c_str(), &found) != 0) {
            error_number_ = why;
            return vgpualloc::unexpected(io_failure(prefix, "create the folder", why));
        } else if (!S_ISDIR(found.st_mode)) {
            error_number_ = ENOTDIR;
            return vgpualloc::unexpected(io_failure(prefix, "use it as a folder", ENOTDIR));
        }
        if (end == std::string::npos) break;
    }
    return {};
}

} // namespace vgpuformats::posix
