// Public traces: the list of those known, and their download: resumable, checked by SHA-256, complete or not there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"

namespace vgpufetch {

struct public_file {
    std::string name; ///< the name it gets; never a path
    std::string url;  ///< http or https
    std::int64_t size_bytes = 0;
    std::string sha256; ///< lower-case hexadecimal
};

struct public_trace {
    std::string name;
    std::string description;
    std::string licence;
    std::string source;
    std::string note; ///< what a user should know before relying on the entry; may be empty
    std::vector<public_file> files;
};

/// Reads a list of public traces. Strict: an unknown, missing or repeated key, a checksum that is not 64 lower-case
/// hexadecimal digits, or a file name that could leave the folder is an error with its line and the path to the value.
/// `where` names the list in errors.
[[nodiscard]] vgpualloc::expected<std::vector<public_trace>> parse_trace_list(std::string_view json,
                                                                              const std::string& where);

/// The list in the binary, traces/fetch/public.json, as JSON.
[[nodiscard]] std::string_view built_in_trace_list();

enum class fetch_status {
    already_there, ///< the file was in place with the right checksum; nothing was asked of the network
    downloaded,    ///< from the first byte
    resumed,       ///< an earlier, interrupted download was completed
    replaced,      ///< a file of this name with another checksum was there
    failed,
    not_tried, ///< an earlier file failed for a reason that would hit this one too
};

/// The value's name, as in the JSON output.
[[nodiscard]] std::string_view name_of(fetch_status status);

struct fetched_file {
    public_file file;
    std::string path; ///< where it is, or would be
    fetch_status status = fetch_status::not_tried;
    std::optional<vgpualloc::error> failure; ///< set when failed
};

/// How long nothing has come.
struct fetch_wait {
    int tries = 1; ///< this one is that many-th
    int tries_max = 1;
    double silent_s = 0;   ///< since the last byte of any try, or since the first request
    double patience_s = 0; ///< after that many seconds of silence the file is given up
};

struct fetch_options {
    std::string folder;
    int tries_max = 3;                ///< per file, for failures that may pass: lost connections, HTTP 408, 429 and 5xx
    std::int64_t first_wait_ms = 500; ///< before the second try; doubles after each
    long connect_timeout_s = 20;
    long stall_timeout_s = 30; ///< a transfer below 100 bytes/s for this long counts as lost
    std::function<void(const public_file&, std::int64_t done_bytes)> on_progress; ///< may be empty
    std::function<void(const public_file&, const fetch_wait&)> on_wait;           ///< about once a second; may be empty
    std::function<void(const fetched_file&)> on_file_end;                         ///< may be empty

    /// How long a server may say nothing, over all tries, until a file is given up.
    [[nodiscard]] double patience_s() const;
};

/// Brings the files into `options.folder`, one after the other. A download in progress is `<name>.part`, which stays
/// after a lost connection and is continued by the next call; a file has its own name only once its checksum was right.
/// One result per file. An error is returned only when the folder cannot be made, and then nothing was asked of the
/// network. An io failure (no connection, full disk) ends the work: the files after it are not tried.
[[nodiscard]] vgpualloc::expected<std::vector<fetched_file>> fetch_files(const std::vector<public_file>& files,
                                                                         const fetch_options& options);

} // namespace vgpufetch
