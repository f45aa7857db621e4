// Devices and nodes emptied one after the other, the cheapest first.
#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "board.hpp"
#include "emptied_units.hpp"
#include "leaving_flow.hpp"
#include "packing_anew.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/model/requested_amount.hpp"
#include "vgpualloc/plan/defragment.hpp"

namespace vgpualloc::plan {

namespace {

/// Devices that are emptied together, and the pods that have a part of one of them.
struct unit_of_devices {
    std::size_t first = 0; ///< places
    std::size_t end = 0;
    std::vector<std::uint32_t> pods;
    ticks downtime;
    milli_gpu used; ///< of all its devices
};

/// Which units are emptied first. No order is the best for all clusters, and a search is cheap: by pods, by use, and by
/// use that is changed by up to a half at random (from a fixed seed).
enum class source_order : std::uint8_t { fewest_pods, least_used, about_least_used };
constexpr int orders_tried = 8;

class consolidator {
public:
    consolidator(const ledger& book, std::span<const movable_pod> movable, const move_budget& budget,
                 const move_costs& costs)
        : budget_{&budget}, movable_{movable}, on_{book, nullptr, movable, costs} {
        on_.steps_left = budget.steps_max;
        on_.stop = budget.stop;
    }

    /// `seed` is of the random order.
    consolidation run(emptied_unit unit, source_order order, std::uint64_t seed) {
        stream_ = rng{seed};
        const std::int64_t used_before = used_units(on_, unit);
        opens_idle_ = unit == emptied_unit::node;
        if (opens_idle_) shut_idle_nodes(); // a node for a node gains nothing; an idle device of a used one does
        // What one unit leaves may be what another one lacked before.
        while (empty_some(units(unit, order))) {
        }
        result_.used = used_before;
        result_.emptied =
            used_before - used_units(on_, unit); // a pod that goes may have been the only one of others too
        result_.steps = budget_->steps_max - std::max<std::int64_t>(on_.steps_left, 0);
        result_.step_limit = on_.steps_left < 0;
        return std::move(result_);
    }

    /// Units that stay in use whatever moves: those with a pod that stays, and as many as it takes to hold the memory
    /// and the compute that the others ask for. That parts have to fit on single devices is left out.
    [[nodiscard]] std::int64_t least_used_units(emptied_unit unit) const {
        std::int64_t held = 0;           // by pods that stay
        std::vector<std::int64_t> sizes; // of units, in devices
        for_each_unit(on_, unit, [&](std::size_t first, std::size_t end) {
            bool stays = false;
            for (std::size_t place = first; place < end; ++place) {
                for (const std::uint32_t pod : on_.residents(place)) stays = stays || !on_.pod(pod).movable;
            }
            if (stays) ++held;
            sizes.push_back(static_cast<std::int64_t>(end - first));
        });
        std::ranges::sort(sizes, std::greater{});
        constexpr double rounding = 1e-6; // of the sum
        double left = devices_taken() - rounding;
        std::int64_t least = 0;
        for (; left > 0.0 && least < std::ssize(sizes); ++least) {
            left -= static_cast<double>(sizes[static_cast<std::size_t>(least)]);
        }
        return std::max(held, least);
    }

private:
    /// By the pods that may move: the larger of the sums of memory and of compute.
    [[nodiscard]] double devices_taken() const {
        requested_amounts requested_of{on_.book().nodes()};
        gpus_taken sum;
        for (const movable_pod& pod : movable_) sum += gpus_of(requested_of.of(*pod.request));
        return sum.larger();
    }

    void shut_idle_nodes() {
        for_each_unit(on_, emptied_unit::node, [this](std::size_t first, std::size_t end) {
            if (!is_idle(on_, first, end)) return;
            for (std::size_t place = first; place < end; ++place) on_.shut(place);
        });
    }

    /// One pass through the units; whether any was emptied.
    bool empty_some(const std::vector<unit_of_devices>& sources) {
        bool any = false;
        for (const unit_of_devices& source : sources) {
            if (!on_.step()) return false;
            // Pods may have come to it, or left it, with units before it.
            const auto now = unit_at(source.first, source.end);
            if (now && is_within_budget(*now) && empty(*now)) any = true;
        }
        return any;
    }

    [[nodiscard]] std::vector<unit_of_devices> units(emptied_unit unit, source_order order) {
        std::vector<unit_of_devices> result;
        for_each_unit(on_, unit, [&](std::size_t first, std::size_t end) {
            if (auto source = unit_at(first, end)) result.push_back(*std::move(source));
        });
        if (order == source_order::about_least_used) {
            constexpr std::uint64_t percent = 100;
            for (unit_of_devices& source : result) {
                const auto factor = static_cast<std::int64_t>(percent / 2 + stream_.below(percent + 1));
                source.used = milli_gpu{source.used.count() * factor};
            }
        }
        const auto key = [order](const unit_of_devices& source) {
            const auto pods = static_cast<std::int64_t>(source.pods.size());
            const std::int64_t used = source.used.count();
            return order == source_order::fewest_pods ? std::tuple{pods, source.downtime, used}
                                                      : std::tuple{used, source.downtime, pods};
        };
        std::ranges::stable_sort(result, {}, key);
        return result;
    }

