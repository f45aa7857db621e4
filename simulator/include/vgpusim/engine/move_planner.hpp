// Who says which pods go elsewhere so that one fits that would be lost.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/plan/move_plan.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpusim {

/// A pod that fits nowhere, and what may be done for it.
struct room_wanted {
    const vgpualloc::ledger* book = nullptr;
    const vgpualloc::pod_request* request = nullptr;
    double tokens = 0.0; ///< moves that may be spent
    /// What a live pod asked for if it may move; null if it may not.
    std::function<const vgpualloc::pod_request*(vgpualloc::pod_id)> movable{};
};

/// Changes nothing: the simulation carries plans out.
class move_planner {
public:
    virtual ~move_planner() = default;
    [[nodiscard]] virtual std::optional<vgpualloc::plan::move_plan> plan(const room_wanted& wanted) = 0;
};

/// By plan/slot_repack.hpp at the prices of `ranking` if that is ssp (STUDY-mig's SSP+M), otherwise the fewest moves,
/// at most moves_max, by plan/defragment.hpp. The policy must outlive the planner.
[[nodiscard]] std::unique_ptr<move_planner> planner_for(vgpualloc::policy& ranking, std::int64_t moves_max);

} // namespace vgpusim
