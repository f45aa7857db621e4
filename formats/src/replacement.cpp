#include "replacement.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paths.hpp"

namespace vgpuformats {

namespace {

constexpr std::string_view new_suffix = ".tmp";
constexpr std::string_view old_suffix = ".old";

tl::unexpected<write_failure> refused(const std::string& path, const char* what) {
    return tl::unexpected(
        write_failure{bad_input(vgpualloc::error_code::io, "", std::string{"cannot write: it is "} + what,
                                "a file, a link to one, a pipe or a character device")
                          .at(path)});
}

bool exists(const std::string& path) noexcept {
    struct stat found{};
    return ::lstat(path.c_str(), &found) == 0;
}

/// Empty where there is no such folder.
std::string real_path(const std::string& folder) {
    std::error_code absent;
    const std::filesystem::path real = std::filesystem::canonical(folder, absent);
    return absent ? std::string{} : real.string();
}

/// Whether a folder, as real_path() has it, is one in which /proc lists the descriptors of this program.
bool is_own_descriptors(const std::string& folder) {
    return !folder.empty() && (folder == real_path("/proc/self/fd") || folder == real_path("/proc/thread-self/fd"));
}

/// 0 or errno.
int write_content(int fd, const output_file& file, const held_signals& signals) {
    if (!file.pieces) return signals.write_all(fd, file.content);
    std::string piece;
    while (file.pieces(piece)) {
        if (const int why = signals.write_all(fd, piece); why != 0) return why;
    }
    return 0;
}

} // namespace

staged_file::staged_file(staged_file&& other) noexcept
    : target_{std::move(other.target_)}, temporary_{std::exchange(other.temporary_, {})},
      backup_{std::exchange(other.backup_, {})}, descriptor_{std::move(other.descriptor_)},
      is_stream_{other.is_stream_}, appeared_{std::exchange(other.appeared_, false)} {}

staged_file::~staged_file() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    if (appeared_) ::unlink(target_.c_str());
    if (!backup_.empty() && ::rename(backup_.c_str(), target_.c_str()) == 0) {
        ::unlink(backup_.c_str()); // renaming one of two links to the same file does nothing and leaves both
    }
}

/// Follows links, also to what is not there yet, and sees what is at their end. What /proc has links to is open in some
/// program already and is written into, not replaced.
tl::expected<void, write_failure> staged_file::find_target() {
    constexpr int links_max = 40; // as the kernel
    const std::string named = target_;
    struct stat found{};
    for (int links = 0;; ++links) {
        if (::lstat(target_.c_str(), &found) != 0) {
            if (errno == ENOENT) return {};
            return failed_to("write", named, errno);
        }
        if (!S_ISLNK(found.st_mode)) break;
        if (links == links_max) return failed_to("write", named, ELOOP);
        const std::string folder = real_path(folder_of(target_));
        if (is_own_descriptors(folder)) return take_descriptor(named);
        if (folder.starts_with("/proc/")) {
            is_stream_ = true;
            if (::stat(target_.c_str(), &found) != 0) return failed_to("write", named, errno);
            break;
        }
        std::error_code unreadable;
        const std::filesystem::path leads_to = std::filesystem::read_symlink(target_, unreadable);
        if (unreadable) return failed_to("write", named, unreadable.value());
        target_ = (std::filesystem::path{target_}.parent_path() / leads_to).string();
    }
    if (S_ISDIR(found.st_mode)) return failed_to("write", named, EISDIR);
    if (S_ISSOCK(found.st_mode)) return refused(named, "a socket");
    if (S_ISBLK(found.st_mode)) return refused(named, "a block device");
    if (!S_ISREG(found.st_mode)) is_stream_ = true;
    return {};
}

/// A duplicate shares the place in the file with what it is of: what this program prints later comes behind. To open
/// the file once more would start a place of its own, and what is printed would overwrite it.
tl::expected<void, write_failure> staged_file::take_descriptor(const std::string& named) {
    is_stream_ = true;
    const std::string digits = base_of(target_);
    int number = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    descriptor_ = posix::unique_fd{::fcntl(number, F_DUPFD_CLOEXEC, 0)};
    struct stat found{};
    if (!descriptor_ || ::fstat(descriptor_.get(), &found) != 0) return failed_to("write", named, errno);
    if (S_ISDIR(found.st_mode)) return failed_to("write", named, EISDIR);
    if (S_ISBLK(found.st_mode)) return refused(named, "a block device");
    const int flags = ::fcntl(descriptor_.get(), F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) return failed_to("write", named, EBADF);
    return {};
}

