// YAML and JSON documents as one tree, in which a scalar keeps what it was written as: quantities are exact, and a
// label `yes` is told from a label "yes".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/core/expected.hpp"

namespace vgputraces {

enum class value_kind : std::uint8_t { null, boolean, number, text, list, map };

struct document_value {
    value_kind kind = value_kind::null;
    std::string text; ///< of a scalar, as written (a text without its quotes)
    std::vector<document_value> items;
    std::vector<std::pair<std::string, document_value>> members; ///< in the order written
    int line = 0;                                                ///< from 1; 0: unknown, as in JSON

    /// The member of a map; null if there is none.
    [[nodiscard]] const document_value* find(std::string_view key) const;
};

/// Limits of what is read, against input that is made to exhaust memory.
inline constexpr std::size_t document_bytes_max = std::size_t{256} << 20U;
inline constexpr std::size_t values_max = 2'000'000; ///< of a YAML file, counting aliases as what they stand for
inline constexpr int depth_max = 64;                 ///< of lists and maps in each other

/// The documents of a YAML stream; a null document, as before the first "---", is left out. Keys are texts and occur
/// once; "<<" merges. Errors, with file and line: malformed, duplicate, out_of_range (limits), unsupported (tags).
[[nodiscard]] vgpualloc::expected<std::vector<document_value>> parse_yaml(std::string_view text,
                                                                          const std::string& name);
/// One JSON document, with the same errors.
[[nodiscard]] vgpualloc::expected<document_value> parse_json_document(std::string_view text, const std::string& name);

/// By the first character: JSON begins with a bracket.
[[nodiscard]] vgpualloc::expected<std::vector<document_value>> parse_documents(std::string_view text,
                                                                               const std::string& name);

/// As JSON text without spaces. Numbers that JSON does not spell so (0x10, +5, 1.) are respelled.
[[nodiscard]] std::string to_json_text(const document_value& value);

} // namespace vgputraces
