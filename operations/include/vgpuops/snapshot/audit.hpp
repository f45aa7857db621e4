// Whether a ledger counts what the annotations of a cluster say: dialect by dialect, device by device, and back again.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::snapshots {

/// What is used of the devices of one dialect.
struct device_use {
    std::int64_t devices = 0; ///< with anything used
    std::int64_t memory_mib = 0;
    std::int64_t cores = 0;                          ///< percent of a device, or AI cores where a device counts these
    std::int64_t containers = 0;                     ///< shares: a container on two devices counts twice
    std::map<std::string, std::int64_t> instances{}; ///< MIG instances and NPU templates by name

    bool operator==(const device_use&) const = default;
};

struct dialect_audit {
    std::string dialect;
    std::int64_t nodes = 0;   ///< with devices of it
    std::int64_t devices = 0; ///< of the cluster
    std::int64_t in_service = 0;
    std::int64_t memory_mib = 0; ///< of all devices
    std::int64_t running = 0;    ///< pods on a node that ask in it
    std::int64_t waiting = 0;    ///< pods on none that ask in it
    device_use counted;          ///< by the ledger
    device_use annotated;        ///< by the annotations, added up without the ledger
    bool by_kubelet = false;     ///< no annotation says which devices a pod has: the ledger counts amounts
};

struct audit {
    std::vector<dialect_audit> dialects{}; ///< those that the cluster speaks, in the order of the list
    std::int64_t written_back = 0;         ///< pods whose annotations, written from the ledger, read back as the same
    /// What cannot be true or could not be read (the snapshot's warnings), then every device of which the ledger counts
    /// something else than the annotations say, then devices that are given out more than once with those who have
    /// them, then what reads back as something else than the ledger has.
    std::vector<error> differences{};
};

/// Compares a snapshot with the objects that it was made of.
[[nodiscard]] audit audit_of(std::span<const kube::manifest> objects, const kube::snapshot& state);

/// The audit as aligned text, and as a document: docs/snapshot.md names the members.
[[nodiscard]] std::string audit_text(const audit& audited, const kube::snapshot& state);
[[nodiscard]] std::string audit_json(const audit& audited, const kube::snapshot& state);

} // namespace vgpuops::snapshots
