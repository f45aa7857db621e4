// Plans of moves for a snapshot.
#include "vgpuops/whatif/moves.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "placement_words.hpp"
#include "replacements.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/explain/not_considered.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/plan/consolidation_bound.hpp"
#include "vgpuops/show/headroom.hpp"

namespace vgpuops::whatif {

namespace plan = vgpualloc::plan;

namespace {

/// What is idle in a ledger, to the mean pod of a cluster as it was given.
class idle_figure {
public:
    idle_figure(kube::snapshot& state, vgpualloc::stop_signal stop)
        : state_{&state}, requests_{state.requests()}, stop_{std::move(stop)} {}
    /// In the ledger of the snapshot as it is now.
    [[nodiscard]] vgpualloc::idle_parts operator()() const { return show::mean_idle(*state_, requests_, stop_); }

private:
    kube::snapshot* state_;
    std::vector<vgpualloc::counted_request> requests_;
    vgpualloc::stop_signal stop_;
};

/// The moves in words, and what they cost. That the ledger takes every step is checked here, since somebody is going
/// to delete pods by them.
void tell_moves(kube::snapshot& state, const plan::move_plan& planned, const plan::move_costs& costs,
                const vgpualloc::booking* blocked, const idle_figure& idle, moves_answer& result) {
    const pod_id spare{state.bound.size() + 1};
    const auto look = [&](const vgpualloc::ledger& /*after*/) {
        if (planned.moves.empty() && blocked == nullptr) return; // all is as before
        result.idle_after = idle();
    };
    const auto carried_out = plan::try_moves(*state.book, planned, blocked, spare, look);
    VGA_ASSERT(carried_out.has_value(), "a plan of moves can be carried out on the ledger that it was made for");
    for (const plan::pod_move& move : planned.moves) {
        result.moves.push_back({.pod = state.bound[move.pod.at()].pod.full_name(),
                                .from = explaining::name_place(state, move.from),
                                .to = explaining::name_place(state, move.to),
                                .cost = plan::cost_of_move(state.nodes(), move.from, costs)});
    }
    result.cost = plan::cost_of_moves(state.nodes(), planned, costs);
}

/// Those that move, and the one that they make room for, if any.
std::vector<const kube::snapshot_pod*> pods_of(const kube::snapshot& state, const plan::move_plan& planned,
                                               const kube::snapshot_pod* blocked) {
    std::vector<const kube::snapshot_pod*> pods;
    if (blocked != nullptr) pods.push_back(blocked);
    std::set<pod_id> moving; // one may move twice
    for (const plan::pod_move& move : planned.moves) {
        if (moving.insert(move.pod).second) pods.push_back(&state.bound[move.pod.at()].pod);
    }
    return pods;
}

/// Quotas, limit ranges and budgets say which pods may move.
void forget_rules_looked_at(kube::snapshot& state) {
    std::erase_if(state.rule_objects, [](const kube::rule_object& object) {
        return object.kind == "ResourceQuota" || object.kind == "LimitRange" || object.kind == "PodDisruptionBudget";
    });
}

moves_answer begin_answer(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                          const moves_question& asked, std::size_t movable, staying_pods staying,
                          const idle_figure& idle) {
    forget_rules_looked_at(state);
    moves_answer result;
    result.kept = std::move(staying.by_budgets);
    result.kept_by_rules = std::move(staying.by_rules);
    result.not_made_again = std::move(staying.by_admission);
    result.kept_bare = std::ssize(kube::kept_without_controller(state, objects, asked.movable));
    result.budget = asked.budget;
    result.costs = asked.costs;
    result.movable = static_cast<std::int64_t>(movable);
    result.warnings = state.warnings;
    result.idle_before = result.idle_after = idle();
    return result;
}

/// By the linear program; 0 where there is no solver or it does not say.
std::int64_t least_units(const vgpualloc::ledger& book, const std::vector<plan::movable_pod>& movable,
                         plan::emptied_unit unit, plan::lp_solver* solver) {
    if (solver == nullptr) return 0;
    const auto units = plan::least_units_by_lp(book, movable, unit, *solver);
    return units ? units->value_or(0) : 0;
}

/// The request with the nodes left out from which rules about other pods keep the pod. Pods that such rules look at do
/// not move, so that what keeps it away now does so after the moves.
vgpualloc::pod_request with_nodes_left_out(const kube::snapshot& state, const vgpualloc::pod_request& request) {
    vgpualloc::pod_request result = request;
    if (request.peers.empty()) return result;
    const vgpualloc::owned_policies policies = show::best_fit();
    vgpualloc::allocator decider{*state.book, policies.pair()};
    vgpualloc::label_requirement others{.key = "metadata.name", .op = vgpualloc::label_operator::not_in};
    for (std::size_t i = 0; i < state.nodes().nodes.size(); ++i) {
        const node_index where{i};
        if (!state.book->is_present(where)) continue;
        if (decider.ask_peers(where, request).code == rejection_code::none) continue;
        others.values.push_back(state.nodes().nodes[i].name);
    }
    if (others.values.empty()) return result;
    vgpualloc::host_rules& rules = result.rules;
    if (!rules.has_affinity) rules.affinity.emplace_back();
    rules.has_affinity = true;
    for (vgpualloc::node_selector_term& term : rules.affinity) {
        if (!term.labels.empty() || !term.names.empty() || !request.rules.has_affinity) term.names.push_back(others);
    }
    return result;
}

bool is_chosen_by_kubelet(const kube::snapshot& state, const kube::snapshot_device& device) {
    const auto* const spoken = state.dialects.find(device.dialect);
    return spoken != nullptr && spoken->assigned_by_kubelet();
}

/// What a plan for GPUs that the kubelet gives out leaves open.
void note_kubelets_choice(const kube::snapshot& state, moves_answer& to) {
    std::set<std::string> modes; // of such GPUs
    std::set<std::string> shared_nodes;
    for (std::size_t n = 0; n < state.devices.size(); ++n) {
        for (const kube::snapshot_device& device : state.devices[n]) {
            if (!is_chosen_by_kubelet(state, device)) continue;
            modes.insert(device.registered.mode);
            if (device.registered.mode != "exclusive") shared_nodes.insert(state.nodes().nodes[n].name);
        }
    }
    std::set<std::string> open;
    for (const told_move& move : to.moves) {
        if (shared_nodes.contains(move.to.node)) open.insert(move.to.node);
    }
    for (const std::string& node : open) {
        to.not_considered.push_back("which GPU of " + node + " a pod gets (its device plugin chooses)");
    }
    if (modes.size() > 1 && to.movable > 0) {
        to.not_considered.emplace_back("moves to GPUs that are shared in another way (pods that run keep theirs)");
    }
}

} // namespace

std::vector<plan::movable_pod> movable_pods(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                            const kube::mobility& rules, staying_pods* staying) {
    const kube::disruption_budgets budgets{objects};
    replacements made_again{objects};
    std::map<std::string, const kube::manifest*> by_name;
    for (const kube::manifest& object : objects) {
        if (object.kind == "Pod") by_name.emplace(kube::full_name_of(object), &object);
    }
    std::vector<plan::movable_pod> result;
    for (std::size_t i = 0; i < state.bound.size(); ++i) {
        const vgpualloc::host_facts& host = state.nodes().nodes[state.bound[i].node.at()].host;
        if (!host.ready || host.unschedulable) continue; // what such a node had would be out of service
        const auto object = by_name.find(state.bound[i].pod.full_name());
        if (object == by_name.end() || !kube::may_move(state.bound[i], *object->second, rules)) continue;
        const std::string& node = state.nodes().nodes[state.bound[i].node.at()].name;
        if (std::string why = budgets.why_kept(object->first); !why.empty()) {
            if (staying != nullptr)
                staying->by_budgets.push_back({.name = object->first, .node = node, .why = std::move(why)});
            continue;
        }
        if (const refused_pod refused = made_again.ask(*object->second); !refused.is_made()) {
            if (staying != nullptr)
                staying->by_admission.push_back({.name = object->first, .node = node, .why = refused.words()});
            continue;
        }
        if (!state.bound[i].pod.request.peers.empty()) {
            if (staying != nullptr) staying->by_rules.push_back(object->first);
            continue;
        }
        result.push_back({.pod = pod_id{i}, .request = &state.bound[i].pod.request});
    }
    return result;
}

expected<moves_answer> plan_room(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                 const kube::snapshot_pod& pod, const moves_question& asked) {
    if (pod.failure) return unexpected(*pod.failure);
    if (auto held = kube::why_held_back(pod)) return unexpected(*std::move(held));
    if (pod.unserved) return unexpected(*pod.unserved);
    const idle_figure idle{state, asked.budget.stop};
    kube::keep_modes(state);
    staying_pods staying;
    const auto movable = movable_pods(state, objects, asked.movable, &staying);
    moves_answer result = begin_answer(state, objects, asked, movable.size(), std::move(staying), idle);
    result.pod = pod.full_name();
    const vgpualloc::pod_request wanted = with_nodes_left_out(state, pod.request);
    const auto room = plan::find_room(*state.book, wanted, movable, asked.budget, asked.costs);
    result.steps = room ? room->steps : room.error().steps;
    if (!room) {
        result.none = room.error();
        result.not_considered = explaining::not_considered(state, pods_of(state, {}, &pod));
        note_kubelets_choice(state, result);
        return result;
    }
    result.found = true;
    result.fewest_moves = room->fewest_moves;
    result.where = explaining::name_place(state, room->planned.where);
    const vgpualloc::booking waiting = vgpualloc::booking_for(pod_id{state.bound.size()}, pod.request);
    tell_moves(state, room->planned, asked.costs, &waiting, idle, result);
    result.not_considered = explaining::not_considered(state, pods_of(state, room->planned, &pod));
    note_kubelets_choice(state, result);
    return result;
}

moves_answer plan_emptying(kube::snapshot& state, const std::vector<kube::manifest>& objects, plan::emptied_unit unit,
                           const moves_question& asked) {
    const idle_figure idle{state, asked.budget.stop};
    kube::keep_modes(state);
    staying_pods staying;
    const auto movable = movable_pods(state, objects, asked.movable, &staying);
    moves_answer result = begin_answer(state, objects, asked, movable.size(), std::move(staying), idle);
    const auto used_min_by_lp = [&] { return least_units(*state.book, movable, unit, asked.solver); };
    const plan::consolidation emptying =
        plan::consolidate(*state.book, movable, unit, asked.budget, asked.costs, used_min_by_lp);
    result.found = emptying.emptied > 0;
    result.emptied_unit = unit;
    result.emptied = emptying.emptied;
    result.used = emptying.used;
    result.used_min = emptying.used_min;
    result.used_min_by = emptying.used_min_by;
    result.steps = emptying.steps;
    result.step_limit = emptying.step_limit;
    tell_moves(state, emptying.planned, asked.costs, nullptr, idle, result);
    result.not_considered = explaining::not_considered(state, pods_of(state, emptying.planned, nullptr));
    note_kubelets_choice(state, result);
    return result;
}

} // namespace vgpuops::whatif
