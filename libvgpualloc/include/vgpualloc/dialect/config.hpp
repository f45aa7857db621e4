// What the dialects of a cluster are configured with.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/volcano_config.hpp"

namespace vgpualloc {

/// One value for all dialects: each takes from it what it understands (dialect_entry::make).
struct dialect_config {
    /// Where the models of GPUs that are cut without groups are looked up; not null. The built-in one has no owner.
    std::shared_ptr<const mig_catalog> mig{std::shared_ptr<void>{}, &built_in_mig_catalog()};
    /// Resource names, NPUs, geometries: what a device configuration says, or the names that the components have
    /// without one, with the NPUs of the catalog.
    dialects::volcano::device_config devices;
    /// deviceshare.GPUExclusiveRules: pods with all labels of a rule share no card with each other.
    std::vector<kubernetes::text_map> exclusive_rules;
};

/// Without a device configuration.
[[nodiscard]] dialect_config make_dialect_config(const hardware_catalog& catalog);
[[nodiscard]] dialect_config make_dialect_config(); ///< with the catalog that is built in

/// `base` with what a device configuration, as JSON, says; its NPUs are then the only ones. `name` is the file's.
/// Errors: those of parse_device_config().
[[nodiscard]] expected<dialect_config> with_device_config(dialect_config base, std::string_view json,
                                                          std::string_view name);

} // namespace vgpualloc
