// Room for one pod: first with one move, then with all that leave going directly to free places, then with chains of
// moves, exhaustively up to exact_moves_max.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "board.hpp"
#include "leaving_flow.hpp"
#include "move_order.hpp"
#include "room_options.hpp"
#include "vgpualloc/plan/defragment.hpp"

namespace vgpualloc::plan {

namespace {

struct candidate_plan {
    move_plan planned;
    plan_cost cost;
};

class room_search {
public:
    room_search(const ledger& book, const pod_request& blocked, std::span<const movable_pod> movable,
                const move_budget& budget, const move_costs& costs)
        : budget_{&budget}, costs_{&costs}, on_{book, &blocked, movable, costs} {
        on_.steps_left = budget.steps_max;
        on_.stop = budget.stop;
    }

    expected<found_room, no_room> find() {
        if (fits_already()) return answer(true);
        start_.emplace(on_);
        const std::int64_t exact = std::min(budget_->moves_max, exact_moves_max);
        std::int64_t ruled_out = 0; // plans of so many moves, or fewer
        if (exact >= 1 && search(1)) return answer(true);
        if (exact >= 1 && !out_of_steps()) ruled_out = 1;
        if (budget_->moves_max > 1) {
            share_steps(budget_->steps_max / 2);
            go_directly();
            return_steps();
            improving_ = false;
        }
        for (std::int64_t moves = 2; moves <= exact; ++moves) {
            const std::int64_t known = best_ ? std::ssize(best_->planned.moves) : budget_->moves_max + 1;
            if (moves > known || out_of_steps()) break;
            if (search(moves)) return answer(ruled_out == moves - 1);
            if (out_of_steps()) break;
            ruled_out = moves;
        }
        if (best_) return answer(ruled_out + 1 == std::ssize(best_->planned.moves));
        return unexpected(no_room{.reason = why_none(ruled_out), .moves_ruled_out = ruled_out, .steps = steps()});
    }

private:
    [[nodiscard]] bool out_of_steps() const { return on_.steps_left < 0 || start_->steps_left < 0; }
    [[nodiscard]] std::int64_t steps() const {
        const std::int64_t of_start = start_ ? budget_->steps_max - std::max<std::int64_t>(start_->steps_left, 0) : 0;
        return budget_->steps_max - std::max<std::int64_t>(on_.steps_left, 0) + of_start;
    }
    /// Leaves a part of the steps for one attempt, and gives back what it did not need.
    void share_steps(std::int64_t most) {
        const std::int64_t kept = std::max<std::int64_t>(on_.steps_left - most, 0);
        kept_ = kept;
        on_.steps_left -= kept;
    }
    void return_steps() { on_.steps_left = std::max<std::int64_t>(on_.steps_left, 0) + kept_; }

    [[nodiscard]] no_room_reason why_none(std::int64_t ruled_out) const {
        if (ruled_out >= budget_->moves_max) {
            return over_downtime_ ? no_room_reason::over_downtime : no_room_reason::none_within_moves;
        }
        return out_of_steps() ? no_room_reason::step_limit : no_room_reason::not_found;
    }

    [[nodiscard]] found_room answer(bool fewest) const {
        return {.planned = best_->planned, .cost = best_->cost, .fewest_moves = fewest, .steps = steps()};
    }

    bool fits_already() {
        return !for_each_free_place(on_, on_.blocked(), [&](const placement& where) {
            best_ = candidate_plan{.planned = {.moves = {}, .where = where}, .cost = {}};
            return false;
        });
    }

    // ---- exhaustively

    /// Plans of exactly so many moves; true if one was found.
    bool search(std::int64_t moves) {
        level_ = moves;
        hand_ = {on_.blocked()};
        const bool is_known = best_ && std::ssize(best_->planned.moves) == moves;
        if (is_known) look_for_cheaper();
        expand();
        hand_.clear();
        return best_ && std::ssize(best_->planned.moves) == moves;
    }

