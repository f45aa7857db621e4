// The layouts that every layout can come to, found once.
#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "plan/place_bits.hpp"
#include "plan/repack_order.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/plan/device_repack.hpp"

namespace vgpualloc::plan {

namespace {

[[nodiscard]] std::int64_t units_in(const mig_states& states, mig_places layout) {
    std::int64_t units = 0;
    for_each_place(layout, [&](std::size_t place) { units += states.places()[place].size.count(); });
    return units;
}

[[nodiscard]] auto order_of(const repack_target& target) {
    return std::tuple{target.moves, target.units, target.layout, target.place};
}

} // namespace

repack_table::repack_table(const mig_states& states, const repack_options& options)
    : states_{&states}, options_{options} {}

const std::vector<repack_target>& repack_table::targets(mig_places layout, std::size_t profile) {
    const auto known = targets_.find({layout, profile});
    if (known != targets_.end()) return known->second;
    std::vector<repack_target> found;
    if (options_.may_wait) {
        add_any(found, layout, profile);
    } else {
        add_reached(found, layout, profile);
    }
    // Of the ways to one layout the best is kept.
    std::ranges::sort(found, {},
                      [](const repack_target& target) { return std::tuple{target.layout, order_of(target)}; });
    const auto same = std::ranges::unique(found, {}, &repack_target::layout);
    found.erase(same.begin(), same.end());
    std::ranges::sort(found, {}, [](const repack_target& target) { return order_of(target); });
    return targets_.emplace(std::pair{layout, profile}, std::move(found)).first->second;
}

void repack_table::add_reached(std::vector<repack_target>& found, mig_places layout, std::size_t profile) {
    const auto state = states_->find(layout);
    VGA_ASSERT(state.has_value(), "a repacked layout is legal");
    for (const arrangement& reached : arrangements_of(*state)) {
        for_each_place(states_->joinable(reached.state) & states_->places_of(profile), [&](std::size_t place) {
            found.push_back({.layout = states_->layout(reached.state) | bit_at(place),
                             .place = place,
                             .moves = reached.moves,
                             .units = reached.units});
        });
    }
}

void repack_table::add_any(std::vector<repack_target>& found, mig_places layout, std::size_t profile) const {
    const auto state = states_->find(layout);
    VGA_ASSERT(state.has_value(), "a repacked layout is legal");
    auto counts = states_->counts_of(states_->multiset_of(*state));
    ++counts[profile];
    const auto multiset = states_->find_multiset(counts);
    if (!multiset) return;
    for (std::size_t other = 0; other < states_->size(); ++other) {
        if (states_->multiset_of(other) != *multiset) continue;
        const mig_places after = states_->layout(other);
        const mig_places left = layout & ~after;
        if (std::popcount(left) > options_.moves_max) continue;
        found.push_back({.layout = after,
                         .place = lowest_bit(after & ~layout & states_->places_of(profile)),
                         .moves = std::popcount(left),
                         .units = units_in(*states_, left)});
    }
}

const repack_table::arrangements& repack_table::arrangements_of(std::size_t state) {
    const auto known = arrangements_.find(state);
    if (known != arrangements_.end()) return known->second;
    return arrangements_.emplace(state, find_arrangements(state)).first->second;
}

repack_table::arrangements repack_table::find_arrangements(std::size_t state) const {
    constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
    arrangements result{{.state = state}};
    std::vector<std::size_t> position(states_->size(), nowhere); // by state
    position[state] = 0;
    std::size_t level_begins = 0;
    for (std::int64_t moves = 1; moves <= options_.moves_max; ++moves) {
        const std::size_t level_ends = result.size();
        for (std::size_t before = level_begins; before < level_ends; ++before) {
            const mig_places layout = states_->layout(result[before].state);
            for_each_place(states_->joinable(result[before].state), [&](std::size_t to) {
                for_each_place(layout & states_->places_of(states_->profile_of(to)), [&](std::size_t from) {
                    const std::size_t next = states_->find((layout | bit_at(to)) & ~bit_at(from)).value_or(0);
                    const std::int64_t units = result[before].units + states_->places()[to].size.count();
                    const arrangement reached{next, moves, units, before, from, to};
                    if (position[next] == nowhere) {
                        position[next] = result.size();
                        result.push_back(reached);
                    } else if (result[position[next]].moves == moves && units < result[position[next]].units) {
                        result[position[next]] = reached;
                    }
                });
            });
        }
        level_begins = level_ends;
    }
    return result;
}

device_repack repack_table::steps_to(mig_places layout, const repack_target& target) {
    device_repack result{
        .steps = {}, .moves = target.moves, .weight = target.units, .place = target.place, .layout = target.layout};
    std::vector<std::size_t> places; // of the instances, by their numbers
    for_each_place(layout, [&](std::size_t place) { places.push_back(place); });
    const mig_places after = target.layout & ~bit_at(target.place);
    if (options_.may_wait) {
        std::vector<instance_move> wishes;
        mig_places open = after & ~layout;
        for (std::size_t i = 0; i < places.size(); ++i) {
            if ((after & bit_at(places[i])) != 0) continue;
            const std::size_t to = lowest_bit(open & states_->places_of(states_->profile_of(places[i])));
            open &= ~bit_at(to);
            wishes.push_back({i, places[i], to});
        }
        result.steps = in_order(*states_, layout, std::move(wishes));
        return result;
    }
    const arrangements& all = arrangements_of(states_->find(layout).value_or(0));
    const auto last =
        std::ranges::find_if(all, [&](const arrangement& reached) { return states_->layout(reached.state) == after; });
    VGA_ASSERT(last != all.end(), "a target is one of the layout's");
    for (const arrangement* reached = &*last; reached->moves > 0; reached = &all[reached->before]) {
        result.steps.push_back({.instance = 0, .from = reached->from, .to = reached->to});
    }
    std::ranges::reverse(result.steps);
    for (instance_move& step : result.steps) {
        step.instance = static_cast<std::size_t>(std::ranges::find(places, *step.from) - places.begin());
        places[step.instance] = *step.to;
    }
    return result;
}

} // namespace vgpualloc::plan
