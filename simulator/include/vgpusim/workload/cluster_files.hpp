// Files that describe a cluster: catalogs, device configurations, Kubernetes objects.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpuformats/input.hpp"
#include "vgpusim/workload/input.hpp"

namespace vgpusim {

/// Files that say what devices there are and how the dialects spell them.
struct dialect_files {
    std::vector<std::string> catalog; ///< the last one wins
    std::vector<std::string> config;  ///< device configurations, which add up
};

/// Reads a file and records it, where somebody wants records. It is read once, so that the checksum is of what was
/// used. Errors: those of read_input().
[[nodiscard]] vgpualloc::expected<vgpuformats::input_text>
read_recorded(const std::string& path, std::vector<input_file>* records,
              std::size_t bytes_max = vgpuformats::document_bytes_max);

/// A list of one path, or none.
[[nodiscard]] inline std::vector<std::string> as_list(const std::string& path) {
    return path.empty() ? std::vector<std::string>{} : std::vector{path};
}

/// The built-in catalog with what the files add or replace. Errors: those of reading and merging.
[[nodiscard]] vgpualloc::expected<vgpualloc::hardware_catalog> load_catalog(const std::vector<std::string>& files,
                                                                            std::vector<input_file>* records = nullptr);

/// What the dialects are configured with. Errors: those of reading the files.
[[nodiscard]] vgpualloc::expected<vgpualloc::dialect_config>
load_dialects(const vgpualloc::hardware_catalog& catalog, const std::vector<std::string>& configurations,
              std::vector<input_file>* records = nullptr);
[[nodiscard]] vgpualloc::expected<vgpualloc::dialect_config> load_dialects(const dialect_files& from,
                                                                           std::vector<input_file>* records = nullptr);

/// The objects of all files, in their order.
[[nodiscard]] vgpualloc::expected<std::vector<vgpualloc::kube::manifest>>
load_objects(const std::vector<std::string>& files, std::vector<input_file>* records = nullptr);

} // namespace vgpusim
