// Arrangements by the number of moves, each pod with a name, and the order in which pods that may wait take their
// places.
#include "vgpualloc/plan/device_repack.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>

#include "vgpualloc/core/bits.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc::plan {

namespace {

constexpr std::int64_t repack_moves_max = 16;

[[nodiscard]] error repack_error(error_code code, std::string field, std::string value, std::string expected_text) {
    return bad_value(code, field, value, std::move(expected_text));
}

[[nodiscard]] expected<void> check_question(const gpu_layouts& states, const std::vector<held_instance>& instances,
                                            std::size_t profile, const repack_options& options) {
    const auto below = [](const char* field, std::size_t value, std::size_t limit) {
        return unexpected(repack_error(error_code::out_of_range, field, std::to_string(value),
                                       "a number below " + std::to_string(limit)));
    };
    mig_places layout = 0;
    for (const held_instance& held : instances) {
        if (held.place >= states.places().size()) return below("place", held.place, states.places().size());
        if ((layout & bit_at(held.place)) != 0) {
            return unexpected(
                repack_error(error_code::duplicate, "place", std::to_string(held.place), "each place once"));
        }
        if (held.weight < 0) {
            return unexpected(
                repack_error(error_code::out_of_range, "weight", std::to_string(held.weight), "0 or more"));
        }
        layout |= bit_at(held.place);
    }
    if (!states.find(layout)) {
        return unexpected(repack_error(error_code::mismatch, "instances", "", "instances that can exist together"));
    }
    if (profile >= states.model().profiles.size()) return below("profile", profile, states.model().profiles.size());
    if (options.moves_max < 0 || options.moves_max > repack_moves_max) {
        return unexpected(repack_error(error_code::out_of_range, "moves", std::to_string(options.moves_max),
                                       "0 to " + std::to_string(repack_moves_max)));
    }
    return {};
}

/// Where each pod is, by its position in the list.
using pod_places = std::vector<std::size_t>;

[[nodiscard]] mig_places layout_of(const pod_places& pods) {
    mig_places layout = 0;
    for (const std::size_t place : pods) layout |= bit_at(place);
    return layout;
}

/// An arrangement with room for what is wanted.
struct answer {
    std::int64_t weight = 0;
    int further = 0; ///< places left afterwards
    mig_places layout = 0;
    std::size_t place = 0;
    pod_places pods;

    [[nodiscard]] bool is_better_than(const answer& other) const {
        return std::tuple{weight, -further, layout, place} <
               std::tuple{other.weight, -other.further, other.layout, other.place};
    }
};

/// `wishes`, each with both places, as steps: a pod moves as soon as its new place may be taken beside all that exist;
/// where no pod can, the first one that has not moved stops and waits. `layout` has the old places; with the new ones
/// it is legal.
[[nodiscard]] std::vector<instance_move> in_order(const gpu_layouts& states, mig_places layout,
                                                  std::vector<instance_move> wishes) {
    std::vector<instance_move> result;
    const auto may_take = [&](std::size_t place) {
        return (states.joinable(states.find(layout).value_or(0)) & bit_at(place)) != 0;
    };
    while (!wishes.empty()) {
        const auto next = std::ranges::find_if(wishes, [&](const instance_move& wish) { return may_take(*wish.to); });
        if (next != wishes.end()) {
            layout |= bit_at(*next->to);
            if (next->from) layout &= ~bit_at(*next->from);
            result.push_back(*next);
            wishes.erase(next);
            continue;
        }
        const auto stopped =
            std::ranges::find_if(wishes, [](const instance_move& wish) { return wish.from.has_value(); });
        VGA_ASSERT(stopped != wishes.end(), "pods that all wait find their places in a legal arrangement");
        layout &= ~bit_at(*stopped->from);
        result.push_back({stopped->instance, stopped->from, std::nullopt});
        stopped->from.reset();
    }
    return result;
}

class searching {
public:
    searching(const gpu_layouts& states, const std::vector<held_instance>& instances, std::size_t profile)
        : states_{&states}, instances_{&instances}, wanted_{states.places_of(profile)} {
        for (const held_instance& held : instances) start_.push_back(held.place);
    }

    /// Both places of a moved pod exist at once: arrangements by the number of moves, level by level.
    [[nodiscard]] std::optional<device_repack> one_by_one(std::int64_t moves_max) {
        levels_.assign(1, {{start_, reached{}}});
        for (std::int64_t moves = 0;; ++moves) {
            best_.reset();
            for (const auto& [pods, how] : levels_.back()) look_at(pods, how.weight);
            if (best_) return one_by_one_steps(moves);
            if (moves == moves_max || levels_.back().empty()) return std::nullopt;
            add_level();
        }
    }

    /// Pods may wait, so that any arrangement is reached with one move for each pod that has another place in it.
    [[nodiscard]] std::optional<device_repack> at_once(std::int64_t moves_max) {
        for (std::int64_t moves = 0; moves <= moves_max && moves <= std::ssize(start_); ++moves) {
            best_.reset();
            choose_moved({}, 0, moves, 0);
            if (best_) return steps_at_once(moves);
        }
        return std::nullopt;
    }

private:
    /// How an arrangement of one level was reached from one of the level before.
    struct reached {
        std::int64_t weight = 0;
        const pod_places* before = nullptr;
        std::size_t pod = 0;
    };
    using level = std::map<pod_places, reached>;

