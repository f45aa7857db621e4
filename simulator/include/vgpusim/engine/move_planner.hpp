// Who says which pods go elsewhere so that one fits that would be lost, or so that devices become empty.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/plan/move_plan.hpp"
#include "vgpualloc/policy/policy.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// What is asked of a planner.
struct room_wanted {
    const vgpualloc::ledger* book = nullptr;
    const pod_request* request = nullptr; ///< of a pod that fits nowhere; null: there is none
    double tokens = 0.0;                  ///< moves that may be spent
    /// What a live pod asked for if it may move; null if it may not.
    std::function<const pod_request*(pod_id)> movable{};
};

/// Changes nothing: the simulation carries plans out.
class move_planner {
public:
    virtual ~move_planner() = default;
    /// Moves after which the request fits at move_plan::where.
    [[nodiscard]] virtual std::optional<vgpualloc::plan::move_plan> plan(const room_wanted& wanted) = 0;
    /// Moves after which more devices are empty, or else more nodes; move_plan::where says nothing.
    [[nodiscard]] virtual std::optional<vgpualloc::plan::move_plan> tidy(const room_wanted& wanted) = 0;
};

/// By plan/slot_repack.hpp at the prices of `ranking` if that is ssp (docs/mig.md, "ssp with moves"), otherwise the
/// fewest moves, at most moves_max, by plan/defragment.hpp. Devices are emptied by plan/defragment.hpp in either case.
/// The policy must outlive the planner. Once an end is wanted, the fewest moves and emptied devices are not sought on.
[[nodiscard]] std::unique_ptr<move_planner> planner_for(vgpualloc::policy& ranking, std::int64_t moves_max,
                                                        const stop_signal& stop = {});

} // namespace vgpusim
