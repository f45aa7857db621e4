// What the dialects of a cluster are configured with.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/volcano_config.hpp"

namespace vgpualloc {

/// A system that device configurations configure, each by a section of its own.
enum class configured_system : std::uint8_t { vgpu, hami, npus, nvidia_plugin };

/// A resource that pods could ask for without device configurations, and that the one of this name does not have.
struct switched_off {
    std::string resource;
    std::string by; ///< the file

    bool operator==(const switched_off&) const = default;
};

/// One value for all dialects: each takes from it what it understands (dialect_entry::make).
struct dialect_config {
    /// Where the models of GPUs that are cut without groups are looked up; not null. The built-in one has no owner.
    std::shared_ptr<const mig_catalog> mig{std::shared_ptr<void>{}, &built_in_mig_catalog()};
    /// Resource names, NPUs, geometries: what a device configuration says, or the names that the components have
    /// without one, with the NPUs of the catalog.
    dialects::volcano::device_config devices;
    std::map<configured_system, std::string> configured_by{}; ///< the file; without an entry: built in
    std::map<std::string, std::string> npu_configured_by{};   ///< by common word: the file
    std::vector<switched_off> off{};                          ///< by resource
    /// deviceshare.GPUExclusiveRules: pods with all labels of a rule share no card with each other.
    std::vector<kubernetes::text_map> exclusive_rules;
    bool gpushare_by_number = false; ///< deviceshare.GPUNumberEnable
};

/// Takes in what arguments of deviceshare say of the dialects.
void apply_arguments(const dialects::volcano::plugin_arguments& arguments, dialect_config& config);

/// Without a device configuration.
[[nodiscard]] dialect_config make_dialect_config(const hardware_catalog& catalog);
[[nodiscard]] dialect_config make_dialect_config(); ///< with the catalog that is built in

/// `base` with what a device configuration, as JSON, says; `name` is the file's. A configuration says how Volcano's
/// vGPUs are named and cut, or HAMi's GPUs (whichever its section `nvidia` is of), and which NPUs there are (`vnpus`);
/// that of NVIDIA's own device plugin says how it gives out what containers share. What is built in holds for the
/// systems that no configuration names; several of them add up. Errors: those of parse_device_config(); duplicate,
/// which names both files, where two of them say different things of one system, NPU or resource.
[[nodiscard]] expected<dialect_config> with_device_config(dialect_config base, std::string_view json,
                                                          std::string_view name);

/// What configurations switched off, in a sentence for each file.
[[nodiscard]] std::vector<std::string> notes_of(const dialect_config& config);

} // namespace vgpualloc
