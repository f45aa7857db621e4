// What the files of both catalogs have in common.
#pragma once

#include <initializer_list>
#include <string_view>

#include "vgpualloc/catalog/provenance.hpp"
#include "vgpuformats/cursor.hpp"

namespace vgpualloc::detail {

/// Fails at `entry` unless every key of its provenance is "*" or one of `fields`.
void check_provenance(const vgpuformats::cursor& entry, const provenance& from,
                      std::initializer_list<std::string_view> fields);

/// Fails unless the document has the schema of catalog files and no keys that such files cannot have.
void check_header(const vgpuformats::cursor& root);

} // namespace vgpualloc::detail
