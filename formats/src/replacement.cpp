#include "replacement.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vgpuformats {

namespace {

constexpr std::string_view new_suffix = ".tmp";
constexpr std::string_view old_suffix = ".old";
constexpr std::string_view journal_name = "vgpusim-replacement";
constexpr std::string_view journal_suffix = ".journal";

/// Nothing that the user wrote is wrong; with room, or another disk, the same command would have done.
bool is_of_system(int error_number) noexcept {
    constexpr std::array of_system{ENOSPC, EDQUOT, EFBIG, EIO, EMFILE, ENFILE, ENOMEM};
    return std::ranges::find(of_system, error_number) != of_system.end();
}

tl::unexpected<write_failure> refused(const std::string& path, const char* what) {
    return tl::unexpected(
        write_failure{vgpualloc::error{.code = vgpualloc::error_code::io,
                                       .where = path,
                                       .field = {},
                                       .value = {},
                                       .expected = std::string{"cannot write: it is "} + what +
                                                   "; expected a file, a link to one, a pipe or a character device"}});
}

/// A name beside `target` that no other process and no other thread of this one uses:
/// ".<name>.<process>-<number><suffix>".
std::string name_beside(const std::string& target, std::string_view suffix) {
    static std::atomic<unsigned> counter{0};
    const std::size_t base = target.rfind('/') + 1; // npos + 1 is 0
    return target.substr(0, base) + "." + target.substr(base) + "." + std::to_string(::getpid()) + "-" +
           std::to_string(counter.fetch_add(1)) + std::string{suffix};
}

/// The process that made `name` beside a file called `base`; none if it is no such name.
std::optional<pid_t> maker_of(std::string_view name, std::string_view base, std::string_view suffix) {
    const std::string begin = "." + std::string{base} + ".";
    if (!name.starts_with(begin) || !name.ends_with(suffix) || name.size() <= begin.size() + suffix.size()) {
        return std::nullopt;
    }
    const std::string_view numbers = name.substr(begin.size(), name.size() - begin.size() - suffix.size());
    pid_t process = 0;
    unsigned number = 0;
    const char* const end = numbers.data() + numbers.size();
    const auto first = std::from_chars(numbers.data(), end, process);
    if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '-') return std::nullopt;
    const auto second = std::from_chars(first.ptr + 1, end, number);
    if (second.ec != std::errc{} || second.ptr != end || process <= 0) return std::nullopt;
    return process;
}

bool is_running(pid_t process) noexcept { return ::kill(process, 0) == 0 || errno != ESRCH; }

bool exists(const std::string& path) noexcept {
    struct stat found{};
    return ::lstat(path.c_str(), &found) == 0;
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}
std::string base_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

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

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code unreadable;
    for (auto entry = std::filesystem::directory_iterator{folder, unreadable};
         !unreadable && entry != std::filesystem::directory_iterator{}; entry.increment(unreadable)) {
        names.push_back(entry->path().filename().string());
    }
    return names;
}

/// 0 or errno.
int write_content(int fd, const output_file& file) {
    if (!file.pieces) return posix::write_all(fd, file.content);
    std::string piece;
    while (file.pieces(piece)) {
        if (const int why = posix::write_all(fd, piece); why != 0) return why;
    }
    return 0;
}

/// Renames what a journal lists and is not at its place yet. The journal is complete, because it was renamed itself.
void complete(const std::string& journal) {
    const auto text = posix::read_path(journal, std::numeric_limits<std::size_t>::max());
    if (!text) return;
    std::string_view rest = *text;
    while (!rest.empty()) { // "<temporary>\0<target>\0" for each
        const std::size_t middle = rest.find('\0');
        const std::size_t end = middle == rest.npos ? rest.npos : rest.find('\0', middle + 1);
        if (end == rest.npos) break;
        const std::string temporary{rest.substr(0, middle)};
        const std::string target{rest.substr(middle + 1, end - middle - 1)};
        if (exists(temporary)) static_cast<void>(::rename(temporary.c_str(), target.c_str()));
        rest.remove_prefix(end + 1);
    }
    ::unlink(journal.c_str());
}

} // namespace

tl::unexpected<write_failure> failed_to(std::string_view action, const std::string& path, int error_number) {
    return tl::unexpected(write_failure{posix::io_failure(path, action, error_number), is_of_system(error_number)});
}

staged_file::staged_file(staged_file&& other) noexcept
    : target_{std::move(other.target_)}, temporary_{std::exchange(other.temporary_, {})},
      backup_{std::exchange(other.backup_, {})}, content_{other.content_}, descriptor_{std::move(other.descriptor_)},
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