    void look_at(const pod_places& pods, std::int64_t weight) {
        const mig_places layout = layout_of(pods);
        const auto state = states_->find(layout);
        if (!state) return;
        for_each_bit(states_->joinable(*state) & wanted_, [&](std::size_t place) {
            const mig_places after = layout | bit_at(place);
            const int further = std::popcount(states_->joinable(states_->find(after).value_or(0)));
            answer possible{weight, further, after, place, pods};
            if (!best_ || possible.is_better_than(*best_)) best_ = std::move(possible);
        });
    }

    void add_level() {
        level next;
        for (const auto& [pods, how] : levels_.back()) {
            const mig_places open = states_->joinable(states_->find(layout_of(pods)).value_or(0));
            for (std::size_t pod = 0; pod < pods.size(); ++pod) {
                const held_instance& held = (*instances_)[pod];
                if (!held.may_move) continue;
                for_each_bit(open & states_->places_of(states_->profile_of(held.place)), [&](std::size_t place) {
                    pod_places moved = pods;
                    moved[pod] = place;
                    const bool known = std::ranges::any_of(levels_, [&](const level& l) { return l.contains(moved); });
                    if (known) return; // with fewer moves
                    const reached now{how.weight + held.weight, &pods, pod};
                    const auto [entry, added] = next.try_emplace(std::move(moved), now);
                    if (!added && now.weight < entry->second.weight) entry->second = now;
                });
            }
        }
        levels_.push_back(std::move(next));
    }

    [[nodiscard]] device_repack one_by_one_steps(std::int64_t moves) const {
        device_repack result = without_steps(moves);
        const pod_places* pods = &best_->pods;
        for (std::size_t depth = levels_.size() - 1; depth > 0; --depth) {
            const reached& how = levels_[depth].at(*pods);
            result.steps.push_back({.instance = how.pod, .from = (*how.before)[how.pod], .to = (*pods)[how.pod]});
            pods = how.before;
        }
        std::ranges::reverse(result.steps);
        return result;
    }

    /// Every choice of `left` more pods, those from `pod` on.
    void choose_moved(std::vector<std::size_t> moved, std::size_t pod, std::int64_t left, std::int64_t weight) {
        if (best_ && weight > best_->weight) return;
        if (left == 0) {
            mig_places staying = layout_of(start_);
            for (const std::size_t chosen : moved) staying &= ~bit_at(start_[chosen]);
            place_moved(start_, staying, moved, weight);
            return;
        }
        for (; pod < start_.size(); ++pod) {
            if (!(*instances_)[pod].may_move) continue;
            auto more = moved;
            more.push_back(pod);
            choose_moved(std::move(more), pod + 1, left - 1, weight + (*instances_)[pod].weight);
        }
    }
    /// Every other place for each of `moved`, the last of them first, beside the instances that are placed.
    void place_moved(const pod_places& pods, mig_places placed, std::vector<std::size_t> moved, std::int64_t weight) {
        if (moved.empty()) return look_at(pods, weight);
        const std::size_t pod = moved.back();
        moved.pop_back();
        const mig_places open = states_->joinable(states_->find(placed).value_or(0));
        const mig_places own = states_->places_of(states_->profile_of(start_[pod])) & ~bit_at(start_[pod]);
        for_each_bit(open & own, [&](std::size_t place) {
            pod_places next = pods;
            next[pod] = place;
            place_moved(next, placed | bit_at(place), moved, weight);
        });
    }

    [[nodiscard]] device_repack steps_at_once(std::int64_t moves) const {
        device_repack result = without_steps(moves);
        std::vector<instance_move> wishes;
        for (std::size_t pod = 0; pod < start_.size(); ++pod) {
            if (start_[pod] != best_->pods[pod]) wishes.push_back({pod, start_[pod], best_->pods[pod]});
        }
        result.steps = in_order(*states_, layout_of(start_), std::move(wishes));
        return result;
    }

    [[nodiscard]] device_repack without_steps(std::int64_t moves) const {
        return {.steps = {}, .moves = moves, .weight = best_->weight, .place = best_->place, .layout = best_->layout};
    }

    const gpu_layouts* states_;
    const std::vector<held_instance>* instances_;
    mig_places wanted_;
    pod_places start_;
    std::vector<level> levels_; ///< by the number of moves
    std::optional<answer> best_;
};

} // namespace

expected<std::optional<device_repack>> repack_device(const gpu_layouts& states,
                                                     const std::vector<held_instance>& instances, std::size_t profile,
                                                     const repack_options& options) {
    if (const auto right = check_question(states, instances, profile, options); !right) {
        return unexpected(right.error());
    }
    searching search{states, instances, profile};
    return options.may_wait ? search.at_once(options.moves_max) : search.one_by_one(options.moves_max);
}

std::vector<held_instance> held_by(const gpu_layouts& states, mig_places layout) {
    std::vector<held_instance> result;
    for_each_bit(layout, [&](std::size_t place) {
        result.push_back({.place = place, .may_move = true, .weight = states.places()[place].size.count()});
    });
    return result;
}

} // namespace vgpualloc::plan
