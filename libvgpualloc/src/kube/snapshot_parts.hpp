// What the two halves of a snapshot, nodes and pods, share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"

namespace vgpualloc::kube {

/// The devices that one node has in one dialect, and where they are in the cluster.
struct dialect_devices {
    std::vector<device_registration> registered;
    std::vector<std::optional<device_index>> index; ///< none: not a device of the cluster
};

/// The nodes of a snapshot with all that reading their pods takes.
struct snapshot_nodes {
    cluster nodes;
    std::vector<std::vector<snapshot_device>> devices;
    std::vector<std::vector<dialect_devices>> by_dialect; ///< by node, then dialect
    std::map<std::string, node_index> index;              ///< by name
};

[[nodiscard]] snapshot_nodes read_snapshot_nodes(const cluster_objects& objects, const dialect_set& dialects,
                                                 std::vector<error>& warnings);

[[nodiscard]] expected<snapshot_pod> read_request(const manifest& object, const dialect_set& dialects);

/// What a bound pod has of the devices of its node.
[[nodiscard]] placement read_placement(const manifest& object, node_index where, const snapshot_nodes& nodes,
                                       const dialect_set& dialects, std::vector<error>& warnings);

} // namespace vgpualloc::kube