    /// None if the devices have no pods, or one that stays.
    [[nodiscard]] std::optional<unit_of_devices> unit_at(std::size_t first, std::size_t end) const {
        unit_of_devices result{.first = first, .end = end, .pods = {}, .downtime = {}, .used = {}};
        for (std::size_t place = first; place < end; ++place) {
            result.used += on_.spec_of(place).mode->used(on_.spec_of(place), on_.state_of(place));
            for (const std::uint32_t pod : on_.residents(place)) {
                // Of a device's pods one that was moved stays: what it left beside the device, others may have got.
                if (!on_.pod(pod).movable || (is_moved(pod) && !opens_idle_)) return std::nullopt;
                if (std::ranges::find(result.pods, pod) != result.pods.end()) continue;
                result.pods.push_back(pod);
                if (!is_moved(pod)) result.downtime += on_.pod(pod).cost.downtime;
            }
        }
        if (result.pods.empty()) return std::nullopt;
        return result;
    }

    [[nodiscard]] bool is_moved(std::uint32_t pod) const { return on_.pod(pod).where != on_.pod(pod).from; }

    [[nodiscard]] bool is_within_budget(const unit_of_devices& source) const {
        const auto more = std::ranges::count_if(source.pods, [this](std::uint32_t pod) { return !is_moved(pod); });
        return std::ssize(result_.planned.moves) + more <= budget_->moves_max &&
               result_.cost.downtime + source.downtime <= budget_->downtime_max;
    }

    /// Pods keep their old places while they are copied, so they go to places that are free beside these.
    bool empty(const unit_of_devices& source) {
        for (std::size_t place = source.first; place < source.end; ++place) on_.shut(place);
        // What a pod leaves elsewhere than in the unit is not free yet either.
        std::vector<std::uint32_t> copies;
        for (const std::uint32_t pod : source.pods) copies.push_back(on_.add_copy(pod));
        std::deque<placement> places;
        const bool done = place_by_flow(on_, copies, opens_idle_, places);
        if (done) {
            for (std::size_t i = copies.size(); i-- > 0;) on_.undo_put(copies[i]);
        }
        for (std::size_t i = 0; i < copies.size(); ++i) on_.drop_copy();
        if (!done) {
            for (std::size_t place = source.first; place < source.end; ++place) on_.open(place);
            return false;
        }
        for (std::size_t i = 0; i < source.pods.size(); ++i) move(source.pods[i], places[i]);
        return true;
    }

    /// A pod that has moved before goes straight to its last place instead, later: all that it leaves is of a node that
    /// was emptied, so that nobody was to come there, and the place between stays free.
    void move(std::uint32_t pod, const placement& to) {
        if (is_moved(pod)) {
            std::erase_if(result_.planned.moves,
                          [&](const pod_move& move) { return move.pod == on_.pod(pod).id.pod(); });
        } else {
            result_.cost.copy += on_.pod(pod).cost.copy;
            result_.cost.downtime += on_.pod(pod).cost.downtime;
        }
        result_.planned.moves.push_back({.pod = on_.pod(pod).id.pod(), .from = *on_.pod(pod).from, .to = to});
        places_.push_back(to);
        on_.lift(pod);
        on_.put(pod, &places_.back());
    }

    const move_budget* budget_;
    std::span<const movable_pod> movable_;
    board on_;
    bool opens_idle_ = false;
    rng stream_{0};
    std::deque<placement> places_; ///< of the pods that were moved
    consolidation result_;
};

} // namespace

std::string_view to_string(units_bound bound) noexcept { return bound == units_bound::lp ? "lp" : "amounts"; }

consolidation consolidate(const ledger& book, std::span<const movable_pod> movable, emptied_unit unit,
                          const move_budget& budget, const move_costs& costs,
                          const std::function<std::int64_t()>& used_min_by_lp) {
    const auto rank = [](const consolidation& plan) {
        return std::tuple{-plan.emptied, std::ssize(plan.planned.moves), plan.cost.downtime};
    };
    consolidation best;
    std::int64_t by_amounts = 0;
    std::int64_t steps = 0;
    bool step_limit = false;
    for (int attempt = 0; attempt < orders_tried && !step_limit; ++attempt) {
        move_budget left = budget;
        left.steps_max = budget.steps_max - steps;
        const auto order = static_cast<source_order>(std::min(attempt, 2));
        consolidator consolidating{book, movable, left, costs};
        if (attempt == 0) by_amounts = consolidating.least_used_units(unit); // of every attempt
        consolidation plan = consolidating.run(unit, order, static_cast<std::uint64_t>(attempt));
        steps += plan.steps;
        step_limit = plan.step_limit;
        if (attempt == 0 || rank(plan) < rank(best)) best = std::move(plan);
        // Beyond the better bound a further order may still find fewer moves.
        if (best.used - best.emptied <= by_amounts) break;
    }
    const bool is_proved = best.used - best.emptied <= by_amounts;
    const std::int64_t by_lp = !is_proved && used_min_by_lp ? used_min_by_lp() : 0;
    const std::int64_t used_min = std::max(by_amounts, by_lp);
    if (!step_limit && best.used - best.emptied > used_min) {
        move_budget left = budget;
        left.steps_max = budget.steps_max - steps;
        auto anew = pack_anew(book, movable, unit, left, costs, used_min, best.used - best.emptied);
        if (anew.plan) best = *std::move(anew.plan);
        steps += anew.steps;
        step_limit = anew.steps >= left.steps_max && best.used - best.emptied > used_min;
    }
    best.used_min = used_min;
    best.used_min_by = used_min > by_amounts ? units_bound::lp : units_bound::amounts;
    best.steps = steps;
    best.step_limit = step_limit;
    return best;
}

} // namespace vgpualloc::plan
