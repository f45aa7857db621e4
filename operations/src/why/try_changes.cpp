// Changes that are tried.
#include "try_changes.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/model/host_rules.hpp"
#include "vgpualloc/model/trial.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/headroom.hpp"
#include "vgpuops/show/names.hpp"
#include "vgpuops/whatif/answer.hpp"
#include "vgpuops/whatif/changes.hpp"
#include "vgpuops/whatif/moves.hpp"

namespace vgpuops::why {

namespace {

using show::verdict;
using vgpualloc::trial;

constexpr std::size_t alike_max = 3;     // changes of one sort that are listed
constexpr std::size_t questions_max = 6; // to `whatif`, each of which reads the cluster anew
constexpr std::size_t names_shown = 3;

/// "a100-1 or a100-2 takes it now".
std::string takers_words(const std::vector<std::string>& names) {
    if (names.size() == 1) return names.front() + " takes it now";
    if (names.size() == 2) return names[0] + " or " + names[1] + " takes it now";
    return "one of " + show::folded_names(names, names_shown) + " takes it now";
}

std::string effect_words(const vgpualloc::taint& repelling) {
    const bool executes = repelling.effect == vgpualloc::taint_effect::no_execute;
    return repelling.key + (repelling.value.empty() ? "" : "=" + repelling.value) +
           (executes ? ":NoExecute" : ":NoSchedule");
}

/// The one MIG profile that a pod asks for; empty: it asks for something else.
std::string profile_of(const vgpualloc::pod_request& request) {
    std::set<std::string> profiles;
    for (const vgpualloc::device_request& container : request.containers) {
        if (container.count > 0) profiles.insert(container.profile);
    }
    return profiles.size() == 1 ? *profiles.begin() : std::string{};
}

class change_finder {
public:
    change_finder(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                  const vgpualloc::dialect_set& dialects, const kube::snapshot_pod& pod,
                  const std::vector<node_reasons>& nodes, const stop_signal& stop)
        : state_{&state}, objects_{&objects}, dialects_{&dialects}, pod_{&pod}, nodes_{&nodes}, stop_{stop},
          policies_{show::best_fit()}, decider_{*state.book, policies_.pair()} {}

    [[nodiscard]] std::vector<tried_change> run(verdict why) {
        if (why == verdict::gate || why == verdict::queue) {
            add_without_gates();
            return std::move(result_);
        }
        if (why == verdict::fits_now || why == verdict::gang || pod_->failure) return std::move(result_);
        if (why != verdict::never) {
            if (pod_->request.peers.empty()) add_moves(); // plans look at no rules about other pods
            add_ended_pods();
            if (why == verdict::not_allowed) add_ended_peers();
        }
        add_uncordoned();
        add_nodes_more();
        add_tolerations();
        add_selectors();
        add_peers();
        return std::move(result_);
    }

private:
    /// Names of the nodes that take a request as things are, ascending.
    [[nodiscard]] std::vector<std::string> takers_of(const vgpualloc::pod_request& request) {
        std::vector<std::string> names;
        const auto interned = decider_.intern(request);
        if (!interned) return names;
        const auto answers = decider_.evaluate(*interned);
        for (std::size_t n = 0; n < answers.size(); ++n) {
            if (answers[n].code == rejection_code::none) names.push_back(state_->nodes().nodes[n].name);
        }
        std::ranges::sort(names);
        return names;
    }

    /// Whether the pod, for which there are other rules, is taken by nodes as things are; the change is then listed.
    bool add_if_taken(std::string what, const vgpualloc::pod_request& request) {
        const auto is_listed = [&](const tried_change& known) { return known.what == what; };
        if (std::ranges::any_of(result_, is_listed)) return false;
        const std::vector<std::string> names = takers_of(request);
        if (names.empty()) return false;
        result_.push_back({.what = std::move(what), .then = takers_words(names)});
        return true;
    }

    /// Whether `whatif` starts the pod after these changes, placing all pods that wait.
    [[nodiscard]] bool starts_after(const whatif::changes& wanted) {
        if (questions_left_ == 0 || stop_.raised()) return false;
        --questions_left_;
        const auto answered = whatif::answer_of(*objects_, *dialects_, {.wanted = wanted, .stop = stop_});
        return answered && std::ranges::any_of(answered->pods, [this](const whatif::pod_answer& entry) {
                   return entry.asked.origin == whatif::pod_origin::waits && !entry.placed.empty() &&
                          entry.asked.pod.full_name() == pod_->full_name();
               });
    }

    void add_without_gates() {
        const std::vector<std::string> names = takers_of(pod_->request);
        if (names.empty()) return;
        if (pod_->queue_hold) {
            result_.push_back({.what = "its queue lets it in", .then = takers_words(names)});
            return;
        }
        const char* const gates = pod_->gates.size() == 1 ? "gate" : "gates";
        result_.push_back(
            {.what = fmt::format("{} {} is removed by whoever set it", gates, vgpuformats::joined(pod_->gates)),
             .then = takers_words(names)});
    }

