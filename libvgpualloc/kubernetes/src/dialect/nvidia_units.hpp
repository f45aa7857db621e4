// The units of nvidia.com/gpu and its like on a node: how many there are, and how they share devices.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nvidia_labels.hpp"
#include "vgpualloc/core/error.hpp"

namespace vgpualloc::dialects::nvidia {

/// The units of a resource: those that are healthy, and all.
struct unit_counts {
    std::int64_t healthy = 0;
    std::int64_t all = 0;
};

/// How the units of a resource share what is counted.
struct sharing {
    std::int64_t replicas = 1;
    bool by_mps = false;
    bool one_per_container = false; ///< whatever the plugin's configuration says
};

/// The units of one resource of a node.
struct resource_units {
    std::string resource{};
    unit_counts units{};
};

/// Whether a node has beside NVIDIA's plugin another system that says what its GPUs are.
[[nodiscard]] bool is_served_by_another(const kubernetes::node& node);

/// The units, by resource, that labels count on a node of which the plugin has registered none: it does not run, or its
/// driver does not. None where the node has no such plugin, because another system serves its GPUs or
/// nvidia.com/gpu.deploy.device-plugin is "false".
[[nodiscard]] std::map<std::string, unit_counts> unregistered_units(const kubernetes::node& node,
                                                                    const gpu_labels& labels);

/// One replica where nothing says more, or the units are not those of whole devices, which is a warning. Where a plugin
/// before 0.15 says no strategy, replicas are of time-slicing. A unit that is not healthy is one replica. `configured`
/// counts where no label says how units are shared and the units are as many as it makes.
[[nodiscard]] sharing read_sharing(const kubernetes::node& node, const gpu_labels& labels,
                                   const configured_sharing& configured, const resource_units& counted,
                                   std::vector<error>& warnings);

} // namespace vgpualloc::dialects::nvidia
