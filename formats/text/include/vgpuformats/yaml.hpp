// YAML texts as documents.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpuformats/document.hpp"

namespace vgpuformats {

/// Limits besides those of JSON texts (document_bytes_max, depth_max), also kept while a text is parsed.
inline constexpr std::size_t yaml_values_max =
    2'000'000; ///< of a text; anchors and aliases count as what they stand for
/// Of these, what anchors and aliases stand for beside what is written: a few lines could make all of them.
inline constexpr std::size_t yaml_aliased_values_max = 200'000;
inline constexpr std::size_t yaml_aliased_bytes_max = std::size_t{2} << 20U; ///< of keys and scalars, likewise
/// Of text between two values: of a scalar, of a comment, and of a list or map in brackets that begins a document,
/// which the parser holds as a whole because it could be a key.
inline constexpr std::size_t yaml_stretch_bytes_max = std::size_t{2} << 20U;

/// The documents of a YAML stream; a null document, as before the first "---", is left out. Keys are texts and occur
/// once; "<<" merges. Plain words are truth values as in YAML 1.1, which Kubernetes' tools read. Errors, with file and
/// line: malformed, duplicate, out_of_range (limits), unsupported (tags).
[[nodiscard]] vgpualloc::expected<std::vector<document>> parse_yaml(std::string_view text, std::string_view name);

/// The documents of a text that is YAML or JSON: one JSON value or several one after the other, else YAML.
[[nodiscard]] vgpualloc::expected<std::vector<document>> parse_documents(std::string_view text, std::string_view name);

/// A document in block style, as people write manifests: read again, it is the same. Texts are in quotes; keys are
/// plain where they are words.
[[nodiscard]] std::string print_yaml(const document& value);
/// The same of a JSON text that this program has printed. Errors: those of parse_json() for one that is too large.
[[nodiscard]] vgpualloc::expected<std::string> yaml_of_json(std::string_view json);

} // namespace vgpuformats
