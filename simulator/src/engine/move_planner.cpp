#include "vgpusim/engine/move_planner.hpp"

#include <algorithm>
#include <vector>

#include "vgpualloc/plan/defragment.hpp"
#include "vgpualloc/plan/slot_repack.hpp"
#include "vgpualloc/policy/ssp.hpp"

namespace vgpusim {

namespace {

using vgpualloc::plan::move_plan;

/// Moves that may be made now.
std::int64_t affordable(const room_wanted& wanted, std::int64_t moves_max) {
    return std::min(moves_max, static_cast<std::int64_t>(wanted.tokens));
}

/// The pods that may move, ascending.
std::vector<vgpualloc::plan::movable_pod> movable_pods(const room_wanted& wanted) {
    std::vector<vgpualloc::plan::movable_pod> pods;
    const vgpualloc::ledger& book = *wanted.book;
    for (std::size_t node = 0; node < book.nodes().nodes.size(); ++node) {
        for (const std::uint32_t slot : book.live_on(vgpualloc::node_index{node})) {
            const vgpualloc::pod_id pod = book.bookings()[slot].pod;
            if (const auto* const request = wanted.movable(pod)) pods.push_back({.pod = pod, .request = request});
        }
    }
    std::ranges::sort(pods, {}, &vgpualloc::plan::movable_pod::pod);
    return pods;
}

/// By plan/defragment.hpp.
class room_planner : public move_planner {
public:
    explicit room_planner(std::int64_t moves_max) : moves_max_{moves_max} {}

    [[nodiscard]] std::optional<move_plan> plan(const room_wanted& wanted) override {
        auto room = vgpualloc::plan::find_room(*wanted.book, *wanted.request, movable_pods(wanted),
                                               {.moves_max = affordable(wanted, moves_max_)});
        if (!room || room->planned.moves.empty()) return std::nullopt;
        return std::move(room->planned);
    }
    [[nodiscard]] std::optional<move_plan> tidy(const room_wanted& wanted) override {
        auto emptying =
            vgpualloc::plan::consolidate(*wanted.book, movable_pods(wanted), vgpualloc::plan::emptied_unit::device,
                                         {.moves_max = affordable(wanted, moves_max_)});
        if (emptying.planned.moves.empty()) return std::nullopt;
        return std::move(emptying.planned);
    }

private:
    std::int64_t moves_max_;
};

/// By plan/slot_repack.hpp.
class slot_planner final : public room_planner {
public:
    slot_planner(vgpualloc::slot_scarcity& prices, std::int64_t moves_max)
        : room_planner{moves_max}, repack_{prices, {.moves_max = moves_max}} {}

    [[nodiscard]] std::optional<move_plan> plan(const room_wanted& wanted) override {
        return repack_.find(
            {.book = wanted.book, .request = wanted.request, .tokens = wanted.tokens, .movable = wanted.movable});
    }

private:
    vgpualloc::plan::slot_repack repack_;
};

} // namespace

std::unique_ptr<move_planner> planner_for(vgpualloc::policy& ranking, std::int64_t moves_max) {
    if (auto* const prices = dynamic_cast<vgpualloc::policies::ssp*>(&ranking)) {
        return std::make_unique<slot_planner>(prices->scarcity(), moves_max);
    }
    return std::make_unique<room_planner>(moves_max);
}

} // namespace vgpusim
