// Reading the configuration of NVIDIA's own device plugin.
#include "nvidia_config.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "config_keys.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::dialects {

namespace {

using vgpuformats::cursor;

constexpr auto root_keys = std::to_array<std::string_view>({"version", "flags", "resources", "sharing", "imex"});
constexpr auto sharing_keys = std::to_array<std::string_view>({"timeSlicing", "mps"});
constexpr auto shared_keys =
    std::to_array<std::string_view>({"renameByDefault", "failRequestsGreaterThanOne", "resources"});
/// The plugin passes over `rename` and `devices`. Source: k8s-device-plugin, cmd/nvidia-device-plugin,
/// "Customizing the 'devices' field … is not yet supported in the config. Ignoring...".
constexpr auto resource_keys = std::to_array<std::string_view>({"name", "replicas", "rename", "devices"});

/// Resources are given without their domain, or with it.
std::string whole_name(const std::string& written) {
    return written.find('/') == std::string::npos ? "nvidia.com/" + written : written;
}

void read_replicas(const cursor& section, nvidia::options& plugin, std::vector<error>& warnings) {
    check_keys(section, shared_keys, {}, warnings);
    if (!section.has("resources")) return;
    for (const cursor& resource : section.at("resources").items(0)) {
        check_keys(resource, resource_keys, {}, warnings);
        const std::string name = whole_name(resource.at("name").filled_text());
        const std::int64_t replicas = resource.at("replicas").integer({1, devices_per_node_max});
        std::vector<nvidia::resource_replicas>& known = plugin.sharing.resources;
        if (std::ranges::find(known, name, &nvidia::resource_replicas::resource) != known.end()) {
            resource.at("name").fail(error_code::duplicate, "a resource that no entry before has");
        }
        known.push_back({.resource = name, .replicas = replicas});
    }
}

} // namespace

nvidia::options read_own_plugin(const cursor& root, std::vector<error>& warnings) {
    check_keys(root, root_keys, {}, warnings);
    nvidia::options plugin;
    if (root.has("flags") && root.at("flags").has("plugin")) {
        const cursor flags = root.at("flags").at("plugin");
        constexpr std::string_view key = "sharedDevicesAllocationPolicy";
        if (flags.has(key)) {
            constexpr std::array<std::string_view, 2> policies{"distributed", "packed"};
            plugin.allocation = flags.at(key).one_of(policies) == 0 ? unit_order::distributed : unit_order::packed;
        }
    }
    if (!root.has("sharing")) return plugin;
    const cursor sharing = root.at("sharing");
    check_keys(sharing, sharing_keys, {}, warnings);
    // The plugin looks at timeSlicing only where there is no mps. Source: k8s-device-plugin, api/config/v1/sharing.go.
    plugin.sharing.by_mps = sharing.has("mps");
    if (plugin.sharing.by_mps) {
        read_replicas(sharing.at("mps"), plugin, warnings);
    } else if (sharing.has("timeSlicing")) {
        read_replicas(sharing.at("timeSlicing"), plugin, warnings);
        plugin.one_replica_only = read_flag(sharing.at("timeSlicing"), "failRequestsGreaterThanOne");
    }
    return plugin;
}

} // namespace vgpualloc::dialects