tl::expected<void, write_failure> staged_file::write(const output_file& content, run_marks& marks,
                                                     const held_signals& signals) {
    if (is_stream_) return {};
    const auto path = marks.path_in(folder_of(target_), new_suffix);
    if (!path) return failed_to("write", target_, path.error());
    posix::unique_fd file = posix::open_file(*path, O_WRONLY | O_CREAT | O_EXCL);
    if (!file) return failed_to("write", target_, errno);
    temporary_ = *path;
    struct stat old{};
    if (::stat(target_.c_str(), &old) == 0) static_cast<void>(::fchmod(file.get(), old.st_mode & 07777U));
    int why = write_content(file.get(), content, signals);
    if (const int closing = file.close(); why == 0) why = closing;
    if (why != 0) return failed_to("write", target_, why);
    return {};
}

tl::expected<void, write_failure> staged_file::write_through(const output_file& content, const held_signals& signals) {
    if (!is_stream_) return {};
    std::fflush(stdout); // what was printed before comes first
    posix::unique_fd stream =
        descriptor_ ? std::move(descriptor_) : posix::unique_fd{signals.open_stream(target_.c_str())};
    if (!stream) return failed_to("write", target_, errno);
    int why = write_content(stream.get(), content, signals);
    if (const int closing = stream.close(); why == 0) why = closing;
    if (why != 0) return failed_to("write", target_, why);
    return {};
}

tl::expected<void, write_failure> staged_file::keep_old(run_marks& marks) {
    if (is_stream_ || !exists(target_)) return {};
    const auto backup = marks.path_in(folder_of(target_), old_suffix);
    if (!backup) return failed_to("replace", target_, backup.error());
    // A second link leaves no moment without a file; where links are not supported, moving has to do.
    if (::link(target_.c_str(), backup->c_str()) != 0 && ::rename(target_.c_str(), backup->c_str()) != 0) {
        return failed_to("replace", target_, errno);
    }
    backup_ = *backup;
    return {};
}

tl::expected<void, write_failure> staged_file::swap_in() {
    if (is_stream_) return {};
    const bool is_new = backup_.empty() && !exists(target_);
    // Without fsync(), which took 9 % more of the time of a small run: what is killed leaves whole files, what
    // loses power may not (docs/limits.md).
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) return failed_to("write", target_, errno);
    temporary_.clear();
    appeared_ = is_new;
    return {};
}

void staged_file::finish() noexcept {
    if (!backup_.empty()) ::unlink(backup_.c_str());
    backup_.clear();
    appeared_ = false;
}

replacement_guard::replacement_guard(const std::string& folder, const held_signals& signals) {
    sigset_t stopping{};
    sigemptyset(&stopping);
    sigaddset(&stopping, SIGTSTP); // a run that is stopped would keep the folder
    ::pthread_sigmask(SIG_BLOCK, &stopping, &before_);
    folder_ = posix::open_file(folder, O_RDONLY | O_DIRECTORY);
    if (!folder_) return; // whoever cannot read a folder can write into it all the same
    while (::flock(folder_.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR) continue;
        if (errno != EWOULDBLOCK) return; // a file system without locks
        if (signals.pause() != 0) {
            is_interrupted_ = true;
            return;
        }
    }
}

replacement_guard::~replacement_guard() {
    folder_.close();
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); // a stop that came meanwhile comes now
}

replacement_journal::~replacement_journal() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

tl::expected<void, write_failure>
replacement_journal::write(const std::string& folder, const std::vector<replacement>& replacements, run_marks& marks) {
    const auto path = marks.journal_in(folder);
    if (!path) return failed_to("write", folder, path.error());
    const std::string unfinished = *path + std::string{new_suffix};
    posix::unique_fd file = posix::open_file(unfinished, O_WRONLY | O_CREAT | O_TRUNC);
    int why = file ? posix::write_all(file.get(), journal_text(folder, replacements)) : errno;
    if (const int closing = file.close(); why == 0) why = closing;
    // Renamed, so that a journal that is there is complete.
    if (why == 0 && ::rename(unfinished.c_str(), path->c_str()) != 0) why = errno;
    if (why != 0) {
        ::unlink(unfinished.c_str());
        return failed_to("write", *path, why);
    }
    path_ = *path;
    return {};
}

} // namespace vgpuformats
