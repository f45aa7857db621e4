#include "vgpufetch/fetch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vgpuformats/posix_io.hpp"
#include "vgpuformats/sha256.hpp"

namespace vgpufetch {

namespace {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpuformats::posix::io_failure;

using curl_handle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;

[[nodiscard]] error failure_at(error_code code, const std::string& where, std::string problem) {
    return bad_input(code, "", std::move(problem)).at(where);
}

/// The unfinished download. Locked, because two processes appending to it would spoil it.
class part_file {
public:
    [[nodiscard]] static vgpualloc::expected<part_file> open(std::string path) {
        struct stat there{};
        if (::lstat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode)) {
            return vgpualloc::unexpected(bad_value(error_code::mismatch, "", "no regular file",
                                                   "an unfinished download, or none: nothing else is touched")
                                             .at(path));
        }
        // O_NOFOLLOW: in a folder that others may write to, a planted link must not lead our bytes elsewhere.
        vgpuformats::posix::unique_fd fd = vgpuformats::posix::open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW);
        if (!fd) return vgpualloc::unexpected(io_failure(path, "write", errno));
        struct stat mine{};
        struct stat named{};
        if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK) return vgpualloc::unexpected(io_failure(path, "lock", errno));
            return vgpualloc::unexpected(failure_at(error_code::io, path, "another process is downloading this file"));
        }
        if (::fstat(fd.get(), &mine) != 0) return vgpualloc::unexpected(io_failure(path, "read", errno));
        // Between open and lock another process may have completed and renamed what we hold.
        if (::lstat(path.c_str(), &named) != 0 || named.st_ino != mine.st_ino || named.st_dev != mine.st_dev) {
            return vgpualloc::unexpected(
                failure_at(error_code::io, path, "another process has just downloaded this file"));
        }
        return part_file{std::move(path), std::move(fd), mine.st_size};
    }

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] std::int64_t size_bytes() const noexcept { return size_bytes_; }

    /// Returns 0 or errno, as the next two.
    [[nodiscard]] int append(std::string_view bytes) noexcept {
        const int why = vgpuformats::posix::write_all(fd_.get(), bytes);
        if (why == 0) size_bytes_ += static_cast<std::int64_t>(bytes.size());
        return why;
    }
    [[nodiscard]] int seek_to_end() noexcept { return ::lseek(fd_.get(), size_bytes_, SEEK_SET) < 0 ? errno : 0; }
    [[nodiscard]] int start_over() noexcept {
        size_bytes_ = 0;
        if (::ftruncate(fd_.get(), 0) != 0) return errno;
        return seek_to_end();
    }

    void remove() noexcept {
        // Once only: after it the name may belong to another process.
        if (!std::exchange(removed_, true)) ::unlink(path_.c_str());
        size_bytes_ = 0;
    }
    /// After a failure: what was received is worth keeping, an empty file is not.
    void remove_if_empty() noexcept {
        if (size_bytes_ == 0) remove();
    }

private:
    part_file(std::string path, vgpuformats::posix::unique_fd fd, std::int64_t size_bytes)
        : path_{std::move(path)}, fd_{std::move(fd)}, size_bytes_{size_bytes} {}

    std::string path_;
    vgpuformats::posix::unique_fd fd_;
    std::int64_t size_bytes_;
    bool removed_ = false;
};

/// Why we, and not the network, ended a transfer.
enum class stop_reason { none, disk, wrong_size, wrong_range, odd_status };

using clock = std::chrono::steady_clock;

/// The tries of one file.
struct patience {
    int tries = 1;
    clock::time_point heard = clock::now(); ///< when the last byte came

    [[nodiscard]] double silent_s() const { return std::chrono::duration<double>(clock::now() - heard).count(); }
};

/// What the callbacks of one request share.
struct request_state {
    CURL* handle = nullptr;
    part_file* part = nullptr;
    const public_file* file = nullptr;
    const fetch_options* options = nullptr;
    std::int64_t range_start_bytes = -1; ///< from Content-Range, -1 = not said
    std::int64_t range_total_bytes = -1;
    std::int64_t said_bytes = -1; ///< the size of the whole file according to the server
    bool begun = false;
    patience* waiting = nullptr;
    stop_reason stop = stop_reason::none;
    int disk_errno = 0;
};

