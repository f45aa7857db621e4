// The smallest number of nodes of a kind with which all pods of a queue find a place, proved by trying one less.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/plan/lp.hpp"
#include "vgpuops/whatif/changes.hpp"
#include "vgpuops/whatif/queue.hpp"

namespace vgpuops::whatif {

struct nodes_try {
    std::int64_t nodes = 0;
    std::int64_t refused = 0; ///< pods
};

struct nodes_found {
    /// All pods but those of `never` and `most` fit with so many, and with one less they do not. None: there is no such
    /// number up to `nodes_max`.
    std::optional<std::int64_t> nodes{};
    std::int64_t nodes_max = 0;     ///< what was looked up to
    std::vector<nodes_try> tries{}; ///< in order; pods of `never` and `most` do not count
    /// Positions in pod_queue::pods: those that an empty node of the kind refuses, and that either do not fit on the
    /// cluster as it is or find no place beside the others with `nodes_max` nodes more; and gangs with fewer pods than
    /// have to run.
    std::vector<std::size_t> never{};
    std::vector<std::size_t> helped{};   ///< positions of the others that find no place on the nodes there are
    std::vector<std::size_t> one_less{}; ///< positions of those that find no place with one node less
    std::vector<std::size_t> most{};     ///< positions of others that find no place with `nodes_max` either
    /// No order of the pods and no policy needs fewer: what the pods ask for that fit on none of the nodes there are,
    /// as these are now, is more than fewer nodes have or, where the solver said so, can hold.
    std::int64_t least = 0;
    bool is_exact = false; ///< an integer program says so of `nodes`, and amounts alone do not

    /// Whether `nodes` is the smallest number there is.
    [[nodiscard]] bool is_proved() const noexcept { return nodes && *nodes == least; }
};

/// Tries by doubling, then halves the interval between a number that suffices and one that does not until they are
/// neighbours: policies are greedy, so a larger number need not be better, and no smaller number is promised to fail
/// but the one next to the answer. A pod that an empty node takes needs no more nodes than there are pods, which is
/// where the search ends. Pods that no scheduler takes (queued_pods::unreadable) do not count. The ledger is as before.
/// With a solver, an integer program may say that fewer nodes are too few where amounts do not. Once an end is wanted,
/// what is returned says nothing.
[[nodiscard]] nodes_found find_nodes(kube::snapshot& state, vgpualloc::allocator& decider, const pod_queue& queue,
                                     const node_kind& kind, pod_id first_id,
                                     vgpualloc::plan::lp_solver* solver = nullptr, const stop_signal& stop = {});

} // namespace vgpuops::whatif
