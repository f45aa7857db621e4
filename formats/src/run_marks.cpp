#include "run_marks.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paths.hpp"

namespace vgpuformats {

namespace {

constexpr std::string_view name_begin = ".vgpusim-";
constexpr std::string_view mark_end = ".run";
constexpr std::string_view journal_end = ".journal";
constexpr std::size_t drawn_digits = 16;

/// The part of a name that is drawn, which changes no output. Empty where the system gives none.
std::string drawn_word() {
    std::uint64_t drawn = 0;
    if (::getentropy(&drawn, sizeof drawn) != 0) return {};
    char digits[drawn_digits + 1];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(drawn));
    return digits;
}

/// What the name of a mark has drawn; none if it is no such name.
std::optional<std::string> word_of_mark(std::string_view name) {
    if (name.size() != name_begin.size() + drawn_digits + mark_end.size()) return std::nullopt;
    if (!name.starts_with(name_begin) || !name.ends_with(mark_end)) return std::nullopt;
    const std::string_view word = name.substr(name_begin.size(), drawn_digits);
    const bool is_drawn =
        std::ranges::all_of(word, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    return is_drawn ? std::optional{std::string{word}} : std::nullopt;
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

/// A regular file of this user's, whom others must not make rename files. A pipe is not waited for.
posix::unique_fd open_own(const std::string& path, int flags) {
    posix::unique_fd file = posix::open_file(path, flags | O_NOFOLLOW | O_NONBLOCK);
    struct stat found{};
    const bool is_own =
        file && ::fstat(file.get(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid();
    if (!is_own) file.close();
    return file;
}

/// The replacements of a journal; none where it cannot be read.
std::vector<replacement> read_journal(const std::string& folder, const std::string& path) {
    const posix::unique_fd file = open_own(path, O_RDONLY);
    if (!file) return {};
    constexpr std::size_t bytes_max = std::size_t{1} << 26U;
    const auto text = posix::read_to_end(file.get(), 0, bytes_max);
    std::vector<replacement> replacements;
    if (!text) return replacements;
    const auto at_its_place = [&](std::string_view written) {
        return written.starts_with('/') ? std::string{written} : folder + "/" + std::string{written};
    };
    std::string_view rest = *text;
    while (!rest.empty()) { // "<temporary>\0<target>\0" for each
        const std::size_t middle = rest.find('\0');
        const std::size_t end = middle == rest.npos ? rest.npos : rest.find('\0', middle + 1);
        if (end == rest.npos) break;
        replacements.push_back(
            {at_its_place(rest.substr(0, middle)), at_its_place(rest.substr(middle + 1, end - middle - 1))});
        rest.remove_prefix(end + 1);
    }
    return replacements;
}

/// One run in one folder, if it is not at work.
void take_up(const std::string& folder, const std::string& word) {
    const std::string begin = std::string{name_begin} + word + ".";
    const std::string mark = folder + "/" + std::string{name_begin} + word + std::string{mark_end};
    const posix::unique_fd locked = open_own(mark, O_RDWR);
    // Where a file system has no locks nobody knows, and nothing is touched.
    if (!locked || ::flock(locked.get(), LOCK_EX | LOCK_NB) != 0) return;
    const std::string journal = folder + "/" + std::string{name_begin} + word + std::string{journal_end};
    const std::vector<replacement> replacements = read_journal(folder, journal);
    for (const replacement& file : replacements) {
        // What is at its place already has no temporary file any more.
        if (base_of(file.temporary).starts_with(name_begin)) {
            static_cast<void>(::rename(file.temporary.c_str(), file.target.c_str()));
        }
    }
    ::unlink(journal.c_str()); // before the rest: old files go only when the new ones are all there
    for (const std::string& name : names_in(folder)) { // after the lock, so that it is all that the run has made
        if (name.starts_with(begin) && !name.ends_with(mark_end)) ::unlink((folder + "/" + name).c_str());
    }
    ::unlink(mark.c_str());
    for (const replacement& file : replacements) {
        const std::string name = base_of(file.temporary);
        const std::string beside = folder_of(file.temporary);
        if (beside == folder || name.size() < begin.size()) continue;
        take_up(beside, name.substr(name_begin.size(), drawn_digits));
    }
}

} // namespace

run_marks::~run_marks() {
    for (const mark& own : marks_)
        ::unlink((own.begin.substr(0, own.begin.size() - 1) + std::string{mark_end}).c_str());
}

tl::expected<const run_marks::mark*, int> run_marks::mark_in(const std::string& folder) {
    const auto known = std::ranges::find(marks_, folder, &mark::folder);
    if (known != marks_.end()) return &*known;
    for (;;) {
        const std::string word = drawn_word();
        if (word.empty()) return tl::unexpected(errno);
        const std::string begin = folder + "/" + std::string{name_begin} + word;
        const std::string path = begin + std::string{mark_end};
        posix::unique_fd file = posix::open_file(path, O_RDWR | O_CREAT | O_EXCL);
        if (!file && errno == EEXIST) continue;
        if (!file) return tl::unexpected(errno);
        // Between the two calls another run may take it for that of a killed one and remove it.
        const bool is_taken = ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        struct stat found{};
        if (is_taken || ::fstat(file.get(), &found) != 0 || found.st_nlink == 0) continue;
        marks_.push_back({folder, begin + ".", std::move(file)});
        return &marks_.back();
    }
}

tl::expected<std::string, int> run_marks::path_in(const std::string& folder, std::string_view suffix) {
    const auto own = mark_in(folder);
    if (!own) return tl::unexpected(own.error());
    return (*own)->begin + std::to_string(paths_++) + std::string{suffix};
}

tl::expected<std::string, int> run_marks::journal_in(const std::string& folder) {
    const auto own = mark_in(folder);
    if (!own) return tl::unexpected(own.error());
    return (*own)->begin.substr(0, (*own)->begin.size() - 1) + std::string{journal_end};
}

std::string journal_text(const std::string& folder, const std::vector<replacement>& replacements) {
    const std::string begin = folder + "/";
    std::string text;
    for (const replacement& file : replacements) {
        for (const std::string& path : {file.temporary, file.target}) {
            text += path.starts_with(begin) ? path.substr(begin.size()) : std::filesystem::absolute(path).string();
            text += '\0';
        }
    }
    return text;
}

void take_up_runs(const std::string& folder) {
    for (const std::string& name : names_in(folder)) {
        if (const auto word = word_of_mark(name)) take_up(folder, *word);
    }
}

} // namespace vgpuformats
