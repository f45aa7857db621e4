#include "vgpusim/engine/move_planner.hpp"

#include <algorithm>
#include <vector>

#include "vgpualloc/plan/defragment.hpp"
#include "vgpualloc/plan/slot_repack.hpp"
#include "vgpualloc/policy/ssp.hpp"

namespace vgpusim {

namespace {

using vgpualloc::plan::move_plan;

class slot_planner final : public move_planner {
public:
    slot_planner(vgpualloc::slot_scarcity& prices, std::int64_t moves_max)
        : repack_{prices, {.moves_max = moves_max}} {}

    [[nodiscard]] std::optional<move_plan> plan(const room_wanted& wanted) override {
        return repack_.find(
            {.book = wanted.book, .request = wanted.request, .tokens = wanted.tokens, .movable = wanted.movable});
    }

private:
    vgpualloc::plan::slot_repack repack_;
};

class room_planner final : public move_planner {
public:
    explicit room_planner(std::int64_t moves_max) : moves_max_{moves_max} {}

    [[nodiscard]] std::optional<move_plan> plan(const room_wanted& wanted) override {
        std::vector<vgpualloc::plan::movable_pod> movable;
        for (const vgpualloc::pod_id pod : wanted.book->live_pods()) {
            if (const auto* const request = wanted.movable(pod)) movable.push_back({.pod = pod, .request = request});
        }
        const auto moves = std::min(moves_max_, static_cast<std::int64_t>(wanted.tokens));
        auto room = vgpualloc::plan::find_room(*wanted.book, *wanted.request, movable, {.moves_max = moves});
        if (!room || room->planned.moves.empty()) return std::nullopt;
        return std::move(room->planned);
    }

private:
    std::int64_t moves_max_;
};

} // namespace

std::unique_ptr<move_planner> planner_for(vgpualloc::policy& ranking, std::int64_t moves_max) {
    if (auto* const prices = dynamic_cast<vgpualloc::policies::ssp*>(&ranking)) {
        return std::make_unique<slot_planner>(prices->scarcity(), moves_max);
    }
    return std::make_unique<room_planner>(moves_max);
}

} // namespace vgpusim
