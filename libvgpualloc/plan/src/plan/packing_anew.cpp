// Pods packed anew in many orders, and brought there.
#include "packing_anew.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "board.hpp"
#include "emptied_units.hpp"
#include "first_fit_packing.hpp"
#include "move_order.hpp"

namespace vgpualloc::plan {

namespace {

/// All pods packed anew by first fit decreasing, and brought there, also through spare places.
class repacker {
public:
    repacker(const ledger& book, std::span<const movable_pod> movable, emptied_unit unit, const move_budget& budget,
             const move_costs& costs)
        : book_{&book}, movable_{movable}, unit_{unit}, budget_{&budget}, costs_{&costs},
          steps_left_{budget.steps_max} {
        board now = fresh_board();
        for_each_unit(now, unit, [&](std::size_t first, std::size_t end) {
            ranked_unit entry{.places = {.first = first, .end = end}, .is_idle = is_idle(now, first, end)};
            if (entry.is_idle && (unit != emptied_unit::node || first == end)) return; // an idle device gains nothing
            for (std::size_t place = first; place < end; ++place) {
                entry.used += now.spec_of(place).mode->used(now.spec_of(place), now.state_of(place));
                for (const std::uint32_t pod : now.residents(place)) {
                    entry.stays = entry.stays || !now.pod(pod).movable;
                }
            }
            used_before_ += entry.is_idle ? 0 : 1;
            units_.push_back(entry);
        });
        measures_ = measure_requests(now);
        steps_left_ = now.steps_left;
    }

    /// One that leaves fewer units in use than `used_max`, the fewest that are found, and of these with few moves.
    std::optional<consolidation> find(std::int64_t used_min, std::int64_t used_max) {
        const std::vector<packing> packings = pack_in_all_orders(used_min, used_max);
        std::int64_t fewest = used_max;
        for (const packing& packed : packings) fewest = std::min(fewest, packed.used);
        for (std::int64_t used = fewest; used < used_max && steps_left_ > 0; ++used) {
            std::vector<packing> tries;
            for (const packing& packed : packings) {
                if (packed.used != used) continue;
                tries.push_back(packed);
                packing_order order = packed.order;
                order.at_home = true;
                auto at_home = pack(packed.units, order);
                if (at_home && at_home->used <= used) tries.push_back(*std::move(at_home));
            }
            append_packings_of_few(used, tries);
            if (auto plan = carry_out(std::move(tries))) return plan;
        }
        return std::nullopt;
    }

    [[nodiscard]] std::int64_t steps() const { return budget_->steps_max - std::max<std::int64_t>(steps_left_, 0); }

private:
    enum class unit_ranking : std::uint8_t { as_they_are, most_used, largest, smallest };
    static constexpr std::array unit_rankings{unit_ranking::as_they_are, unit_ranking::most_used, unit_ranking::largest,
                                              unit_ranking::smallest};

    struct ranked_unit {
        device_unit places;
        bool is_idle = false;
        milli_gpu used{};
        bool stays = false; ///< a pod of it may not move
    };
    struct packing {
        std::vector<device_unit> units;
        packing_order order;
        final_places finals;
        std::int64_t used = 0; ///< units
        std::int64_t moves = 0;
    };

    [[nodiscard]] board fresh_board() const {
        board on{*book_, nullptr, movable_, *costs_};
        on.steps_left = budget_->stop.raised() ? 0 : steps_left_;
        on.stop = budget_->stop;
        return on;
    }

    /// Those that leave fewer than `used_max` units in use, up to one that leaves `used_min`.
    [[nodiscard]] std::vector<packing> pack_in_all_orders(std::int64_t used_min, std::int64_t used_max) {
        std::vector<packing> packings;
        for (const std::vector<device_unit>& units : all_unit_orders()) {
            for (const packing_order& order : pod_orders()) {
                auto packed = pack(units, order);
                if (!packed || packed->used >= used_max) continue;
                const bool is_least = packed->used <= used_min;
                packings.push_back(*std::move(packed));
                if (is_least) return packings;
            }
        }
        return packings;
    }

    /// Packings into the `used` units with the most use, of which as few as possible are packed anew.
    void append_packings_of_few(std::int64_t used, std::vector<packing>& packings) {
        std::vector<device_unit> filled = sorted_units(unit_ranking::most_used, false);
        filled.resize(std::min(filled.size(), static_cast<std::size_t>(used)));
        for (packing_order order : pod_orders()) {
            for (std::size_t anew = 0; anew < filled.size(); anew = 2 * anew + 2) {
                order.units_kept = filled.size() - anew;
                auto packed = pack(filled, order);
                if (!packed) continue;
                packings.push_back(*std::move(packed));
                break;
            }
        }
    }