/// "bytes 100-199/200": 100 and 200; '*' as the total leaves it unknown.
void read_content_range(std::string_view value, request_state& state) {
    const auto number = [](std::string_view text) {
        std::int64_t result = -1;
        const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), result);
        return failed == std::errc{} && end != text.data() ? result : std::int64_t{-1};
    };
    const std::size_t unit = value.find("bytes ");
    if (unit == std::string_view::npos) return;
    state.range_start_bytes = number(value.substr(unit + 6));
    const std::size_t slash = value.find('/');
    if (slash != std::string_view::npos) state.range_total_bytes = number(value.substr(slash + 1));
}

std::size_t on_header(char* data, std::size_t, std::size_t size, void* context) noexcept {
    auto& state = *static_cast<request_state*>(context);
    const std::string_view line{data, size};
    constexpr std::string_view header = "content-range:";
    if (line.starts_with("HTTP/")) { // a redirect brings several sets of headers; the last one counts
        state.range_start_bytes = -1;
        state.range_total_bytes = -1;
    } else if (line.size() > header.size() &&
               std::equal(header.begin(), header.end(), line.begin(),
                          [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + 32) : b); })) {
        read_content_range(line.substr(header.size()), state);
    }
    return size;
}

/// Before the first byte is kept: does the answer continue what we have, or is it the file from its beginning?
[[nodiscard]] stop_reason begin_body(request_state& state) noexcept {
    long status = 0;
    curl_off_t length_bytes = -1;
    curl_easy_getinfo(state.handle, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(state.handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length_bytes);
    if (status == 206) {
        if (state.range_start_bytes != state.part->size_bytes()) return stop_reason::wrong_range;
        state.said_bytes = state.range_total_bytes;
        state.disk_errno = state.part->seek_to_end();
    } else if (status == 200) {
        state.said_bytes = length_bytes;
        state.disk_errno = state.part->start_over();
    } else {
        return stop_reason::odd_status;
    }
    if (state.disk_errno != 0) return stop_reason::disk;
    // Known to be another file before any of it is loaded.
    if (state.said_bytes >= 0 && state.said_bytes != state.file->size_bytes) return stop_reason::wrong_size;
    return stop_reason::none;
}

/// libcurl calls it about once a second, whether anything comes or not.
int on_tick(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto& state = *static_cast<const request_state*>(context);
    if (state.options->on_wait) {
        state.options->on_wait(*state.file, {.tries = state.waiting->tries,
                                             .tries_max = state.options->tries_max,
                                             .silent_s = state.waiting->silent_s(),
                                             .patience_s = state.options->patience_s()});
    }
    return 0; // go on
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* context) noexcept {
    auto& state = *static_cast<request_state*>(context);
    state.waiting->heard = clock::now();
    if (!state.begun) {
        state.begun = true;
        state.stop = begin_body(state);
    }
    if (state.stop == stop_reason::none) {
        // Without this a server that never stops sending would fill the disk.
        if (state.part->size_bytes() + static_cast<std::int64_t>(size) > state.file->size_bytes) {
            state.stop = stop_reason::wrong_size;
        } else if (state.disk_errno = state.part->append({data, size}); state.disk_errno != 0) {
            state.stop = stop_reason::disk;
        }
    }
    if (state.stop != stop_reason::none) return 0; // fewer than given: libcurl ends the transfer
    if (state.options->on_progress) state.options->on_progress(*state.file, state.part->size_bytes());
    return size;
}

struct attempt_failure {
    error what;
    bool may_pass = false; ///< worth another try
};

[[nodiscard]] bool may_pass(CURLcode code) noexcept {
    constexpr std::array passing{CURLE_COULDNT_RESOLVE_PROXY,
                                 CURLE_COULDNT_RESOLVE_HOST,
                                 CURLE_COULDNT_CONNECT,
                                 CURLE_PARTIAL_FILE,
                                 CURLE_OPERATION_TIMEDOUT,
                                 CURLE_SSL_CONNECT_ERROR,
                                 CURLE_GOT_NOTHING,
                                 CURLE_SEND_ERROR,
                                 CURLE_RECV_ERROR,
                                 CURLE_HTTP2,
                                 CURLE_HTTP2_STREAM};
    return std::find(passing.begin(), passing.end(), code) != passing.end();
}

void set_options(CURL* handle, const public_file& file, const fetch_options& options, request_state& state,
                 char* message) {
    curl_easy_reset(handle); // keeps the connection, so that the files of one host share it
    curl_easy_setopt(handle, CURLOPT_URL, file.url.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(handle, CURLOPT_MAXREDIRS, 10L);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(handle, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "vgpusim");
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, options.connect_timeout_s);
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 100L);
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, options.stall_timeout_s);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, message);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &on_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &state);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &on_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &state);
    curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &on_tick);
    curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &state);
    // Not CURLOPT_RESUME_FROM: that fails where a server ignores the range, although its answer is the whole file.
    if (const std::int64_t have_bytes = state.part->size_bytes(); have_bytes > 0) {
        curl_easy_setopt(handle, CURLOPT_RANGE, (std::to_string(have_bytes) + "-").c_str());
    }
}

