// What the two halves of a snapshot, nodes and pods, share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dialects.hpp"
#include "vgpualloc/kube/snapshot.hpp"

namespace vgpusim {

/// The devices that one node has in one dialect, and where they are in the cluster.
struct dialect_devices {
    std::vector<vgpualloc::device_registration> registered;
    std::vector<std::optional<vgpualloc::device_index>> index; ///< none: not a device of the cluster
};

/// The nodes of a snapshot with all that reading their pods takes.
struct snapshot_nodes {
    vgpualloc::cluster nodes;
    std::vector<std::vector<snapshot_device>> devices;
    std::vector<std::vector<dialect_devices>> by_dialect; ///< by node, then dialect
    std::map<std::string, vgpualloc::node_index> index;   ///< by name
};

/// Objects of the snapshot: each node and pod once, pods that have ended left out.
struct snapshot_objects {
    std::vector<const vgputraces::manifest*> nodes;
    std::vector<const vgputraces::manifest*> pods;
    std::map<std::string, std::vector<const vgpualloc::kubernetes::pod*>> on_node;
    std::map<std::string, vgpualloc::dialect::mindcluster::device_info> device_infos;
};

/// The name of the node that a pod is bound to, or is being bound to; empty if to none.
[[nodiscard]] std::string node_of(const vgputraces::manifest& pod);

[[nodiscard]] std::string namespace_of(const vgputraces::manifest& object);

[[nodiscard]] snapshot_nodes read_snapshot_nodes(const snapshot_objects& from,
                                                 const std::vector<manifest_dialect>& dialects,
                                                 const vgpualloc::mig_catalog& catalog,
                                                 std::vector<vgpualloc::error>& warnings);

[[nodiscard]] vgpualloc::expected<snapshot_pod> read_request(const vgputraces::manifest& of,
                                                             const std::vector<manifest_dialect>& dialects);

/// What a bound pod has of the devices of its node.
[[nodiscard]] vgpualloc::placement read_placement(const vgputraces::manifest& of, vgpualloc::node_index where,
                                                  const snapshot_nodes& nodes,
                                                  const std::vector<manifest_dialect>& dialects,
                                                  std::vector<vgpualloc::error>& warnings);

} // namespace vgpusim
