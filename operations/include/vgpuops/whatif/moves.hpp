// Which pods of a cluster would have to move so that one that waits fits, or so that devices become empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/kube/disruption_budgets.hpp"
#include "vgpualloc/kube/mobility.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/plan/defragment.hpp"
#include "vgpualloc/plan/lp.hpp"
#include "vgpuops/whatif/answer.hpp"

namespace vgpuops::whatif {

struct moves_question {
    vgpualloc::plan::move_budget budget{};
    vgpualloc::plan::move_costs costs{};
    kube::mobility movable{};
    /// For plan_emptying(), to say how few units any moves could leave in use; null: by the sums of amounts alone.
    vgpualloc::plan::lp_solver* solver = nullptr;
};

/// A move with the names that its places have outside.
struct told_move {
    std::string pod; ///< "<namespace>/<name>"
    explaining::named_place from{};
    explaining::named_place to{};
    vgpualloc::plan::plan_cost cost{};
};

struct moves_answer {
    std::string pod{}; ///< that room is made for; empty: devices or nodes are emptied
    vgpualloc::plan::move_budget budget{};
    vgpualloc::plan::move_costs costs{};
    std::int64_t movable = 0;           ///< pods that may move
    std::vector<kube::kept_pod> kept{}; ///< that could, were it not for a PodDisruptionBudget
    /// That could, were it not that a quota or a limit range would refuse what takes their place.
    std::vector<kube::kept_pod> not_made_again{};
    std::int64_t kept_bare = 0;               ///< pods that could, were it not that no controller makes them again
    std::vector<std::string> kept_by_rules{}; ///< that could, were it not for rules about other pods (peer_rules.hpp)
    bool found = false;
    std::vector<told_move> moves{};
    std::optional<explaining::named_place> where{}; ///< of the pod, after the moves
    vgpualloc::plan::plan_cost cost{};
    bool fewest_moves = false; ///< found_room::fewest_moves
    std::optional<vgpualloc::plan::no_room> none{};
    std::optional<vgpualloc::plan::emptied_unit> emptied_unit{};
    std::int64_t emptied = 0;  ///< devices or nodes
    std::int64_t used = 0;     ///< of them, with pods that have devices, before the moves
    std::int64_t used_min = 0; ///< consolidation::used_min
    vgpualloc::plan::units_bound used_min_by = vgpualloc::plan::units_bound::amounts;
    bool step_limit = false;             ///< consolidation::step_limit
    vgpualloc::idle_parts idle_before{}; ///< to the mean pod that runs or waits in the cluster
    vgpualloc::idle_parts idle_after{};  ///< after the moves, and with the pod that they make room for
    std::int64_t steps = 0;
    double plan_s = 0.0;                       ///< the time that planning took; filled in by the caller
    std::vector<std::string> not_considered{}; ///< of what is there (explain/not_considered.hpp)
    std::vector<error> warnings{};
};

/// Pods that may move by themselves, and are kept where they are.
struct staying_pods {
    std::vector<kube::kept_pod> by_budgets{};
    std::vector<kube::kept_pod> by_admission{}; ///< what takes their place would not be made
    std::vector<std::string> by_rules{};        ///< rules about other pods are theirs, or look at them
};

/// The pods of the snapshot that may move, that somebody can evict, that are then made again, and that no rule about
/// other pods looks at;
/// requests point into `state`. `objects` are those of the snapshot. `staying` gets the others that may move.
[[nodiscard]] std::vector<vgpualloc::plan::movable_pod> movable_pods(const kube::snapshot& state,
                                                                     const std::vector<kube::manifest>& objects,
                                                                     const kube::mobility& rules,
                                                                     staying_pods* staying = nullptr);

/// Plans room for a pod (plan::find_room), and carries the plan out on a trial of the ledger. Errors: what keeps the
/// pod from being read, or no scheduler of the cluster from serving it.
[[nodiscard]] expected<moves_answer> plan_room(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                               const kube::snapshot_pod& pod, const moves_question& asked);
/// Plans to empty devices or nodes (plan::consolidate), likewise.
[[nodiscard]] moves_answer plan_emptying(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                         vgpualloc::plan::emptied_unit unit, const moves_question& asked);

/// As lines of text, and as a document: docs/defragmentation.md names the members.
[[nodiscard]] std::string moves_text(const moves_answer& answered);
[[nodiscard]] std::string moves_json(const moves_answer& answered);

} // namespace vgpuops::whatif
