// What the files of both catalogs have in common.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "vgpualloc/catalog/provenance.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpuformats/cursor.hpp"

namespace vgpualloc::detail {

// Far above every real device; they keep sums of counts from overflowing.
inline constexpr vgpuformats::number_range any_count{.least = 0, .most = 1'000'000};
inline constexpr vgpuformats::number_range positive_count{.least = 1, .most = 1'000'000};
inline constexpr vgpuformats::number_range memory_range{.least = 1, .most = 1'000'000'000};

/// Fails at `entry` unless every key of its provenance is "*" or one of `fields`.
void check_provenance(const vgpuformats::cursor& entry, const provenance& from,
                      std::initializer_list<std::string_view> fields);

/// Fails unless the document has the schema of catalog files and no keys that such files cannot have.
void check_header(const vgpuformats::cursor& root);

/// The catalog that a file describes: its sources, and what read(root, catalog) makes of the rest.
template <class Catalog, class Read>
[[nodiscard]] expected<Catalog> read_file(const vgpuformats::document& file, std::string_view name, const Read& read) {
    std::optional<error> failure;
    const vgpuformats::cursor root{file, name, failure};
    check_header(root);
    Catalog result;
    result.sources = root.maybe_dictionary("sources");
    read(root, result);
    if (failure) return unexpected(*failure);
    return result;
}

} // namespace vgpualloc::detail
