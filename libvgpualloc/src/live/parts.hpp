// What a living cluster is made of inside.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "vgpualloc/live/live_cluster.hpp"

namespace vgpualloc {

/// Policies for a scheduler whose decisions follow from what it was told.
struct live_policies {
    std::unique_ptr<policy> node;
    std::unique_ptr<policy> device; ///< null: as `node`
};

/// An empty device_policy is the same. Errors, of field "policy" or "device_policy": those of make_policy(),
/// unsupported for a policy that draws and for two that do not go together.
[[nodiscard]] expected<live_policies> make_live_policies(const std::string& policy, const std::string& device_policy,
                                                         const workload& typical, const cluster& nodes);

/// The policies and who asks them; they belong to one ledger.
struct live_cluster::deciders {
    std::unique_ptr<policy> node;
    std::unique_ptr<policy> device; ///< null: as `node`
    std::uint64_t number;           ///< of no others of this cluster
    allocator alloc;

    deciders(live_policies policies, std::uint64_t number_, const ledger& book)
        : node{std::move(policies.node)}, device{std::move(policies.device)}, number{number_},
          alloc{book, {.node = node.get(), .device = device ? device.get() : node.get()}} {}
};

/// A pod as the dialects of the moment read it.
struct live_cluster::known_pod {
    kube::snapshot_pod pod;
    std::optional<error> failure{}; ///< why no scheduler can serve it
    bool counted = false;           ///< its request is one of the counts
    request_id number{};            ///< of its request, with those of that number who decide
    std::uint64_t numbered_by = 0;
};

} // namespace vgpualloc
