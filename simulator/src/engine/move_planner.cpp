#include "vgpusim/engine/move_planner.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "vgpualloc/plan/defragment.hpp"
#include "vgpualloc/plan/slot_repack.hpp"
#include "vgpualloc/policy/ssp.hpp"

namespace vgpusim {

namespace {

using vgpualloc::plan::emptied_unit;
using vgpualloc::plan::movable_pod;
using vgpualloc::plan::move_budget;
using vgpualloc::plan::move_plan;

/// Moves that may be made now.
std::int64_t affordable(const room_wanted& wanted, std::int64_t moves_max) {
    return std::min(moves_max, static_cast<std::int64_t>(wanted.tokens));
}

/// The pods that may move, ascending.
std::vector<movable_pod> movable_pods(const room_wanted& wanted) {
    std::vector<movable_pod> pods;
    const vgpualloc::ledger& book = *wanted.book;
    for (std::size_t node = 0; node < book.nodes().nodes.size(); ++node) {
        for (const std::uint32_t slot : book.live_on(node_index{node})) {
            const pod_id pod = book.bookings()[slot].owner.pod();
            if (const auto* const request = wanted.movable(pod)) pods.push_back({.pod = pod, .request = request});
        }
    }
    std::ranges::sort(pods, {}, &movable_pod::pod);
    return pods;
}

/// Whether a node with pods on devices could be empty after so many moves if these had somewhere to go. The search for
/// such moves takes much longer than this.
bool some_node_may_empty(const room_wanted& wanted, std::int64_t moves_max) {
    const vgpualloc::ledger& book = *wanted.book;
    for (std::size_t node = 0; node < book.nodes().nodes.size(); ++node) {
        std::int64_t leaving = 0;
        bool stays = false;
        for (const std::uint32_t slot : book.live_on(node_index{node})) {
            const vgpualloc::booking& running = book.bookings()[slot];
            if (running.where.shares.empty()) continue;
            ++leaving;
            stays = stays || wanted.movable(running.owner.pod()) == nullptr;
        }
        if (leaving > 0 && leaving <= moves_max && !stays) return true;
    }
    return false;
}

/// By how many the devices in use are more after the moves.
std::int64_t devices_opened(const vgpualloc::ledger& book, const move_plan& planned) {
    std::map<std::pair<node_index, device_index>, std::int64_t> parts;
    const auto add = [&parts](const vgpualloc::placement& where, std::int64_t count) {
        for (const auto& share : where.shares) parts[{where.node, share.device}] += count;
    };
    for (std::size_t node = 0; node < book.nodes().nodes.size(); ++node) {
        for (const std::uint32_t slot : book.live_on(node_index{node})) add(book.bookings()[slot].where, 1);
    }
    const auto in_use = [&parts] {
        return std::ranges::count_if(parts, [](const auto& device) { return device.second > 0; });
    };
    const auto before = in_use();
    for (const auto& move : planned.moves) {
        add(move.from, -1);
        add(move.to, 1);
    }
    return in_use() - before;
}

/// By plan/defragment.hpp.
class room_planner : public move_planner {
public:
    room_planner(std::int64_t moves_max, const stop_signal& stop) : moves_max_{moves_max}, stop_{stop} {}

    [[nodiscard]] std::optional<move_plan> plan(const room_wanted& wanted) override {
        auto room = vgpualloc::plan::find_room(*wanted.book, *wanted.request, movable_pods(wanted),
                                               {.moves_max = affordable(wanted, moves_max_), .stop = stop_});
        if (!room || room->planned.moves.empty()) return std::nullopt;
        return std::move(room->planned);
    }
    /// No look undoes what one before it did: it leaves fewer nodes in use, or as many nodes and fewer devices.
    [[nodiscard]] std::optional<move_plan> tidy(const room_wanted& wanted) override {
        const auto pods = movable_pods(wanted);
        const move_budget budget{.moves_max = affordable(wanted, moves_max_), .stop = stop_};
        auto emptying = vgpualloc::plan::consolidate(*wanted.book, pods, emptied_unit::device, budget).planned;
        if (emptying.moves.empty() && some_node_may_empty(wanted, budget.moves_max)) {
            emptying = vgpualloc::plan::consolidate(*wanted.book, pods, emptied_unit::node, budget).planned;
            if (devices_opened(*wanted.book, emptying) > 0) return std::nullopt;
        }
        if (emptying.moves.empty()) return std::nullopt;
        return emptying;
    }

private:
    std::int64_t moves_max_;
    stop_signal stop_;
};

/// By plan/slot_repack.hpp.
class slot_planner final : public room_planner {
public:
    slot_planner(vgpualloc::slot_scarcity& prices, std::int64_t moves_max, const stop_signal& stop)
        : room_planner{moves_max, stop}, repack_{prices, {.moves_max = moves_max}} {}

    [[nodiscard]] std::optional<move_plan> plan(const room_wanted& wanted) override {
        return repack_.find(
            {.book = wanted.book, .request = wanted.request, .tokens = wanted.tokens, .movable = wanted.movable});
    }

private:
    vgpualloc::plan::slot_repack repack_;
};

} // namespace

std::unique_ptr<move_planner> planner_for(vgpualloc::policy& ranking, std::int64_t moves_max, const stop_signal& stop) {
    if (auto* const prices = dynamic_cast<vgpualloc::policies::ssp*>(&ranking)) {
        return std::make_unique<slot_planner>(prices->scarcity(), moves_max, stop);
    }
    return std::make_unique<room_planner>(moves_max, stop);
}

} // namespace vgpusim