    /// Moves of pods as `plan` finds them, on a snapshot of its own, as it changes the requests of pods that run.
    void add_moves() {
        auto state = kube::make_snapshot(*objects_, *dialects_, stop_);
        if (!state) return;
        const auto pod = std::ranges::find(state->pending, pod_->full_name(), &kube::snapshot_pod::full_name);
        if (pod == state->pending.end()) return;
        const kube::snapshot_pod waiting = *pod;
        whatif::moves_question asked;
        asked.budget.stop = stop_;
        const auto planned = whatif::plan_room(*state, *objects_, waiting, asked);
        if (!planned || !planned->found || planned->moves.empty()) return;
        const auto move_words = [](const whatif::told_move& move) {
            return move.from.node == move.to.node ? fmt::format("{} within {}", move.pod, move.from.node)
                                                  : fmt::format("{} {} -> {}", move.pod, move.from.node, move.to.node);
        };
        result_.push_back({.what = fmt::format("{}, {:.1f} GPU·s down", vgpuformats::joined(planned->moves, move_words),
                                               vgpualloc::seconds_of(planned->cost.downtime)),
                           .command = {"plan", "--pod", pod_->full_name()}});
    }

    /// Pods with an instance of the profile that is wanted, of which any may end.
    void add_ended_pods() {
        const std::string profile = profile_of(pod_->request);
        if (profile.empty()) return;
        const std::vector<std::string> names =
            helpful_ends([&](const kube::snapshot_pod& runs) { return profile_of(runs.request) == profile; });
        if (names.empty()) return;
        result_.push_back({.what = fmt::format("a pod with mig-{} ends", profile),
                           .then = fmt::format("{} {}", show::folded_names(names, names_shown),
                                               names.size() == 1 ? "has one" : "have one each")});
    }

    /// Pods that keep the pod away, of which the end of one is enough.
    void add_ended_peers() {
        if (pod_->request.peers.empty()) return;
        const std::vector<std::string> names =
            helpful_ends([](const kube::snapshot_pod& runs) { return !runs.request.peers.empty(); });
        if (names.empty()) return;
        const char* const which = names.size() == 1 ? "" : "one of ";
        result_.push_back(
            {.what = fmt::format("{}{} ends", which, show::folded_names(names, names_shown)), .then = "then it fits"});
    }

    /// Names of the pods that run, among those of a sort, whose end alone lets the pod in; ascending.
    template <class IsOfSort>
    [[nodiscard]] std::vector<std::string> helpful_ends(IsOfSort is_of_sort) {
        std::vector<std::string> names;
        const auto interned = decider_.intern(pod_->request);
        if (!interned) return names;
        for (std::size_t i = 0; i < state_->bound.size() && !stop_.poll(); ++i) {
            if (!is_of_sort(state_->bound[i].pod)) continue;
            trial scope{*state_->book};
            if (!state_->book->release(pod_id{i})) continue;
            if (decider_.decide(*interned)) names.push_back(state_->bound[i].pod.full_name());
        }
        std::ranges::sort(names);
        return names;
    }

    /// Cordoned nodes that would take the pod, of which the first that `whatif` confirms is listed.
    void add_uncordoned() {
        for (std::size_t n = 0; n < nodes_->size() && !stop_.poll(); ++n) {
            const node_reasons& node = (*nodes_)[n];
            if (node.word != node_reason::out_of_service) continue;
            if (!state_->nodes().nodes[n].host.unschedulable) continue;
            const whatif::changes wanted{.uncordoned = {node.node}};
            if (!takes_after(wanted, node_index{n}) || !starts_after(wanted)) continue;
            result_.push_back({.what = node.node + " is uncordoned", .command = {"whatif", "--uncordon", node.node}});
            return;
        }
    }

    /// Whether the node takes the pod after a change.
    [[nodiscard]] bool takes_after(const whatif::changes& wanted, node_index where) {
        trial scope{*state_->book};
        if (!whatif::apply(*state_, wanted, *objects_)) return false;
        return decider_.ask_node(where, pod_->request).answer.code == rejection_code::none;
    }

