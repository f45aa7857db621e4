// Inputs that several commands take: catalog files, device configurations, Kubernetes objects.
#pragma once

#include <string>
#include <vector>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "vgpualloc/kube/objects.hpp"

namespace CLI {
class App;
} // namespace CLI

namespace vgpusim::cli {

/// Files that say what devices there are and how the dialects spell them.
struct dialect_files {
    std::vector<std::string> catalog; ///< the last one wins
    std::vector<std::string> config;  ///< device configurations, which add up
};

/// Adds --file.
void add_catalog_files(CLI::App& command, std::vector<std::string>& to);
/// Adds --config and --file.
void add_dialect_files(CLI::App& command, dialect_files& to);

/// The built-in catalog with what the files add or replace. Errors: those of reading and merging.
[[nodiscard]] vgpualloc::expected<vgpualloc::hardware_catalog> load_catalog(const std::vector<std::string>& files);

/// What the dialects are configured with. Errors: those of reading the files.
[[nodiscard]] vgpualloc::expected<vgpualloc::dialect_config> load_dialects(const dialect_files& from);

/// The objects of all files, in their order.
[[nodiscard]] vgpualloc::expected<std::vector<vgpualloc::kube::manifest>>
load_objects(const std::vector<std::string>& files);

} // namespace vgpusim::cli
