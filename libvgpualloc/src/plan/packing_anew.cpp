// Pods packed anew in many orders, and brought there.
#include "packing_anew.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "board.hpp"
#include "emptied_units.hpp"
#include "first_fit_packing.hpp"
#include "move_order.hpp"

namespace vgpualloc::plan {

namespace {

/// All pods packed anew by first fit decreasing, and brought there: pods may move twice.
class repacker {
public:
    repacker(const ledger& book, std::span<const movable_pod> movable, emptied_unit unit, const move_budget& budget,
             const move_costs& costs)
        : book_{&book}, movable_{movable}, unit_{unit}, budget_{&budget}, costs_{&costs},
          steps_left_{budget.steps_max} {
        const board now = fresh_board();
        for_each_unit(now, unit, [&](std::size_t first, std::size_t end) {
            if (is_idle(now, first, end)) return;
            used_unit entry{.places = {.first = first, .end = end}};
            for (std::size_t place = first; place < end; ++place) {
                entry.used += now.spec_of(place).mode->used(now.spec_of(place), now.state_of(place));
                for (const std::uint32_t pod : now.residents(place)) {
                    entry.stays = entry.stays || !now.pod(pod).movable;
                }
            }
            units_.push_back(entry);
        });
    }

    /// One that leaves fewer units in use than `used_max`, the fewest that are found, and of these with few moves.
    std::optional<consolidation> find(std::int64_t used_max) {
        std::int64_t fewest = used_max;
        std::vector<packing> packings;
        for (const unit_ranking units : unit_rankings) {
            for_each_order([&](const packing_order& order) {
                auto packed = pack(sorted_units(units), order);
                if (!packed || packed->used >= used_max) return;
                fewest = std::min(fewest, packed->used);
                packings.push_back(*std::move(packed));
            });
        }
        for (std::int64_t used = fewest; used < used_max && steps_left_ > 0; ++used) {
            std::vector<packing> tries = packings;
            std::erase_if(tries, [used](const packing& packed) { return packed.used != used; });
            std::vector<used_unit> filled = sorted_units(unit_ranking::most_used);
            filled.resize(static_cast<std::size_t>(used));
            for_each_order([&](packing_order order) {
                for (std::size_t anew = 0; anew < filled.size(); anew = 2 * anew + 2) { // of them packed anew
                    order.units_kept = filled.size() - anew;
                    auto packed = pack(filled, order);
                    if (!packed) continue;
                    tries.push_back(*std::move(packed));
                    break;
                }
            });
            if (auto plan = carry_out(std::move(tries))) return plan;
        }
        return std::nullopt;
    }

    [[nodiscard]] std::int64_t steps() const { return budget_->steps_max - std::max<std::int64_t>(steps_left_, 0); }

private:
    enum class unit_ranking : std::uint8_t { as_they_are, most_used, largest };
    static constexpr std::array unit_rankings{unit_ranking::as_they_are, unit_ranking::most_used,
                                              unit_ranking::largest};

    struct used_unit {
        device_unit places;
        milli_gpu used{};
        bool stays = false; ///< a pod of it may not move
    };
    struct packing {
        final_places finals;
        std::int64_t used = 0; ///< units
        std::int64_t moves = 0;
    };

    [[nodiscard]] board fresh_board() const {
        board on{*book_, nullptr, movable_, *costs_};
        on.steps_left = steps_left_;
        return on;
    }

    /// Units that stay in use anyhow come first.
    [[nodiscard]] std::vector<used_unit> sorted_units(unit_ranking order) const {
        std::vector<used_unit> units = units_;
        std::ranges::stable_sort(units, {}, [order](const used_unit& unit) {
            const auto devices = static_cast<std::int64_t>(unit.places.end - unit.places.first);
            const std::int64_t rank = order == unit_ranking::as_they_are ? 0
                                      : order == unit_ranking::most_used ? -unit.used.count()
                                                                         : -devices;
            return std::pair{unit.stays ? 0 : 1, rank};
        });
        return units;
    }

    template <class Visitor>
    static void for_each_order(Visitor visit) {
        for (const pod_size size : pod_sizes) {
            for (const bool fullest : {false, true}) visit({.size = size, .fullest_device = fullest, .units_kept = 0});
        }
    }

    [[nodiscard]] std::optional<packing> pack(const std::vector<used_unit>& units, const packing_order& order) {
        if (steps_left_ <= 0) return std::nullopt;
        std::vector<device_unit> places;
        for (const used_unit& unit : units) places.push_back(unit.places);
        board on = fresh_board();
        auto finals = pack_first_fit(on, places, order);
        steps_left_ = on.steps_left;
        if (!finals) return std::nullopt;
        packing result{.finals = *std::move(finals), .used = used_units(on, unit_)};
        result.moves = std::ranges::count_if(
            result.finals, [&](const auto& entry) { return entry.second != *on.pod(entry.first).from; });
        return result;
    }

    /// The first of the packings, those with the fewest moves first, that moves within the budget lead to.
    [[nodiscard]] std::optional<consolidation> carry_out(std::vector<packing> packings) {
        constexpr std::size_t tries_max = 48;
        std::ranges::stable_sort(packings, {}, &packing::moves);
        if (packings.size() > tries_max) packings.resize(tries_max);
        for (const packing& packed : packings) {
            if (packed.moves > budget_->moves_max || steps_left_ <= 0) return std::nullopt;
            board on = fresh_board();
            auto moves = order_many_moves(on, packed.finals, budget_->moves_max - packed.moves);
            steps_left_ = on.steps_left;
            if (!moves) continue;
            consolidation result;
            result.planned.moves = *std::move(moves);
            result.cost = cost_of_moves(book_->nodes(), result.planned, *costs_);
            result.used = std::ssize(units_);
            result.emptied = result.used - packed.used;
            if (result.cost.downtime <= budget_->downtime_max) return result;
        }
        return std::nullopt;
    }

    const ledger* book_;
    std::span<const movable_pod> movable_;
    emptied_unit unit_;
    const move_budget* budget_;
    const move_costs* costs_;
    std::int64_t steps_left_;
    std::vector<used_unit> units_; ///< in use
};

} // namespace

packed_anew pack_anew(const ledger& book, std::span<const movable_pod> movable, emptied_unit unit,
                      const move_budget& budget, const move_costs& costs, std::int64_t used_max) {
    repacker packing{book, movable, unit, budget, costs};
    packed_anew result;
    result.plan = packing.find(used_max);
    result.steps = packing.steps();
    return result;
}

} // namespace vgpualloc::plan