/// What an HTTP status without a usable body means.
[[nodiscard]] attempt_failure status_failure(long status, const public_file& file, part_file& part) {
    const bool passing = status == 408 || status == 429 || status >= 500;
    attempt_failure result{failure_at(status >= 400 && status < 500 && !passing ? error_code::missing : error_code::io,
                                      file.url, "the server answered HTTP " + std::to_string(status)),
                           passing};
    if (status == 416) { // it has no such range: what we hold is not the beginning of its file
        result.may_pass = part.size_bytes() > 0;
        if (const int why = part.start_over(); why != 0) return {io_failure(part.path(), "write", why), false};
    }
    return result;
}

[[nodiscard]] std::optional<attempt_failure> request_once(CURL* handle, const public_file& file, part_file& part,
                                                          patience& waiting, const fetch_options& options) {
    std::array<char, CURL_ERROR_SIZE> message{};
    request_state state;
    state.handle = handle;
    state.part = &part;
    state.file = &file;
    state.options = &options;
    state.waiting = &waiting;
    set_options(handle, file, options, state, message.data());
    const CURLcode code = curl_easy_perform(handle);
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);

    const std::string expected_bytes = std::to_string(file.size_bytes);
    switch (state.stop) {
    case stop_reason::none:
        break;
    case stop_reason::disk:
        return attempt_failure{io_failure(part.path(), "write", state.disk_errno), false};
    case stop_reason::odd_status:
        return status_failure(status, file, part);
    case stop_reason::wrong_size:
        part.remove();
        return attempt_failure{
            failure_at(error_code::mismatch, file.url,
                       (state.said_bytes < 0
                            ? "the server sends more than "
                            : "the server's file has " + std::to_string(state.said_bytes) + " bytes, not ") +
                           expected_bytes + " bytes as the list says"),
            false};
    case stop_reason::wrong_range:
        if (const int why = part.start_over(); why != 0) {
            return attempt_failure{io_failure(part.path(), "write", why), false};
        }
        return attempt_failure{failure_at(error_code::io, file.url, "the server sent another range than asked for"),
                               true};
    }
    if (code == CURLE_HTTP_RETURNED_ERROR) return status_failure(status, file, part);
    if (code != CURLE_OK) {
        const std::string text = message[0] != '\0' ? message.data() : curl_easy_strerror(code);
        return attempt_failure{failure_at(error_code::io, file.url, text), may_pass(code)};
    }
    if (!state.begun && status != 200 && status != 206) return status_failure(status, file, part);
    if (!state.begun || part.size_bytes() < file.size_bytes) {
        return attempt_failure{failure_at(error_code::io, file.url,
                                          "the answer ended after " + std::to_string(part.size_bytes()) + " of " +
                                              expected_bytes + " bytes"),
                               true};
    }
    return std::nullopt;
}

[[nodiscard]] std::optional<error> load(CURL* handle, const public_file& file, part_file& part,
                                        const fetch_options& options) {
    auto wait = std::chrono::milliseconds{options.first_wait_ms};
    patience waiting;
    const clock::time_point begin = clock::now();
    for (;; ++waiting.tries) {
        std::optional<attempt_failure> failed = request_once(handle, file, part, waiting, options);
        if (!failed) return std::nullopt;
        if (!failed->may_pass || waiting.tries >= options.tries_max) {
            if (waiting.tries > 1) {
                const auto passed_s = std::chrono::duration_cast<std::chrono::seconds>(clock::now() - begin).count();
                failed->what.add(", after " + std::to_string(waiting.tries) + " tries in " + std::to_string(passed_s) +
                                 " s");
            }
            if (failed->what.code == error_code::io && part.size_bytes() > 0) {
                failed->what.add("; " + std::to_string(part.size_bytes()) + " of " + std::to_string(file.size_bytes) +
                                 " bytes kept for the next run");
            }
            return std::move(failed->what);
        }
        std::this_thread::sleep_for(wait);
        wait *= 2;
    }
}

