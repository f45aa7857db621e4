// Catalog files as the texts that tests write.
#pragma once

#include <string_view>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/catalog/mps.hpp"
#include "vgpuformats/json.hpp"

namespace catalog_texts {

template <class Read>
auto read_text(std::string_view json, std::string_view name, const Read& read)
    -> decltype(read(vgpuformats::document{})) {
    const auto file = vgpuformats::parse_json(json, name);
    if (!file) return vgpualloc::unexpected(file.error());
    return read(*file);
}

inline auto parse_mig_catalog(std::string_view json, std::string_view name) {
    return read_text(json, name, [&](const auto& file) { return vgpualloc::read_mig_catalog(file, name); });
}
inline auto parse_ascend_catalog(std::string_view json, std::string_view name) {
    return read_text(json, name, [&](const auto& file) { return vgpualloc::read_ascend_catalog(file, name); });
}
inline auto parse_power_catalog(std::string_view json, std::string_view name) {
    return read_text(json, name, [&](const auto& file) { return vgpualloc::read_power_catalog(file, name); });
}
inline auto parse_mps_limits(std::string_view json, std::string_view name) {
    return read_text(json, name, [&](const auto& file) { return vgpualloc::read_mps_limits(file, name); });
}
inline auto merge_text(const vgpualloc::hardware_catalog& base, std::string_view json, std::string_view name) {
    return read_text(json, name, [&](const auto& file) { return vgpualloc::merge_file(base, file, name); });
}

} // namespace catalog_texts
