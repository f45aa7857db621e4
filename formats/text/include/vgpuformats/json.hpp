// JSON texts, read strictly into documents and printed from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpuformats/document.hpp"

namespace vgpuformats {

/// Limits of what is read, against input that is made to exhaust memory. They hold while a text is parsed.
inline constexpr std::size_t document_bytes_max = std::size_t{256} << 20U;
inline constexpr std::size_t json_values_max =
    10'000'000;                      ///< of one text; a text at its size limit has fewer if indented
inline constexpr int depth_max = 64; ///< of lists and maps in each other

/// What becomes of a key that a map has twice. Kept: document::find() gives the last, as Go's encoding/json does.
enum class repeated_keys : std::uint8_t { refused, kept };

/// The one value of a text. `name` is what errors call the text: malformed and duplicate (a key given twice) with line
/// and column, out_of_range for the limits. `first_line` is the number of the text's first line, where the text is a
/// part of a file.
[[nodiscard]] vgpualloc::expected<document> parse_json(std::string_view text, std::string_view name,
                                                       repeated_keys repeated = repeated_keys::refused,
                                                       std::int32_t first_line = 1);

/// Values one after the other, as several files of JSON make when they are joined. Errors as above.
[[nodiscard]] vgpualloc::expected<std::vector<document>> parse_json_stream(std::string_view text,
                                                                           std::string_view name);

/// Without spaces and line ends. Bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string print_json(const document& value);
/// With a line for every item and member, indented by so many spaces per level.
[[nodiscard]] std::string print_json(const document& value, std::size_t indent);

} // namespace vgpuformats