    /// One more node like another one, of every kind that would take the pod.
    void add_nodes_more() {
        std::set<std::tuple<std::string, std::string, std::size_t, std::int64_t, std::int64_t>> tried;
        std::size_t listed = 0;
        for (std::size_t n = 0; n < nodes_->size() && listed < alike_max && !stop_.poll(); ++n) {
            const vgpualloc::node& node = state_->nodes().nodes[n];
            if (node.devices.empty()) continue;
            const bool is_new = tried
                                    .emplace(show::pool_of(node),
                                             show::sharing_name(node, state_->devices[n].front()) + " " +
                                                 state_->devices[n].front().registered.model,
                                             node.devices.size(), node.cpu.count(), node.memory.count())
                                    .second;
            const std::string name = node.name; // nodes that are added may move the others in memory
            if (!is_new || !is_taken_by_one_more(node_index{n})) continue;
            if (!starts_after({.added_nodes = {{.kind = name, .nodes = 1}}})) continue;
            result_.push_back({.what = "1 node more like " + name, .command = {"whatif", "--add-nodes", name + "=1"}});
            ++listed;
        }
    }

    [[nodiscard]] bool is_taken_by_one_more(node_index like) {
        trial scope{*state_->book};
        const auto added = whatif::add_nodes(*state_, whatif::kind_of(*state_, like), 1);
        const bool is_taken = decider_.ask_node(added.front(), pod_->request).answer.code == rejection_code::none;
        scope.undo();
        whatif::forget_nodes(*state_, added);
        return is_taken;
    }

    /// The taints of a node that no other rule keeps the pod from.
    void add_tolerations() {
        std::size_t listed = 0;
        std::set<std::string> tried;
        for (std::size_t n = 0; n < nodes_->size() && listed < alike_max && !stop_.poll(); ++n) {
            const auto is_taint = [](const failed_check& check) { // and not one of a node's state
                return check.word == node_reason::not_allowed &&
                       check.refused.code == rejection_code::taint_not_tolerated;
            };
            if (std::ranges::none_of((*nodes_)[n].checks, is_taint)) continue;
            vgpualloc::pod_request request = pod_->request;
            const vgpualloc::host_facts& facts = state_->nodes().nodes[n].host;
            std::string words;
            while (const vgpualloc::taint* const repelling = vgpualloc::repelling_taint(request.rules, facts)) {
                words += (words.empty() ? "" : " and ") + effect_words(*repelling);
                request.rules.tolerations.push_back({.key = repelling->key,
                                                     .value = repelling->value,
                                                     .any_effect = false,
                                                     .effect = repelling->effect});
            }
            if (!tried.insert(words).second) continue;
            if (add_if_taken("it tolerates " + words, request)) ++listed;
        }
    }

    /// Entries of the node selector, and the affinity, that the pod could do without.
    void add_selectors() {
        const vgpualloc::host_rules& rules = pod_->request.rules;
        for (std::size_t i = 0; i < std::min(rules.node_selector.size(), alike_max); ++i) {
            const auto& [label, value] = rules.node_selector[i];
            vgpualloc::pod_request request = pod_->request;
            request.rules.node_selector.erase(request.rules.node_selector.begin() + static_cast<std::ptrdiff_t>(i));
            static_cast<void>(add_if_taken(fmt::format("it does not ask for {}={}", label, value), request));
        }
        if (!rules.has_affinity) return;
        vgpualloc::pod_request request = pod_->request;
        request.rules.has_affinity = false;
        request.rules.affinity.clear();
        static_cast<void>(add_if_taken("it has no node affinity", request));
    }

    /// Rules about other pods that the pod could do without, kind by kind.
    void add_peers() {
        using vgpualloc::peer_rule_kind;
        if (pod_->request.peers.empty()) return;
        for (const auto& [kind, name] :
             {std::pair{peer_rule_kind::spread, "topology spread"}, std::pair{peer_rule_kind::together, "pod affinity"},
              std::pair{peer_rule_kind::apart, "pod anti-affinity"}}) {
            vgpualloc::pod_peers peers = *pod_->request.peers;
            if (std::erase_if(peers.rules, [&](const auto& rule) { return rule.kind == kind; }) == 0) continue;
            vgpualloc::pod_request request = pod_->request;
            request.peers = vgpualloc::shared_peers{std::move(peers)};
            static_cast<void>(add_if_taken(fmt::format("it has no {}", name), request));
        }
    }

    kube::snapshot* state_;
    const std::vector<kube::manifest>* objects_;
    const vgpualloc::dialect_set* dialects_;
    const kube::snapshot_pod* pod_;
    const std::vector<node_reasons>* nodes_;
    stop_signal stop_;
    vgpualloc::owned_policies policies_;
    vgpualloc::allocator decider_;
    std::size_t questions_left_ = questions_max;
    std::vector<tried_change> result_{};
};

} // namespace

std::vector<tried_change> try_changes(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                      const vgpualloc::dialect_set& dialects, const kube::snapshot_pod& pod,
                                      verdict why, const std::vector<node_reasons>& nodes, const stop_signal& stop) {
    return change_finder{state, objects, dialects, pod, nodes, stop}.run(why);
}

} // namespace vgpuops::why