    /// Whether the walk ends: out of steps, or nothing better is looked for any more.
    [[nodiscard]] bool ends() const { return out_of_steps() || (improving_ && on_.steps_left < improve_until_); }

    /// A plan that costs at least so much is of no use: too dear, or not cheaper than the one that is known.
    [[nodiscard]] bool is_too_dear(ticks downtime) {
        if (downtime > budget_->downtime_max) {
            over_downtime_ = true;
            return true;
        }
        return best_ && std::ssize(best_->planned.moves) <= level_ && downtime >= best_->cost.downtime;
    }

    /// Places one of the pods that are in hand in every way, and then the others.
    void expand() {
        if (ends()) return;
        if (hand_.empty()) {
            finish();
            return;
        }
        const std::int64_t left = level_ - static_cast<std::int64_t>(moved_.size());
        const auto next = next_in_hand(left == 0);
        if (!next) return;
        const std::uint32_t pod = hand_[*next];
        hand_.erase(hand_.begin() + static_cast<std::ptrdiff_t>(*next));
        if (pod != on_.blocked()) {
            const auto put_on = [&](const placement& where) {
                put_and_expand(pod, where);
                return !ends();
            };
            for_each_free_place(on_, pod, put_on, later_after(0));
        }
        for (std::int64_t leaving = 1; leaving <= left && !ends(); ++leaving) expand_with(pod, leaving);
        hand_.insert(hand_.begin() + static_cast<std::ptrdiff_t>(*next), pod);
    }

    /// The position of one that has no free place, if there is one, since it leaves the least choice; the last one
    /// otherwise. None if one has no place and no more pods may leave.
    [[nodiscard]] std::optional<std::size_t> next_in_hand(bool none_may_leave) {
        if (hand_.size() == 1) return 0;
        for (std::size_t i = 0; i < hand_.size(); ++i) {
            if (has_free_place(on_, hand_[i])) continue;
            if (none_may_leave) return std::nullopt;
            return i;
        }
        return hand_.size() - 1;
    }

    /// Whether further pods may be taken up once so many more are.
    [[nodiscard]] later_moves later_after(std::int64_t leaving) const {
        return std::ssize(moved_) + leaving < level_ ? later_moves::some : later_moves::none;
    }

    void put_and_expand(std::uint32_t pod, const placement& where) {
        const placement* const origin = on_.pod(pod).from;
        if (origin != nullptr && *origin == where) return;
        places_.push_back(where);
        on_.put(pod, &places_.back());
        expand();
        on_.undo_put(pod);
        places_.pop_back();
    }

    void expand_with(std::uint32_t pod, std::int64_t leaving) {
        std::vector<room_option> options;
        for (std::size_t n = 0; n < on_.node_count() && !ends(); ++n) {
            append_options(on_, pod, node_index{n}, static_cast<std::size_t>(leaving), options, later_after(leaving));
        }
        for (const std::size_t i : promising_first(options)) {
            if (ends()) return;
            take_up(pod, options[i]);
        }
    }

    /// Positions of options: those whose pods each have a free place before the others, then the cheaper ones.
    [[nodiscard]] std::vector<std::size_t> promising_first(const std::vector<room_option>& options) {
        std::map<std::uint32_t, bool> has_place; // by request
        const auto stays_up = [&](std::uint32_t pod) {
            const auto [at, is_new] = has_place.try_emplace(on_.pod(pod).request, false);
            if (is_new) at->second = has_free_place(on_, pod);
            return !at->second;
        };
        std::vector<std::pair<std::pair<bool, ticks>, std::size_t>> keys;
        for (std::size_t i = 0; i < options.size(); ++i) {
            ticks downtime;
            bool hard = false;
            for (const std::uint32_t pod : options[i].leaving) {
                downtime += on_.pod(pod).cost.downtime;
                hard = hard || stays_up(pod);
            }
            keys.push_back({{hard, downtime}, i});
        }
        std::ranges::sort(keys);
        std::vector<std::size_t> order;
        for (const auto& [key, position] : keys) order.push_back(position);
        return order;
    }

