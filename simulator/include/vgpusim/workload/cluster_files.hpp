// Files that describe a cluster: catalogs, device configurations, Kubernetes objects.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/input_reader.hpp"

namespace vgpusim {

/// Files that say what devices there are and how the dialects spell them.
struct dialect_files {
    std::vector<std::string> catalog; ///< the last one wins
    std::vector<std::string> config;  ///< device configurations, which add up
};

/// A list of one path, or none.
[[nodiscard]] inline std::vector<std::string> as_list(const std::string& path) {
    return path.empty() ? std::vector<std::string>{} : std::vector{path};
}

/// The built-in catalog with what the files add or replace. Errors: those of reading and merging.
[[nodiscard]] expected<vgpualloc::hardware_catalog> load_catalog(const std::vector<std::string>& files,
                                                                 input_reader& from);

/// What the dialects are configured with. Errors: those of reading the files.
[[nodiscard]] expected<vgpualloc::dialect_config> load_dialects(const vgpualloc::hardware_catalog& catalog,
                                                                const std::vector<std::string>& configurations,
                                                                input_reader& from);
[[nodiscard]] expected<vgpualloc::dialect_config> load_dialects(const dialect_files& files, input_reader& from);

/// Objects that nobody changes: several questions may be about the same ones.
using shared_objects = std::shared_ptr<const std::vector<vgpualloc::kube::manifest>>;

/// The objects of all files, in their order. From a source that keeps values they are those of the question before if
/// no file has changed since. Not null.
[[nodiscard]] expected<shared_objects> load_shared_objects(const std::vector<std::string>& files, input_reader& from);
/// The same for a caller that changes them.
[[nodiscard]] expected<std::vector<vgpualloc::kube::manifest>> load_objects(const std::vector<std::string>& files,
                                                                            input_reader& from);
/// What keeps its meaning as long as these files are what they are; empty where that cannot be told, or where the
/// source keeps nothing.
[[nodiscard]] std::string version_of(const std::vector<std::string>& files, const input_reader& from);
/// Error missing, which names the files, where none of their objects is a node and nothing else is wrong with them.
[[nodiscard]] expected<void> check_nodes(const std::vector<vgpualloc::kube::manifest>& objects,
                                         const std::vector<std::string>& files);

} // namespace vgpusim