/// The regular file that `path` names, which may be a link to it and need not be there. Error: it is something else.
[[nodiscard]] vgpualloc::expected<std::string> file_named(const std::string& path) {
    struct stat named{};
    if (::lstat(path.c_str(), &named) != 0 || S_ISREG(named.st_mode)) return path;
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
        std::error_code failure;
        const auto target = std::filesystem::canonical(path, failure);
        if (!failure) return target.string();
    }
    return vgpualloc::unexpected(bad_value(error_code::mismatch, "", "no regular file",
                                           "a regular file, a link to one, or none: nothing else is replaced")
                                     .at(path));
}

[[nodiscard]] vgpualloc::expected<fetch_status> fetch_one(CURL* handle, const public_file& file,
                                                          const std::string& written, const fetch_options& options) {
    const auto target = file_named(written);
    if (!target) return vgpualloc::unexpected(target.error());
    const std::string& path = *target;
    struct stat status{};
    const bool present = ::stat(path.c_str(), &status) == 0;
    if (present) {
        const auto sum = vgpuformats::sha256_of_file(path);
        if (!sum) return vgpualloc::unexpected(sum.error());
        if (*sum == file.sha256) return fetch_status::already_there;
    }
    auto part = part_file::open(path + ".part");
    if (!part) return vgpualloc::unexpected(part.error());
    if (part->size_bytes() > file.size_bytes) {
        if (const int why = part->start_over(); why != 0) {
            return vgpualloc::unexpected(io_failure(part->path(), "write", why));
        }
    }
    const bool resumed = part->size_bytes() > 0;
    if (part->size_bytes() < file.size_bytes) {
        if (auto failure = load(handle, file, *part, options)) {
            part->remove_if_empty();
            return vgpualloc::unexpected(*std::move(failure));
        }
    }
    const auto sum = vgpuformats::sha256_of_file(part->path());
    if (!sum) return vgpualloc::unexpected(sum.error());
    if (*sum != file.sha256) {
        part->remove();
        return vgpualloc::unexpected(bad_value(error_code::mismatch, "sha256 of what was received", *sum,
                                               file.sha256 + " (removed; run again to load it from the start)")
                                         .at(file.url));
    }
    if (::rename(part->path().c_str(), path.c_str()) != 0) {
        return vgpualloc::unexpected(io_failure(path, "write", errno));
    }
    return present ? fetch_status::replaced : resumed ? fetch_status::resumed : fetch_status::downloaded;
}

} // namespace

double fetch_options::patience_s() const {
    double waits_ms = 0;
    double wait_ms = static_cast<double>(first_wait_ms);
    for (int tries = 1; tries < tries_max; ++tries, wait_ms *= 2) waits_ms += wait_ms;
    return static_cast<double>(tries_max) * static_cast<double>(std::max(connect_timeout_s, stall_timeout_s)) +
           waits_ms / 1000;
}

std::string_view name_of(fetch_status status) {
    switch (status) {
    case fetch_status::already_there:
        return "already_there";
    case fetch_status::downloaded:
        return "downloaded";
    case fetch_status::resumed:
        return "resumed";
    case fetch_status::replaced:
        return "replaced";
    case fetch_status::failed:
        return "failed";
    case fetch_status::not_tried:
        break;
    }
    return "not_tried";
}

vgpualloc::expected<std::vector<fetched_file>> fetch_files(const std::vector<public_file>& files,
                                                           const fetch_options& options) {
    static const CURLcode network = curl_global_init(CURL_GLOBAL_DEFAULT);
    vgpuformats::posix::created_folders folders; // never kept: an empty one goes away again, one with files in it stays
    if (auto created = folders.create(options.folder); !created) return vgpualloc::unexpected(created.error());

    const curl_handle handle{network == CURLE_OK ? curl_easy_init() : nullptr, &curl_easy_cleanup};
    std::vector<fetched_file> results;
    results.reserve(files.size());
    bool ended = false;
    for (const public_file& file : files) {
        fetched_file& result = results.emplace_back();
        result.file = file;
        result.path = options.folder + (options.folder.ends_with('/') ? "" : "/") + file.name;
        if (!ended) {
            const auto status =
                handle ? fetch_one(handle.get(), file, result.path, options)
                       : vgpualloc::unexpected(failure_at(error_code::io, file.url, "libcurl cannot be started"));
            result.status = status ? *status : fetch_status::failed;
            if (!status) {
                result.failure = status.error();
                ended = status.error().code == error_code::io;
            }
        }
        if (options.on_file_end) options.on_file_end(result);
    }
    return results;
}

} // namespace vgpufetch