    void take_up(std::uint32_t pod, const room_option& option) {
        ticks downtime = moved_downtime_;
        for (const std::uint32_t leaving : option.leaving) downtime += on_.pod(leaving).cost.downtime;
        if (!on_.step() || is_too_dear(downtime)) return;
        const ticks before = std::exchange(moved_downtime_, downtime);
        for (const std::uint32_t leaving : option.leaving) {
            on_.lift(leaving);
            hand_.push_back(leaving);
            moved_.push_back(leaving);
        }
        set_movable(option, false);
        put_and_expand(pod, option.where);
        set_movable(option, true);
        for (std::size_t i = option.leaving.size(); i-- > 0;) {
            on_.undo_lift(option.leaving[i], on_.pod(option.leaving[i]).from);
            hand_.pop_back();
            moved_.pop_back();
        }
        moved_downtime_ = before;
    }

    /// A pod that has been put down is not taken up again.
    void set_movable(const room_option& option, bool movable) {
        for (const std::uint32_t pod : option.leaving) on_.pods()[pod].movable = movable;
    }

    /// All pods have places: looks for an order and keeps the plan if it is better.
    void finish() {
        final_places finals;
        for (const std::uint32_t pod : moved_) finals.emplace(pod, *on_.pod(pod).where);
        finals.emplace(on_.blocked(), *on_.pod(on_.blocked()).where);
        keep_if_better(finals, level_ - static_cast<std::int64_t>(moved_.size()));
    }

    bool keep_if_better(const final_places& finals, std::int64_t hops_max) {
        auto moves = order_moves(*start_, finals, hops_max);
        if (!moves) return false;
        candidate_plan found{.planned = {.moves = *std::move(moves), .where = finals.at(on_.blocked())}, .cost = {}};
        found.cost = cost_of_moves(on_.book().nodes(), found.planned, *costs_);
        if (found.cost.downtime > budget_->downtime_max) {
            over_downtime_ = true;
            return false;
        }
        const auto rank = [](const candidate_plan& plan) {
            return std::pair{plan.planned.moves.size(), plan.cost.downtime};
        };
        if (best_ && rank(*best_) <= rank(found)) return false;
        best_ = std::move(found);
        look_for_cheaper();
        return true;
    }

    /// What is left to look for is a cheaper plan of as many moves, which is worth a part of the steps.
    void look_for_cheaper() {
        improving_ = true;
        improve_until_ = on_.steps_left - budget_->steps_max / 10;
    }

    // ---- directly

    /// Pods of one node that leave for free places: the fewest, cheapest first, and more where these have no places.
    void go_directly() {
        std::vector<room_option> options;
        const std::int64_t kept_for_trying = on_.steps_left / 3;
        for (std::size_t n = 0; n < on_.node_count() && on_.steps_left > kept_for_trying; ++n) {
            add_greedy(node_index{n}, options);
        }
        std::ranges::stable_sort(options, [this](const room_option& a, const room_option& b) {
            return std::pair{a.leaving.size(), downtime_of(a)} < std::pair{b.leaving.size(), downtime_of(b)};
        });
        for (const room_option& option : options) {
            if (!on_.step()) return;
            if (downtime_of(option) > budget_->downtime_max) continue; // other sets of that size may cost less
            if (try_directly(option)) return;
        }
    }

    [[nodiscard]] ticks downtime_of(const room_option& option) const {
        ticks result;
        for (const std::uint32_t pod : option.leaving) result += on_.pod(pod).cost.downtime;
        return result;
    }