tl::expected<void, write_failure> staged_file::write(const output_file& content) {
    if (auto known = find_target(); !known) return known;
    if (is_stream_) {
        content_ = &content;
        return {};
    }
    posix::unique_fd file;
    do { // a name can be taken only by the leftovers of a killed process with the same id
        temporary_ = name_beside(target_, new_suffix);
        file = posix::open_file(temporary_, O_WRONLY | O_CREAT | O_EXCL);
    } while (!file && errno == EEXIST);
    if (!file) {
        const int why = errno;
        temporary_.clear();
        return failed_to("write", target_, why);
    }
    struct stat old{};
    if (::stat(target_.c_str(), &old) == 0) static_cast<void>(::fchmod(file.get(), old.st_mode & 07777U));
    int why = write_content(file.get(), content);
    if (const int closing = file.close(); why == 0) why = closing;
    if (why != 0) return failed_to("write", target_, why);
    return {};
}

tl::expected<void, write_failure> staged_file::swap_in() {
    if (is_stream_) return {};
    if (exists(target_)) {
        std::string backup = name_beside(target_, old_suffix);
        // A second link leaves no moment without a file; where links are not supported, moving has to do.
        if (::link(target_.c_str(), backup.c_str()) != 0 && ::rename(target_.c_str(), backup.c_str()) != 0) {
            return failed_to("replace", target_, errno);
        }
        backup_ = std::move(backup);
    }
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) return failed_to("write", target_, errno);
    temporary_.clear();
    appeared_ = backup_.empty();
    return {};
}

tl::expected<void, write_failure> staged_file::write_through() {
    if (!is_stream_) return {};
    std::fflush(stdout); // what was printed before comes first
    posix::unique_fd stream =
        descriptor_ ? std::move(descriptor_) : posix::open_file(target_, O_WRONLY | O_APPEND | O_NOCTTY);
    if (!stream) return failed_to("write", target_, errno);
    int why = write_content(stream.get(), *content_);
    if (const int closing = stream.close(); why == 0) why = closing;
    if (why != 0) return failed_to("write", target_, why);
    return {};
}

void staged_file::finish() noexcept {
    if (!backup_.empty()) ::unlink(backup_.c_str());
    backup_.clear();
    appeared_ = false;
}

replacement_guard::replacement_guard(const std::string& folder) {
    sigset_t held{};
    sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP}) sigaddset(&held, signal);
    ::pthread_sigmask(SIG_BLOCK, &held, &before_);
    folder_ = posix::open_file(folder, O_RDONLY | O_DIRECTORY);
    if (!folder_) return; // whoever cannot read a folder can write into it all the same
    while (::flock(folder_.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
}

replacement_guard::~replacement_guard() {
    folder_.close();
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); // what came meanwhile comes now
}

replacement_journal::~replacement_journal() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

tl::expected<void, write_failure> replacement_journal::write(const std::string& folder,
                                                             const std::vector<staged_file>& files) {
    std::string text;
    std::size_t replaced = 0;
    for (const staged_file& file : files) {
        if (file.temporary().empty()) continue;
        ++replaced;
        for (const std::string& path : {file.temporary(), file.target()}) {
            text += std::filesystem::absolute(path).string();
            text += '\0';
        }
    }
    if (replaced < 2) return {}; // one rename is all or nothing by itself
    const std::string path = name_beside(folder + "/" + std::string{journal_name}, journal_suffix);
    const std::string unfinished = path + std::string{new_suffix};
    posix::unique_fd file = posix::open_file(unfinished, O_WRONLY | O_CREAT | O_TRUNC);
    int why = file ? posix::write_all(file.get(), text) : errno;
    if (const int closing = file.close(); why == 0) why = closing;
    if (why == 0 && ::rename(unfinished.c_str(), path.c_str()) != 0) why = errno;
    if (why != 0) {
        ::unlink(unfinished.c_str());
        return failed_to("write", path, why);
    }
    path_ = path;
    return {};
}

void take_up_replacements(const std::string& folder, const std::vector<output_file>& files) {
    for (const std::string& name : names_in(folder)) {
        if (const auto process = maker_of(name, journal_name, journal_suffix); process && !is_running(*process)) {
            complete(folder + "/" + name);
        }
    }
    std::set<std::string> folders;
    for (const output_file& file : files) folders.insert(folder_of(folder + "/" + file.name));
    for (const std::string& of_files : folders) {
        for (const std::string& name : names_in(of_files)) {
            if (!name.starts_with('.')) continue;
            const auto is_left_of = [&](std::string_view base, std::string_view suffix) {
                const auto process = maker_of(name, base, suffix);
                return process && !is_running(*process);
            };
            const bool is_left = std::ranges::any_of(files, [&](const output_file& file) {
                const std::string base = base_of(file.name);
                return is_left_of(base, new_suffix) || is_left_of(base, old_suffix);
            });
            const std::string unfinished = std::string{journal_suffix} + std::string{new_suffix};
            if (is_left || is_left_of(journal_name, unfinished)) ::unlink((of_files + "/" + name).c_str());
        }
    }
}

} // namespace vgpuformats