    /// Each order once. Idle nodes are among them where they may be larger than nodes in use.
    [[nodiscard]] std::vector<std::vector<device_unit>> all_unit_orders() const {
        const auto devices_in = [](const ranked_unit& unit) { return unit.places.end - unit.places.first; };
        std::size_t largest_idle = 0;
        std::size_t smallest_used = units_.empty() ? 0 : devices_in(units_.front());
        for (const ranked_unit& unit : units_) {
            if (unit.is_idle) largest_idle = std::max(largest_idle, devices_in(unit));
            if (!unit.is_idle) smallest_used = std::min(smallest_used, devices_in(unit));
        }
        std::vector<std::vector<device_unit>> orders;
        for (const bool with_idle : {false, true}) {
            if (with_idle && largest_idle <= smallest_used) continue;
            for (const unit_ranking ranking : unit_rankings) {
                auto units = sorted_units(ranking, with_idle);
                if (std::ranges::find(orders, units) == orders.end()) orders.push_back(std::move(units));
            }
        }
        return orders;
    }

    /// Units that stay in use anyhow come first.
    [[nodiscard]] std::vector<device_unit> sorted_units(unit_ranking ranking, bool with_idle) const {
        std::vector<ranked_unit> units = units_;
        if (!with_idle) std::erase_if(units, [](const ranked_unit& unit) { return unit.is_idle; });
        std::ranges::stable_sort(units, {}, [ranking](const ranked_unit& unit) {
            const auto devices = static_cast<std::int64_t>(unit.places.end - unit.places.first);
            const std::int64_t rank = ranking == unit_ranking::as_they_are ? 0
                                      : ranking == unit_ranking::most_used ? -unit.used.count()
                                      : ranking == unit_ranking::largest   ? -devices
                                                                           : devices;
            return std::pair{unit.stays ? 0 : 1, rank};
        });
        std::vector<device_unit> result;
        for (const ranked_unit& unit : units) result.push_back(unit.places);
        return result;
    }

    /// Those that are different for these pods.
    [[nodiscard]] std::vector<packing_order> pod_orders() const {
        const auto differ = [this](std::int64_t request_measure::* of) {
            std::set<std::int64_t> values;
            for (const request_measure& measure : measures_) {
                if (measure.devices > 0) values.insert(measure.*of);
            }
            return values.size() > 1;
        };
        std::vector<packing_order> orders;
        for (const pods_first first : all_pods_first) {
            if (first == pods_first::of_several_devices && !differ(&request_measure::devices)) continue;
            if (first == pods_first::with_few_nodes && !differ(&request_measure::nodes)) continue;
            for (const pod_size size : pod_sizes) {
                for (const device_choice choice : device_choices) {
                    orders.push_back({.first = first, .size = size, .choice = choice});
                }
            }
        }
        return orders;
    }

    [[nodiscard]] std::optional<packing> pack(const std::vector<device_unit>& units, const packing_order& order) {
        if (steps_left_ <= 0) return std::nullopt;
        board on = fresh_board();
        auto finals = pack_first_fit(on, units, order, measures_);
        steps_left_ = on.steps_left;
        if (!finals) return std::nullopt;
        packing result{
            .units = units, .order = order, .finals = *std::move(finals), .used = used_units(on, unit_), .moves = 0};
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
            if (!moves || std::ssize(*moves) > budget_->moves_max) continue;
            consolidation result;
            result.planned.moves = *std::move(moves);
            result.cost = cost_of_moves(book_->nodes(), result.planned, *costs_);
            result.used = used_before_;
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
    std::vector<ranked_unit> units_; ///< in use, and idle nodes
    std::int64_t used_before_ = 0;
    std::vector<request_measure> measures_;
};

} // namespace

packed_anew pack_anew(const ledger& book, std::span<const movable_pod> movable, emptied_unit unit,
                      const move_budget& budget, const move_costs& costs, std::int64_t used_min,
                      std::int64_t used_max) {
    repacker packing{book, movable, unit, budget, costs};
    packed_anew result;
    result.plan = packing.find(used_min, used_max);
    result.steps = packing.steps();
    return result;
}

} // namespace vgpualloc::plan