    bool try_directly(const room_option& option) {
        const std::vector<std::uint32_t> leaving(option.leaving.begin(), option.leaving.end());
        for (const std::uint32_t pod : leaving) on_.lift(pod);
        bool done = false;
        if (on_.fits(on_.blocked(), option.where)) {
            on_.put(on_.blocked(), &option.where);
            // What is free beside the blocked pod may be free only once all have left, so it comes second.
            for (const bool beside : {false, true}) {
                if (!done) done = send_away(leaving, option.where, beside);
            }
            on_.undo_put(on_.blocked());
        }
        for (std::size_t i = leaving.size(); i-- > 0;) on_.undo_lift(leaving[i], on_.pod(leaving[i]).from);
        return done;
    }

    bool send_away(const std::vector<std::uint32_t>& leaving, const placement& target, bool beside) {
        const auto for_targets = [&](auto&& use) {
            for (const device_share& share : target.shares) use(on_.first_of(target.node) + share.device.at());
        };
        if (!beside) for_targets([this](std::size_t place) { on_.shut(place); });
        std::deque<placement> places;
        const bool all_placed = place_by_flow(on_, leaving, true, places);
        if (!beside) for_targets([this](std::size_t place) { on_.open(place); });
        if (!all_placed) return false;
        final_places finals{{on_.blocked(), target}};
        for (std::size_t i = 0; i < leaving.size(); ++i) finals.emplace(leaving[i], places[i]);
        const bool kept = keep_if_better(finals, 0);
        for (std::size_t i = leaving.size(); i-- > 0;) on_.undo_put(leaving[i]);
        return kept;
    }

    /// Of a pod that asks for one device: an option for every device of the node. Of others: one for the node.
    void add_greedy(node_index where, std::vector<room_option>& options) {
        const board_request& request = on_.request_of(on_.blocked());
        if (!on_.allows(on_.blocked(), where)) return;
        std::vector<std::uint32_t> up;
        if (request.simple) {
            for (std::size_t place = on_.first_of(where); place < on_.end_of(where); ++place) {
                if (!on_.step()) return;
                clear_device(request.asked->containers.front(), place, up);
                make_host_hold(where, up);
                if (const auto free = free_place_on(on_, on_.blocked(), place); free && !up.empty()) {
                    add_option(*free, up, options);
                }
                put_back(up, 0);
            }
            return;
        }
        clear_cheapest_devices(*request.asked, where, up);
        make_host_hold(where, up);
        std::vector<room_option> fitting;
        if (!up.empty()) append_options(on_, on_.blocked(), where, 0, fitting, later_moves::none);
        if (!fitting.empty()) add_option(fitting.front().where, up, options);
        put_back(up, 0);
    }

    static void add_option(const placement& where, const std::vector<std::uint32_t>& up,
                           std::vector<room_option>& options) {
        room_option option{.where = where, .leaving = {}};
        for (const std::uint32_t pod : up) option.leaving.push_back(pod);
        options.push_back(std::move(option));
    }

    /// Takes up the cheapest pods of a device until the container fits on it, and puts back those that need not go.
    /// False, with nothing taken up, if it does not fit or too many would go.
    bool clear_device(const device_request& container, std::size_t place, std::vector<std::uint32_t>& up) {
        const std::size_t before = up.size();
        const auto fits_now = [&] {
            return on_.step() && on_.admits(on_.blocked(), container, place) &&
                   on_.spec_of(place).mode->why_not(on_.spec_of(place), on_.state_of(place), container).code ==
                       rejection_code::none;
        };
        std::vector<std::uint32_t> residents(on_.residents(place).begin(), on_.residents(place).end());
        std::ranges::sort(residents, {},
                          [this](std::uint32_t pod) { return std::pair{on_.pod(pod).cost.downtime, pod}; });
        bool fits = fits_now();
        for (const std::uint32_t pod : residents) {
            if (fits || std::ssize(up) == budget_->moves_max) break;
            if (!on_.pod(pod).movable || on_.pod(pod).where == nullptr) continue; // a pod may have two parts of it
            on_.lift(pod);
            up.push_back(pod);
            fits = fits_now();
        }
        for (std::size_t i = up.size(); fits && i-- > before;) { // the dearest first
            const std::uint32_t pod = up[i];
            on_.undo_lift(pod, on_.pod(pod).from);
            if (fits_now()) {
                up.erase(up.begin() + static_cast<std::ptrdiff_t>(i));
            } else {
                on_.lift(pod);
            }
        }
        if (!fits) put_back(up, before);
        return fits;
    }

