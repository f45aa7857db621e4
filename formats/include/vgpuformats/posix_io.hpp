// What files, checksums and downloads share: descriptors, complete writes, folders that go away again, errors from
// errno.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "vgpualloc/core/expected.hpp"

namespace vgpuformats::posix {

/// Owns a file descriptor.
class unique_fd {
public:
    unique_fd() noexcept = default;
    explicit unique_fd(int fd) noexcept : fd_{fd} {}
    unique_fd(unique_fd&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
    unique_fd& operator=(unique_fd&& other) noexcept {
        if (this != &other) {
            close();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    unique_fd(const unique_fd&) = delete;
    unique_fd& operator=(const unique_fd&) = delete;
    ~unique_fd() { close(); }

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
    /// 0, or the errno of close(2), which is where some file systems report a full disk.
    int close() noexcept;

private:
    int fd_ = -1;
};

/// "<path>: cannot <action>: <what errno says>".
[[nodiscard]] vgpualloc::error io_failure(const std::string& path, std::string_view action, int error_number);

/// open(2) that survives signals and does not leak into child processes.
[[nodiscard]] unique_fd open_file(const std::string& path, int flags) noexcept;

/// read(2) that survives signals: bytes read, 0 at the end, -1 with errno set.
[[nodiscard]] ssize_t read_some(int fd, char* to, std::size_t bytes_max) noexcept;

/// What a descriptor gives until its end, or errno. Ends early with one byte more than `bytes_max`. `bytes_expected` is
/// a hint: pipes and /proc say 0.
[[nodiscard]] tl::expected<std::string, int> read_to_end(int fd, std::size_t bytes_expected, std::size_t bytes_max);

/// The same of a file; no more than `bytes_max` + 1 bytes of it. Error io: not found, not readable, a folder, a device.
[[nodiscard]] vgpualloc::expected<std::string> read_path(const std::string& path, std::size_t bytes_max);

/// Writes everything, in one call unless the system takes less. Returns 0 or errno.
[[nodiscard]] int write_all(int fd, std::string_view bytes) noexcept;

/// Creates folders and, unless told to keep them, removes those it made again if they are empty by then.
class created_folders {
public:
    created_folders() = default;
    created_folders(const created_folders&) = delete;
    created_folders& operator=(const created_folders&) = delete;
    ~created_folders();

    /// Makes `folder` and the parents it lacks.
    [[nodiscard]] vgpualloc::expected<void> create(const std::string& folder);
    /// The errno of the create() that failed.
    [[nodiscard]] int error_number() const noexcept { return error_number_; }
    void keep() noexcept { made_.clear(); }

private:
    std::vector<std::string> made_; // parents before children
    int error_number_ = 0;
};

} // namespace vgpuformats::posix
