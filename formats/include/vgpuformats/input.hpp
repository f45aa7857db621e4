// What a user names as an input: a file or standard input, compressed with gzip or not, read once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpuformats/json.hpp"

namespace vgpuformats {

struct column_table;

/// The path that means standard input.
inline constexpr std::string_view standard_input = "-";

/// Limit of lists and recordings, which are read line by line. Documents, which are trees in memory, have
/// document_bytes_max.
inline constexpr std::size_t list_bytes_max = std::size_t{2} << 30U;

struct input_text {
    std::string name;   ///< what errors and records call it: the path as given, "-" for standard input
    std::string text;   ///< inflated, if it was compressed
    std::string sha256; ///< of the bytes as they were read, before inflating, or of the columns; empty if not wanted
    const column_table* table = nullptr; ///< in place of the text: columns that the caller owns
};

struct input_options {
    std::size_t bytes_max = document_bytes_max; ///< of the bytes that are read, and of what they inflate to
    bool hashed = false;
    vgpualloc::stop_signal stop{}; ///< asked while it is inflated
};

/// Reads a file, a pipe or standard input to its end, and inflates what begins as gzip does, whatever its name. It is
/// opened once, so that the checksum is of the bytes that were used. Errors: io; out_of_range (too large, as it is or
/// inflated, found out before more memory is used); malformed (gzip that is damaged, cut off or followed by something
/// else); unsupported (gzip in a build without zlib); stopped.
[[nodiscard]] vgpualloc::expected<input_text> read_input(const std::string& path, const input_options& options = {});

/// The same of bytes that were read elsewhere and are called `name`. Errors: all of these but io.
[[nodiscard]] vgpualloc::expected<input_text> text_of_bytes(std::string bytes, const std::string& name,
                                                            const input_options& options = {});

} // namespace vgpuformats
