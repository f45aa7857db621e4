// Which pods of a living cluster would have to move so that one that waits fits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/explain/named_place.hpp"
#include "vgpualloc/kube/mobility.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/live/live_cluster.hpp"
#include "vgpualloc/plan/defragment.hpp"

namespace vgpualloc::operate {

struct room_options {
    plan::move_budget budget{};
    plan::move_costs costs{};
    kube::mobility movable{};
};

struct room_move {
    std::string uid; ///< of the pod
    std::string pod; ///< "<namespace>/<name>"
    explaining::named_place from{};
    explaining::named_place to{};
    plan::plan_cost cost{};
};

/// Moves in the order in which they are carried out (plan::move_plan), after which the pod fits at `where`.
struct room_plan {
    std::vector<room_move> moves{};
    explaining::named_place where{};
    plan::plan_cost cost{};
    bool fewest_moves = false; ///< plan::found_room::fewest_moves
};

/// What planning room for a pod takes, as the cluster was then: it has nothing in common with the cluster, which may go
/// on while this is answered.
class room_question {
public:
    /// Errors: unknown_name for a pod that is not there, unsupported for one that has something already or has a
    /// scheduling gate, what keeps its request from being read.
    [[nodiscard]] static expected<room_question> ask(live_cluster& live, std::string_view uid, room_options options);

    /// The plan, which was carried out on a trial, or why there is none. Changes nothing but the question: ask once.
    [[nodiscard]] expected<room_plan, plan::no_room> answer();

private:
    room_question() = default;

    kube::snapshot state_;
    kube::snapshot_pod pod_;
    std::vector<std::string> uids_; ///< by position in state_.bound
    std::vector<bool> movable_;     ///< likewise
    room_options options_;
};

} // namespace vgpualloc::operate