    void put_back(std::vector<std::uint32_t>& up, std::size_t kept) {
        for (; up.size() > kept; up.pop_back()) on_.undo_lift(up.back(), on_.pod(up.back()).from);
    }

    /// Clears for each container the devices on which that costs the least.
    void clear_cheapest_devices(const pod_request& request, node_index where, std::vector<std::uint32_t>& up) {
        std::vector<std::size_t> taken;
        for (const device_request& asked : request.containers) {
            const device_request container = amounts_on(on_, asked, where);
            std::vector<std::pair<std::pair<std::size_t, ticks>, std::size_t>> costs;
            for (std::size_t place = on_.first_of(where); place < on_.end_of(where); ++place) {
                if (std::ranges::find(taken, place) != taken.end()) continue;
                const std::size_t before = up.size();
                if (!clear_device(container, place, up)) continue;
                ticks downtime;
                for (std::size_t i = before; i < up.size(); ++i) downtime += on_.pod(up[i]).cost.downtime;
                costs.push_back({{up.size() - before, downtime}, place});
                put_back(up, before);
            }
            std::ranges::sort(costs);
            for (std::size_t i = 0; i < costs.size() && std::cmp_less(i, container.count); ++i) {
                clear_device(container, costs[i].second, up);
                taken.push_back(costs[i].second); // containers that may share a device get one each here
            }
        }
    }

    /// Takes up pods of the node, the cheapest first, as long as the host lacks something that they have.
    void make_host_hold(node_index where, std::vector<std::uint32_t>& up) {
        if (on_.host_holds(on_.blocked(), where)) return;
        std::vector<std::uint32_t> others(on_.pods_on(where).begin(), on_.pods_on(where).end());
        std::ranges::sort(others, {}, [this](std::uint32_t pod) { return std::pair{on_.pod(pod).cost.downtime, pod}; });
        for (const std::uint32_t pod : others) {
            if (on_.host_holds(on_.blocked(), where) || std::ssize(up) >= budget_->moves_max) break;
            if (!on_.pod(pod).movable || !on_.host_gains(on_.blocked(), pod, where)) continue;
            on_.lift(pod);
            up.push_back(pod);
        }
    }

    const move_budget* budget_;
    const move_costs* costs_;
    board on_;
    std::optional<board> start_; ///< as the cluster is, for orders of moves
    std::optional<candidate_plan> best_;
    bool over_downtime_ = false;
    std::int64_t kept_ = 0;
    std::int64_t level_ = 0;
    bool improving_ = false;
    std::int64_t improve_until_ = 0;
    std::vector<std::uint32_t> hand_;  ///< taken up, not put down yet
    std::vector<std::uint32_t> moved_; ///< taken up at all
    ticks moved_downtime_;
    std::deque<placement> places_; ///< of those that are put down
};

} // namespace

std::string_view to_string(no_room_reason reason) noexcept {
    switch (reason) {
    case no_room_reason::none_within_moves:
        return "none_within_moves";
    case no_room_reason::over_downtime:
        return "over_downtime";
    case no_room_reason::not_found:
        return "not_found";
    case no_room_reason::step_limit:
        return "step_limit";
    }
    return "";
}

expected<found_room, no_room> find_room(const ledger& book, const pod_request& blocked,
                                        std::span<const movable_pod> movable, const move_budget& budget,
                                        const move_costs& costs) {
    return room_search{book, blocked, movable, budget, costs}.find();
}

} // namespace vgpualloc::plan
