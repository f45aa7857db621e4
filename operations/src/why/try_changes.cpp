// Changes that are tried.
#include "try_changes.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "layouts_to_try.hpp"
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
constexpr std::size_t questions_max = 6; // to `whatif`
constexpr std::size_t layouts_max = 6;   // likewise
constexpr std::size_t names_shown = 3;

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
                  const vgpualloc::dialect_set& dialects, const pod_to_start& wanted, const stop_signal& stop)
        : state_{&state}, objects_{&objects}, dialects_{&dialects}, wanted_{&wanted}, pod_{wanted.pod},
          nodes_{wanted.nodes}, stop_{stop}, policies_{show::best_fit()}, decider_{*state.book, policies_.pair()} {}

    [[nodiscard]] std::vector<tried_change> run() {
        const verdict why = wanted_->verdict;
        if (why == verdict::gate || why == verdict::queue) {
            add_without_gates();
            return std::move(result_);
        }
        if (why == verdict::fits_now || why == verdict::quota || pod_->failure || pod_->unserved) {
            return std::move(result_);
        }
        if (why != verdict::never && why != verdict::gang) {
            add_moves();
            add_ended_pods();
            if (why == verdict::not_allowed) add_ended_peers();
        }
        add_layout();
        add_uncordoned();
        add_nodes_more();
        if (why == verdict::gang) return std::move(result_);
        add_tolerations();
        add_selectors();
        add_peers();
        return std::move(result_);
    }

