// What a living cluster is made of inside.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "vgpualloc/live/live_cluster.hpp"
#include "vgpualloc/policy/pair.hpp"
#include "vgpualloc/policy/parse.hpp"

namespace vgpualloc {

/// Policies for a scheduler whose decisions follow from what it was told. Errors, of field "policy" or
/// "device_policy": those of parse_policies(), unsupported for a policy that draws.
[[nodiscard]] expected<owned_policies> make_live_policies(const live_options& options, const workload& typical,
                                                          const cluster& nodes);

/// The policies and who asks them; they belong to one ledger.
struct live_cluster::deciders {
    std::unique_ptr<policy> node;
    std::unique_ptr<policy> device; ///< null: as `node`
    std::uint64_t number;           ///< of no others of this cluster
    allocator alloc;

    deciders(owned_policies policies, std::uint64_t number_, const ledger& book)
        : node{std::move(policies.node)}, device{std::move(policies.device)}, number{number_}, alloc{book, pair()} {}

    [[nodiscard]] policy_pair pair() const {
        return {.node = node.get(), .device = device ? device.get() : node.get()};
    }
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
