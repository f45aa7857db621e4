// What snapshots and views of a cluster share: one node and one pod, read from their objects.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"

namespace vgpualloc::kube {

/// The devices that one node has in one dialect, and where they are among all of its devices.
struct dialect_devices {
    std::vector<device_registration> registered;
    std::vector<std::optional<device_index>> index; ///< none: not a device of the cluster

    bool operator==(const dialect_devices&) const = default;
};

/// A node as a ledger is told of it, and what reading its pods takes.
struct described_node {
    node described;
    std::vector<snapshot_device> devices; ///< by device index
    std::vector<dialect_devices> by_dialect;

    bool operator==(const described_node&) const = default;
};

/// The node of an object, with the devices that `readings` have, one for each dialect. Kinds of devices that are new
/// are added to `kinds`.
[[nodiscard]] described_node describe_node(const manifest& object, std::vector<dialects::node_reading> readings,
                                           const dialect_set& dialects, device_kinds& kinds,
                                           std::vector<error>& warnings);

/// What to tell of a node that a ledger refuses.
[[nodiscard]] error refusal_of_node(const manifest& object, error refusal);

/// What it requires of other pods is among the rules that are ignored, unless its sets are known.
[[nodiscard]] expected<snapshot_pod> read_request(const manifest& object, const dialect_set& dialects,
                                                  const pod_sets* sets = nullptr);

/// Where an error about a pod is: the object's place and the pod's full name.
[[nodiscard]] std::string label_of(const manifest& pod);

/// The pod of an object; where the request cannot be read, with its failure and the host part only.
[[nodiscard]] snapshot_pod read_request_or_failure(const manifest& object, const dialect_set& dialects,
                                                   const pod_sets* sets = nullptr);

/// Where a bound pod is and who it is: what its booking is read with.
struct bound_place {
    node_index where;
    const described_node& node;
    const ledger& book;
    pod_id id; ///< of its booking
};
/// What a bound pod has of its node, to be adopted. `pod` is what read_request_or_failure() made of the object. Of
/// devices that the kubelet assigns it has those that it is booked on already, or else the first ones that are free.
[[nodiscard]] booking read_booking(const manifest& object, const snapshot_pod& pod, const bound_place& at,
                                   const dialect_set& dialects, std::vector<error>& warnings);
/// Books a pod that runs. What the ledger cannot count of it is left out with a warning: its devices, or else all of
/// it, and then this is false.
[[nodiscard]] bool adopt_booking(ledger& book, booking held, const manifest& object, std::vector<error>& warnings);

} // namespace vgpualloc::kube
