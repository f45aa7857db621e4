// What a living cluster is made of inside.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "vgpualloc/live/live_cluster.hpp"

namespace vgpualloc {

/// The policies and who asks them; they belong to one ledger.
struct live_cluster::deciders {
    std::unique_ptr<policy> node;
    std::unique_ptr<policy> device; ///< null: as `node`
    allocator alloc;

    deciders(std::unique_ptr<policy> for_nodes, std::unique_ptr<policy> for_devices, const ledger& book)
        : node{std::move(for_nodes)}, device{std::move(for_devices)},
          alloc{book, {.node = node.get(), .device = device ? device.get() : node.get()}} {}
};

/// A pod as the dialects of the moment read it.
struct live_cluster::known_pod {
    kube::snapshot_pod pod;
    std::optional<error> failure; ///< why no scheduler can serve it
    bool counted = false;         ///< its request is one of the counts
};

} // namespace vgpualloc
