// Devices and nodes emptied one after the other, the cheapest first.
#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "board.hpp"
#include "leaving_flow.hpp"
#include "vgpualloc/plan/defragment.hpp"

namespace vgpualloc::plan {

namespace {

/// Devices that are emptied together, and the pods that have a part of one of them.
struct unit_of_devices {
    std::size_t first = 0; ///< places
    std::size_t end = 0;
    std::vector<std::uint32_t> pods;
    ticks downtime;
};

class consolidator {
public:
    consolidator(const ledger& book, std::span<const movable_pod> movable, const move_budget& budget,
                 const move_costs& costs)
        : budget_{&budget}, on_{book, nullptr, movable, costs} {
        on_.steps_left = budget.steps_max;
    }

    consolidation run(emptied_unit unit) {
        for (const unit_of_devices& source : units(unit)) {
            if (!on_.step()) break;
            // Pods may have come to it, or left it, with units before it.
            const auto now = unit_at(source.first, source.end);
            if (now && is_within_budget(*now)) empty(*now);
        }
        result_.steps = budget_->steps_max - std::max<std::int64_t>(on_.steps_left, 0);
        result_.step_limit = on_.steps_left < 0;
        return std::move(result_);
    }

private:
    [[nodiscard]] std::vector<unit_of_devices> units(emptied_unit unit) const {
        std::vector<unit_of_devices> result;
        const auto add = [&](std::size_t first, std::size_t end) {
            if (auto source = unit_at(first, end)) result.push_back(*std::move(source));
        };
        if (unit == emptied_unit::device) {
            for (std::size_t place = 0; place < on_.device_count(); ++place) add(place, place + 1);
        } else {
            for (std::size_t n = 0; n < on_.node_count(); ++n) {
                add(on_.first_of(node_index{n}), on_.end_of(node_index{n}));
            }
        }
        std::ranges::stable_sort(result, [](const unit_of_devices& a, const unit_of_devices& b) {
            return std::pair{a.pods.size(), a.downtime} < std::pair{b.pods.size(), b.downtime};
        });
        return result;
    }

    /// None if the devices have no pods, or one that stays.
    [[nodiscard]] std::optional<unit_of_devices> unit_at(std::size_t first, std::size_t end) const {
        unit_of_devices result{.first = first, .end = end, .pods = {}, .downtime = {}};
        for (std::size_t place = first; place < end; ++place) {
            for (const std::uint32_t pod : on_.residents(place)) {
                // A pod that was moved already is not moved again: its new place was the better one.
                if (!on_.pod(pod).movable || on_.pod(pod).where != on_.pod(pod).from) return std::nullopt;
                if (std::ranges::find(result.pods, pod) != result.pods.end()) continue;
                result.pods.push_back(pod);
                result.downtime += on_.pod(pod).cost.downtime;
            }
        }
        if (result.pods.empty()) return std::nullopt;
        return result;
    }

    [[nodiscard]] bool is_within_budget(const unit_of_devices& source) const {
        const auto moves = std::ssize(result_.planned.moves) + std::ssize(source.pods);
        return moves <= budget_->moves_max && result_.cost.downtime + source.downtime <= budget_->downtime_max;
    }

    /// Pods keep their old places while they are copied, so they go to places that are free beside these.
    void empty(const unit_of_devices& source) {
        for (std::size_t place = source.first; place < source.end; ++place) on_.shut(place);
        // What a pod leaves elsewhere than in the unit is not free yet either.
        std::vector<std::uint32_t> copies;
        for (const std::uint32_t pod : source.pods) copies.push_back(on_.add_copy(pod));
        std::deque<placement> places;
        const bool done = place_by_flow(on_, copies, false, places);
        if (done) {
            for (std::size_t i = copies.size(); i-- > 0;) on_.undo_put(copies[i]);
        }
        for (std::size_t i = 0; i < copies.size(); ++i) on_.drop_copy();
        if (!done) {
            for (std::size_t place = source.first; place < source.end; ++place) on_.open(place);
            return;
        }
        for (std::size_t i = 0; i < source.pods.size(); ++i) {
            const std::uint32_t pod = source.pods[i];
            result_.planned.moves.push_back({.pod = on_.pod(pod).id, .from = *on_.pod(pod).from, .to = places[i]});
            result_.cost.copy += on_.pod(pod).cost.copy;
            result_.cost.downtime += on_.pod(pod).cost.downtime;
            places_.push_back(places[i]);
            on_.lift(pod);
            on_.put(pod, &places_.back());
        }
        ++result_.emptied;
    }

    const move_budget* budget_;
    board on_;
    std::deque<placement> places_; ///< of the pods that were moved
    consolidation result_;
};

} // namespace

consolidation consolidate(const ledger& book, std::span<const movable_pod> movable, emptied_unit unit,
                          const move_budget& budget, const move_costs& costs) {
    return consolidator{book, movable, budget, costs}.run(unit);
}

} // namespace vgpualloc::plan