private:
    /// Whether all pods that have no place yet find one if they ask for that.
    [[nodiscard]] bool all_are_taken(const vgpualloc::pod_request& request) {
        const auto interned = decider_.intern(request);
        if (!interned) return false;
        if (wanted_->pods == 1) return decider_.decide(*interned).has_value();
        trial scope{*state_->book};
        for (std::int64_t i = 0; i < wanted_->pods; ++i) {
            const pod_id id{state_->bound.size() + static_cast<std::size_t>(i)};
            if (stop_.poll() || !decider_.place(*state_->book, id, *interned)) return false;
        }
        return true;
    }

    /// Who takes the pod that has such a request; of several pods, that all find a place.
    [[nodiscard]] std::string then_words(const vgpualloc::pod_request& request) {
        if (wanted_->pods > 1) return fmt::format("{} pods fit then", wanted_->pods);
        return takers_words(takers_of(*state_, request));
    }

    /// Whether the pod, for which there are other rules, is taken by nodes as things are; the change is then listed.
    bool add_if_taken(std::string what, const vgpualloc::pod_request& request) {
        const auto is_listed = [&](const tried_change& known) { return known.what == what; };
        if (std::ranges::any_of(result_, is_listed) || !all_are_taken(request)) return false;
        result_.push_back({.what = std::move(what), .then = then_words(request)});
        return true;
    }

    /// Reads the cluster for all questions. False: it cannot be read.
    [[nodiscard]] bool make_start() {
        start_ = whatif::read_start(*objects_, *dialects_, stop_).value_or(nullptr);
        if (!start_) return false;
        learned_ = whatif::learned_policies(*start_, {.stop = stop_}).value_or(nullptr);
        return true;
    }

    /// What `whatif` answers to these changes, placing all pods that wait; none once too much was asked.
    [[nodiscard]] std::optional<whatif::answer> answer_after(whatif::changes wanted) {
        if (questions_left_ == 0 || stop_.raised()) return std::nullopt;
        --questions_left_;
        wanted.added_pods = wanted_->added;
        if (!start_ && !make_start()) return std::nullopt;
        auto answered = whatif::answer_of(
            *objects_, *dialects_,
            {.wanted = std::move(wanted), .start = start_, .learned = learned_, .places_only = true, .stop = stop_});
        return answered ? std::optional{*std::move(answered)} : std::nullopt;
    }

    /// Whether the pod starts, and of several pods all.
    [[nodiscard]] bool starts_in(const whatif::answer& answered) const {
        const auto origin = wanted_->added.empty() ? whatif::pod_origin::waits : whatif::pod_origin::added;
        return std::ranges::any_of(answered.pods, [&](const whatif::pod_answer& entry) {
            return entry.asked.origin == origin && !entry.placed.empty() && entry.refused == 0 &&
                   entry.asked.pod.full_name() == pod_->full_name();
        });
    }

    [[nodiscard]] bool starts_after(const whatif::changes& wanted) {
        const auto answered = answer_after(wanted);
        return answered && starts_in(*answered);
    }

    /// The command of such a question, without the files of the cluster.
    [[nodiscard]] std::vector<std::string> whatif_command(const char* option, std::string value) const {
        std::vector<std::string> command{"whatif"};
        if (!wanted_->added.empty()) command.insert(command.end(), {"--add-pods", wanted_->file});
        command.insert(command.end(), {option, std::move(value)});
        return command;
    }

    void add_without_gates() {
        if (pod_->queue_hold || pod_->gates.empty()) { // what is added has no gate yet
            static_cast<void>(add_if_taken("its queue lets it in", pod_->request));
            return;
        }
        const bool is_one = pod_->gates.size() == 1;
        static_cast<void>(
            add_if_taken(fmt::format("{} {} {} removed by whoever set {}", is_one ? "gate" : "gates",
                                     vgpuformats::joined(pod_->gates), is_one ? "is" : "are", is_one ? "it" : "them"),
                         pod_->request));
    }

    /// Moves of pods as `plan` finds them, on a snapshot of its own, as it changes the requests of pods that run.
    void add_moves() {
        if (wanted_->pods > 1 || wanted_->booked > 0) return; // plans make room for one pod
        if (!start_ && !make_start()) return;
        auto state = start_->copy();
        kube::snapshot_pod waiting = *pod_;
        if (wanted_->added.empty()) {
            const auto pod = std::ranges::find(state.pending, pod_->full_name(), &kube::snapshot_pod::full_name);
            if (pod == state.pending.end()) return;
            waiting = *pod;
        }
        whatif::moves_question question;
        question.budget.stop = stop_;
        const auto planned = whatif::plan_room(state, *objects_, waiting, question);
        if (!planned || !planned->found || planned->moves.empty()) return;
        const auto move_words = [](const whatif::told_move& move) {
            return move.from.node == move.to.node ? fmt::format("{} within {}", move.pod, move.from.node)
                                                  : fmt::format("{} {} -> {}", move.pod, move.from.node, move.to.node);
        };
        result_.push_back({.what = fmt::format("{}, {:.1f} GPU·s down", vgpuformats::joined(planned->moves, move_words),
                                               vgpualloc::seconds_of(planned->cost.downtime)),
                           .command = {"plan", wanted_->added.empty() ? "--pod" : "--add-pod",
                                       wanted_->added.empty() ? pod_->full_name() : wanted_->file}});
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
        const std::size_t ends_max = state_->bound.size() - wanted_->booked; // those of the file do not run yet
        for (std::size_t i = 0; i < ends_max && !stop_.poll(); ++i) {
            if (!is_of_sort(state_->bound[i].pod)) continue;
            trial scope{*state_->book};
            if (!state_->book->release(pod_id{i})) continue;
            if (all_are_taken(pod_->request)) names.push_back(state_->bound[i].pod.full_name());
        }
        std::ranges::sort(names);
        return names;
    }

    /// MIG layouts of nodes, of which the one is listed with which the fewest pods stop, and then the fewest restart.
    /// Nodes are tried until with one of them no pod stops.
    void add_layout() {
        struct tried_layout {
            std::int64_t stops = 0;
            std::int64_t restarts = 0;
            std::int64_t cut_time = 0;
            std::string node{};
            std::string name{};
        };
        const auto rank = [](const tried_layout& layout) {
            return std::tuple{layout.stops, layout.restarts, layout.cut_time};
        };
        std::optional<tried_layout> best;
        std::size_t layouts_left = layouts_max;
        for (const layouts_to_try& candidate : layouts_for(*state_, *objects_, *pod_, *nodes_)) {
            if (best && best->stops == 0) break;
            for (const std::string& layout : candidate.layouts) {
                if (layouts_left == 0 || stop_.poll()) break;
                --layouts_left;
                ++questions_left_; // layouts have a number of questions of their own
                const auto answered =
                    answer_after({.modes = {{.node = candidate.node, .mode = "mig", .layout = layout}}});
                if (!answered || !starts_in(*answered)) continue;
                const whatif::fate_counts counts = count_fates(*answered);
                tried_layout own{.stops = counts.of(whatif::pod_fate::stops),
                                 .restarts = counts.of(whatif::pod_fate::restarts),
                                 .node = candidate.node,
                                 .name = layout};
                for (const whatif::layout_change& cut : answered->layouts) {
                    own.cut_time += cut.cut_time.value_or(vgpualloc::ticks{}).count();
                }
                if (!best || rank(own) < rank(*best)) best = own;
            }
        }
        if (!best) return;
        std::string what = fmt::format("{} is cut {}", best->node, best->name);
        if (best->restarts > 0)
            what += fmt::format(", {} {}", best->restarts, best->restarts == 1 ? "restarts" : "restart");
        if (best->stops > 0) what += fmt::format(", {} {}", best->stops, best->stops == 1 ? "stops" : "stop");
        result_.push_back(
            {.what = std::move(what), .command = whatif_command("--set-mode", best->node + "=mig:" + best->name)});
    }

    /// Cordoned nodes that would take the pod, of which the first that `whatif` confirms is listed.
    void add_uncordoned() {
        for (std::size_t n = 0; n < nodes_->size() && !stop_.poll(); ++n) {
            const node_reasons& node = (*nodes_)[n];
            if (node.word != node_reason::out_of_service) continue;
            if (!state_->nodes().nodes[n].host.unschedulable) continue;
            const whatif::changes wanted{.uncordoned = {node.node}};
            if (!takes_after(wanted, node_index{n}) || !starts_after(wanted)) continue;
            result_.push_back(
                {.what = node.node + " is uncordoned", .command = whatif_command("--uncordon", node.node)});
            return;
        }
    }

    /// Whether the node takes the pod after a change.
    [[nodiscard]] bool takes_after(const whatif::changes& wanted, node_index where) {
        trial scope{*state_->book};
        if (!whatif::apply(*state_, wanted, *objects_)) return false;
        return decider_.ask_node(where, pod_->request).answer.code == rejection_code::none;
    }

    /// What of its taints a node has because of what it is for, and not because of its state.
    [[nodiscard]] static std::string taint_words(const vgpualloc::node& node) {
        std::string words;
        for (const vgpualloc::taint& repelling : node.host.taints) {
            if (!vgpualloc::is_state_taint(repelling.key)) words += repelling.key + "=" + repelling.value + " ";
        }
        return words;
    }

    /// One more node like another one, of every kind that would take the pod.
    void add_nodes_more() {
        std::set<std::tuple<std::string, std::string, std::string, std::size_t, std::int64_t, std::int64_t>> tried;
        std::size_t listed = 0;
        for (std::size_t n = 0; n < nodes_->size() && listed < alike_max && !stop_.poll(); ++n) {
            const vgpualloc::node& node = state_->nodes().nodes[n];
            if (node.devices.empty()) continue;
            const bool is_new =
                tried
                    .emplace(show::pool_of(node),
                             show::sharing_name(node, state_->devices[n].front()) + " " +
                                 state_->devices[n].front().registered.model,
                             taint_words(node), node.devices.size(), node.cpu.count(), node.memory.count())
                    .second;
            const std::string name = node.name; // nodes that are added may move the others in memory
            const std::int64_t pods = is_new ? pods_on_one_more(node_index{n}) : 0;
            if (pods == 0) continue;
            const std::int64_t more = (wanted_->pods + pods - 1) / pods;
            if (more > whatif::nodes_added_max || !starts_after({.added_nodes = {{.kind = name, .nodes = more}}}))
                continue;
            result_.push_back({.what = fmt::format("{} {} more like {}", more, more == 1 ? "node" : "nodes", name),
                               .command = whatif_command("--add-nodes", fmt::format("{}={}", name, more))});
            ++listed;
        }
    }

    /// How many of the pods one more such node has room for.
    [[nodiscard]] std::int64_t pods_on_one_more(node_index like) {
        trial scope{*state_->book};
        const auto added = whatif::add_nodes(*state_, whatif::kind_of(*state_, like), 1);
        std::int64_t pods = 0;
        while (pods < wanted_->pods && !stop_.poll()) {
            const auto decision = decider_.ask_node(added.front(), pod_->request);
            if (decision.answer.code != rejection_code::none) break;
            const pod_id id{state_->bound.size() + static_cast<std::size_t>(pods)};
            if (!state_->book->reserve(vgpualloc::booking_for(id, pod_->request, decision.where))) break;
            ++pods;
        }
        scope.undo();
        whatif::forget_nodes(*state_, added);
        return pods;
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
    const pod_to_start* wanted_;
    const kube::snapshot_pod* pod_;
    const std::vector<node_reasons>* nodes_;
    stop_signal stop_;
    vgpualloc::owned_policies policies_;
    vgpualloc::allocator decider_;
    std::shared_ptr<const kube::snapshot> start_{}; ///< of the questions; null: there was none yet
    std::shared_ptr<const vgpualloc::owned_policies> learned_{};
    std::size_t questions_left_ = questions_max;
    std::vector<tried_change> result_{};
};

} // namespace

std::string takers_words(const std::vector<std::string>& names, const std::string& what) {
    const std::string end = fmt::format(" takes {} now", what);
    if (names.size() == 1) return names.front() + end;
    if (names.size() == 2) return names[0] + " or " + names[1] + end;
    return "one of " + show::folded_names(names, names_shown) + end;
}

std::vector<std::string> takers_of(const kube::snapshot& state, const vgpualloc::pod_request& request) {
    const vgpualloc::owned_policies policies = show::best_fit();
    vgpualloc::allocator decider{*state.book, policies.pair()};
    std::vector<std::string> names;
    const auto interned = decider.intern(request);
    if (!interned) return names;
    const auto answers = decider.evaluate(*interned);
    for (std::size_t n = 0; n < answers.size(); ++n) {
        if (answers[n].code == rejection_code::none) names.push_back(state.nodes().nodes[n].name);
    }
    std::ranges::sort(names);
    return names;
}

std::vector<tried_change> try_changes(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                      const vgpualloc::dialect_set& dialects, const pod_to_start& wanted,
                                      const stop_signal& stop) {
    return change_finder{state, objects, dialects, wanted, stop}.run();
}

} // namespace vgpuops::why
