// Answers to what-if questions.
#include "vgpuops/whatif/answer.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "../show/overview_parts.hpp"
#include "answer_warnings.hpp"
#include "differences.hpp"
#include "kind_words.hpp"
#include "question_templates.hpp"
#include "replacements.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/explain/not_considered.hpp"
#include "vgpualloc/explain/snapshot_learning.hpp"
#include "vgpualloc/kube/mobility.hpp"
#include "vgpualloc/kube/pod_admission.hpp"
#include "vgpualloc/metrics/fragmentation.hpp"
#include "vgpualloc/model/trial.hpp"
#include "vgpuops/show/headroom.hpp"

namespace vgpuops::whatif {

namespace {

/// The policies of a question, and the workload that they take for typical.
struct scorers {
    vgpualloc::workload typical;
    std::shared_ptr<const vgpualloc::owned_policies> policies; ///< explanations go on from what these have learned
};

/// What is added asks for, and how often; of a DaemonSet once.
std::vector<vgpualloc::counted_request> added_requests(const kube::snapshot& state, const question& asked) {
    std::vector<vgpualloc::counted_request> requests;
    stop_signal stop = asked.stop;
    for (const kube::manifest& object : asked.wanted.added_pods) {
        if (stop.poll()) break;
        if (!object.pod) continue;
        auto pod = kube::read_snapshot_pod(object, state);
        if (!pod) continue;
        requests.push_back({.request = std::move(pod->request), .pods = object.one_per_node ? 1 : object.replicas});
    }
    return requests;
}

/// Policies that learn know the pods that are there and those that come, as others know what is typical.
void have_learned(const vgpualloc::policy_pair& policies, const kube::snapshot& state, const question& asked) {
    if (!policies.learns()) return;
    if (asked.learned) {
        policies.take_over(asked.learned->pair());
        return;
    }
    explaining::learn_of_pods(state, policies);
    for (const auto& [request, count] : added_requests(state, asked)) {
        for (std::int64_t i = 0; i < count; ++i) policies.note_arrival(request, *state.book);
    }
}

expected<scorers> make_scorers(const kube::snapshot& state, const question& asked) {
    scorers result{.typical = state.typical(), .policies = {}};
    std::int64_t pods = 0;
    for (const auto& [request, count] : added_requests(state, asked)) {
        result.typical.typical.push_back({.cpu = request.cpu, .containers = request.containers, .weight = count});
    }
    std::erase_if(result.typical.typical, [](const auto& entry) { return entry.weight == 0; });
    for (const auto& entry : result.typical.typical) pods += entry.weight;
    for (auto& entry : result.typical.typical) {
        entry.frequency = static_cast<double>(entry.weight) / static_cast<double>(pods);
    }
    const vgpualloc::policy_parameters parameters{.target = result.typical,
                                                  .seed = asked.seed,
                                                  .prices =
                                                      vgpualloc::book_by_size(result.typical, state.book->nodes())};
    auto policies = asked.make_policies ? asked.make_policies(parameters, state.book->nodes())
                                        : vgpualloc::make_policies(asked.policy, asked.device_policy, parameters);
    if (!policies) return unexpected(std::move(policies).error());
    result.policies = std::make_shared<const vgpualloc::owned_policies>(*std::move(policies));
    have_learned(result.policies->pair(), state, asked);
    return result;
}

/// One cluster that a question is about.
class questioner {
public:
    questioner(kube::snapshot& state, const std::vector<kube::manifest>& objects, const question& asked,
               const std::vector<layout_change>& layouts, named_kinds templates, scorers chosen)
        : state_{&state}, objects_{&objects}, asked_{&asked}, layouts_{&layouts}, templates_{std::move(templates)},
          scorers_{std::move(chosen)}, decider_{*state.book, scorers_.policies->pair()}, requests_{state.requests()} {
        // Where there are pods, what is added changes nothing of what is idle before.
        if (requests_.empty()) requests_ = added_requests(state, asked);
    }

    expected<answer> run() {
        result_.policy = asked_->policy;
        result_.device_policy = asked_->device_policy.empty() ? asked_->policy : asked_->device_policy;
        result_.seed = asked_->seed;
        result_.is_anew = asked_->wanted.anew;
        result_.warnings = state_->warnings;
        const std::vector<bool> counted_before = counted_pods(*state_);
        if (!asked_->places_only) {
            result_.before = figures();
            result_.view_before = view(counted_before);
        }
        if (asked_->stop.raised()) return unexpected(vgpualloc::stop_signal::stopped());
        const facts_by_node facts_before = facts_of(*state_);
        // A node is added as the one that it is like will be, and may be like one that is lost.
        auto evicted = apply(*state_, {.modes = asked_->wanted.modes}, *objects_, {}, templates_);
        if (!evicted) return unexpected(evicted.error());
        for (const pod_id pod : *evicted) recut_.insert(state_->bound[pod.at()].pod.full_name());
        std::vector<std::pair<node_kind, std::int64_t>> added;
        for (const node_addition& entry : asked_->wanted.added_nodes) {
            auto kind = kind_named(entry.kind, "--add-nodes");
            if (!kind) return unexpected(kind.error());
            added.emplace_back(*std::move(kind), entry.nodes);
        }
        node_kind looked_for;
        if (!asked_->find_kind.empty()) {
            auto kind = kind_named(asked_->find_kind, "--find-nodes");
            if (!kind) return unexpected(kind.error());
            looked_for = *std::move(kind);
        }
        std::vector<std::string> node_names;
        for (const auto& node : state_->nodes().nodes) node_names.push_back(node.name);
        evicted = apply(*state_,
                        {.uncordoned = asked_->wanted.uncordoned,
                         .drained = asked_->wanted.drained,
                         .failed = asked_->wanted.failed,
                         .anew = asked_->wanted.anew},
                        *objects_, *std::move(evicted), {}, &result_.not_evicted);
        if (!evicted) return unexpected(evicted.error());
        warn_of_lost_modes(asked_->wanted, asked_->find_kind, *state_, result_.warnings);
        if (result_.is_anew) note_kept_bare();
        note_ended(counted_before, *evicted, node_names);
        for (const auto& [kind, count] : added) static_cast<void>(add_nodes(*state_, kind, count));
        const bool has_other_nodes = !asked_->find_kind.empty() || !added.empty() || !asked_->wanted.failed.empty() ||
                                     !asked_->wanted.modes.empty();
        queue_ = make_queue(*state_, node_names, *objects_, *evicted, asked_->wanted.added_pods, asked_->stop,
                            has_other_nodes);
        if (!result_.is_anew) hold_refused(*objects_, queue_); // nothing is deleted for a cluster placed anew
        if (asked_->stop.raised()) return unexpected(stop_signal::stopped());
        if (!asked_->find_kind.empty()) find(looked_for);
        if (asked_->stop.raised()) return unexpected(stop_signal::stopped());
        place();
        if (asked_->stop.raised()) return unexpected(stop_signal::stopped());
        if (asked_->places_only) return std::move(result_);
        result_.after = figures();
        result_.view_after = view(counted_before);
        result_.nodes = compare_nodes(facts_before, facts_of(*state_), *layouts_);
        add_verdicts(*state_, decider_, result_, asked_->stop);
        if (asked_->stop.raised()) return unexpected(stop_signal::stopped());
        forget_rules_looked_at();
        std::vector<const kube::snapshot_pod*> pods;
        for (const queued_pods& entry : queue_.pods) pods.push_back(&entry.pod);
        result_.not_considered = explaining::not_considered(*state_, pods);
        std::ranges::copy(queue_.not_looked_at, std::back_inserter(result_.not_considered));
        note_unknown_gpus();
        return std::move(result_);
    }

private:
    expected<node_kind> kind_named(const std::string& name, const std::string& option) {
        if (const auto known = templates_.find(name); known != templates_.end()) return known->second;
        auto where = find_node(*state_, name, option);
        if (where) return kind_of(*state_, *where);
        std::string names;
        for (const auto& [template_name, kind] : templates_) {
            if (template_name.find('/') == std::string::npos) names += ", " + template_name; // else a node that is cut
        }
        if (!names.empty()) where.error().add("; or a template:" + names.substr(1));
        return unexpected(where.error());
    }

    [[nodiscard]] pod_id first_id() const { return pod_id{state_->bound.size()}; }

    [[nodiscard]] cluster_view view(const std::vector<bool>& counted) const {
        return view_of(*state_, counted,
                       asked_->catalog ? asked_->catalog->power : vgpualloc::built_in_power_catalog());
    }

    /// Pods that were released and are not to be placed.
    void note_ended(const std::vector<bool>& counted_before, const std::vector<pod_id>& evicted,
                    const std::vector<std::string>& node_names) {
        for (std::size_t i = 0; i < counted_before.size(); ++i) {
            const pod_id pod{i};
            if (!counted_before[i] || state_->book->is_live(pod) || std::ranges::binary_search(evicted, pod)) continue;
            const kube::bound_pod& bound = state_->bound[i];
            result_.ended.push_back({.name = bound.pod.full_name(), .node = node_names[bound.node.at()]});
        }
        std::ranges::sort(result_.ended, {}, &ended_pod::name);
    }

    void note_kept_bare() {
        for (const pod_id pod : kube::kept_without_controller(*state_, *objects_, {})) {
            const auto* const booked = state_->book->find_booking(pod);
            if (booked != nullptr && !booked->where.shares.empty()) ++result_.kept_bare;
        }
    }

    /// Drains ask budgets.
    void forget_rules_looked_at() {
        std::erase_if(state_->rule_objects,
                      [](const kube::rule_object& object) { return object.kind == "PodDisruptionBudget"; });
    }

    /// All pods of a node that is cut restart where a plugin does not tell which of its GPUs they are on.
    void note_unknown_gpus() {
        for (const layout_change& change : *layouts_) {
            const bool has_pods = std::ranges::any_of(result_.pods, [&](const pod_answer& entry) {
                return entry.is_recut && entry.asked.from == change.node;
            });
            if (!has_pods) continue;
            result_.not_considered.push_back("which GPUs of " + change.node +
                                             " are busy (NVIDIA's plugin does not tell)");
        }
    }

    void find(const node_kind& kind) {
        kind_answer answered{.kind = asked_->find_kind,
                             .found =
                                 find_nodes(*state_, decider_, queue_, kind, first_id(), asked_->solver, asked_->stop)};
        if (asked_->stop.raised()) return;
        answered.held_words = words_of_held(decider_, queue_);
        answered.never_words = words_of_never(*state_, queue_, answered.found.never, asked_->stop);
        if (!answered.found.never.empty()) add_never(kind, answered);
        if (answered.found.nodes) static_cast<void>(add_nodes(*state_, kind, *answered.found.nodes));
        result_.kind = std::move(answered);
    }

    /// Why one node of the kind takes none of the pods that never fit; pods that ask for the same have the same answer.
    void add_never(const node_kind& kind, kind_answer& answered) {
        vgpualloc::trial scope{*state_->book};
        const auto added = add_nodes(*state_, kind, 1);
        std::map<std::pair<std::string, vgpualloc::pod_request>, kind_refusal> refusals; // by dialect and request
        for (std::size_t position = 0; position < answered.found.never.size(); ++position) {
            if (asked_->stop.raised()) break;
            const kube::snapshot_pod& pod = queue_.pods[answered.found.never[position]].pod;
            const auto [known, is_new] = refusals.try_emplace({pod.dialect, pod.request});
            if (is_new) known->second = refusal_of(pod, added.front());
            pod_without_help& without_help = answered.never_words[position];
            std::string why = known->second.why;
            if (why.empty()) {
                why = "its gang has fewer pods than have to run together";
                without_help = {.words = why};
            } else if (without_help.words.empty()) {
                without_help.words = known->second.words;
            }
            answered.never.push_back(std::move(why));
        }
        scope.undo();
        forget_nodes(*state_, added);
    }

    [[nodiscard]] kind_refusal refusal_of(const kube::snapshot_pod& pod, node_index where) const {
        const auto explained = answers_to(pod);
        const bool asks = explained && explained->nodes.size() > where.at();
        if (!asks) return {.why = explained.error().message(), .words = explained.error().message()};
        return {.why = explaining::words_of(explained->nodes[where.at()].refused),
                .words = words_of_refusal(*state_, pod, *explained, where)};
    }

    void place() {
        const auto note_refusal = [this](std::size_t position) {
            const kube::snapshot_pod& pod = queue_.pods[position].pod;
            if (asked_->places_only || refusals_.contains(pod.request)) return;
            const auto words = answers_to(pod);
            refusals_.emplace(pod.request, words ? classes_of(*words) : std::vector<explaining::refusing_nodes>{});
        };
        queue_outcome outcome = place_all(*state_, decider_, queue_, first_id(), note_refusal, asked_->stop);
        stop_signal stop = asked_->stop;
        result_.placed = outcome.placed;
        result_.refused = outcome.refused;
        for (const queued_pods& entry : queue_.pods) result_.held_back += entry.held;
        for (std::size_t i = 0; i < queue_.pods.size() && !stop.poll(); ++i) {
            entry_outcome& entry = outcome.entries[i];
            pod_answer answered{.asked = queue_.pods[i]};
            answered.has_devices = show::asks_for_devices(answered.asked.pod);
            answered.is_recut =
                answered.asked.origin == pod_origin::evicted && recut_.contains(answered.asked.pod.full_name());
            answered.placed.reserve(entry.placed.size());
            for (const auto& where : entry.placed) answered.placed.push_back(explaining::name_place(*state_, where));
            entry.placed = {}; // may be a million
            answered.refused = entry.refused;
            answered.gang_fitting = entry.gang_fitting;
            if (entry.refused > 0) explain_refusal(entry, answered);
            result_.pods.push_back(std::move(answered));
        }
    }

    [[nodiscard]] expected<explaining::explanation> answers_to(const kube::snapshot_pod& pod) const {
        return explaining::explain(*state_, pod,
                                   {.policy = asked_->policy,
                                    .device_policy = asked_->device_policy,
                                    .make_policies = asked_->make_policies,
                                    .learned = scorers_.policies,
                                    .seed = asked_->seed,
                                    .stop = asked_->stop});
    }

    void explain_refusal(const entry_outcome& outcome, pod_answer& answered) {
        const queued_pods& entry = answered.asked;
        if (entry.unreadable) {
            answered.why = entry.unreadable->message();
            return;
        }
        if (outcome.reasons == vgpualloc::rejection{}) return; // its gang is why: alone it would fit
        if (const auto known = refusals_.find(entry.pod.request); known != refusals_.end()) {
            answered.classes = known->second;
        }
        answered.why = explaining::scheduling_message(outcome.reasons, present_nodes());
    }

    [[nodiscard]] std::size_t present_nodes() const {
        std::size_t present = 0;
        for (std::size_t n = 0; n < state_->nodes().nodes.size(); ++n) {
            present += static_cast<std::size_t>(state_->book->is_present(node_index{n}));
        }
        return present;
    }

    /// The refusals of all nodes that are there, those of nodes that are alike as one.
    [[nodiscard]] std::vector<explaining::refusing_nodes> classes_of(const explaining::explanation& explained) const {
        return explaining::groups_of_refusals(
            explained, [this](std::size_t n) { return state_->book->is_present(node_index{n}); });
    }

    [[nodiscard]] cluster_figures figures() {
        cluster_figures result;
        vgpualloc::fragmentation_model model{scorers_.typical};
        double unusable = 0.0; // whole numbers: their sum does not depend on the order
        double stranded = 0.0;
        for (std::size_t n = 0; n < state_->nodes().nodes.size(); ++n) {
            const node_index where{n};
            if (!state_->book->is_present(where)) continue;
            if (asked_->stop.raised()) return result;
            ++result.nodes;
            add_devices(where, result);
            const auto& host = state_->book->host(where);
            result.pods += host.pods;
            result.cpu_milli += state_->nodes().nodes[n].cpu.count();
            result.cpu_used_milli += host.cpu.count();
            const auto view = decider_.view_of(where);
            const auto buckets = model.buckets(*view.config, view.cpu_left);
            const auto idle = [&buckets](vgpualloc::fragmentation_bucket bucket) {
                return buckets.milli[static_cast<std::size_t>(bucket)];
            };
            unusable += std::round(buckets.unusable());
            stranded += std::round(idle(vgpualloc::fragmentation_bucket::lack_cpu) +
                                   idle(vgpualloc::fragmentation_bucket::xr_lack_cpu) +
                                   idle(vgpualloc::fragmentation_bucket::lack_both));
        }
        if (!scorers_.typical.typical.empty()) {
            result.fragmentation_milli = static_cast<std::int64_t>(unusable);
            result.stranded_milli = static_cast<std::int64_t>(stranded);
        }
        result.idle = show::mean_idle(*state_, requests_, asked_->stop);
        return result;
    }

    void add_devices(node_index where, cluster_figures& to) const {
        const auto states = state_->book->devices(where);
        const auto services = state_->book->services(where);
        const vgpualloc::host_facts& host = state_->nodes().nodes[where.at()].host;
        for (std::size_t d = 0; d < states.size(); ++d) {
            const auto& spec = state_->nodes().spec_of(where, device_index{d});
            ++to.devices;
            if (services[d] != vgpualloc::service_state::in_service || !host.ready || host.unschedulable)
                ++to.out_of_service;
            if (!host.ready) {
                ++to.on_nodes_not_ready;
            } else if (host.unschedulable) {
                ++to.on_cordoned_nodes;
            }
            if (states[d] != vgpualloc::device_state{}) ++to.devices_used;
            to.allocated_milli += spec.mode->used(spec, states[d]).count();
            to.memory_mib += spec.memory.count();
            to.memory_used_mib += spec.mode->use(spec, states[d]).memory.count();
        }
    }

    kube::snapshot* state_;
    const std::vector<kube::manifest>* objects_;
    const question* asked_;
    const std::vector<layout_change>* layouts_;
    std::set<std::string> recut_; ///< pods that a change of mode evicted
    named_kinds templates_;
    scorers scorers_;
    vgpualloc::allocator decider_;
    std::vector<vgpualloc::counted_request> requests_; ///< of the cluster as it was given
    pod_queue queue_;
    /// By request: what nodes answered to the first pod that found no place.
    std::map<vgpualloc::pod_request, std::vector<explaining::refusing_nodes>> refusals_;
    answer result_;
};

} // namespace

expected<std::shared_ptr<const kube::snapshot>> read_start(const std::vector<kube::manifest>& objects,
                                                           const vgpualloc::dialect_set& dialects,
                                                           const stop_signal& stop) {
    auto state = kube::make_snapshot(objects, dialects, stop);
    if (!state) return unexpected(std::move(state).error());
    return std::make_shared<const kube::snapshot>(*std::move(state));
}

expected<std::shared_ptr<const vgpualloc::owned_policies>> learned_policies(const kube::snapshot& start,
                                                                            const question& asked) {
    auto scorers = make_scorers(start, {.policy = asked.policy,
                                        .device_policy = asked.device_policy,
                                        .make_policies = asked.make_policies,
                                        .seed = asked.seed,
                                        .stop = asked.stop});
    if (!scorers) return unexpected(std::move(scorers).error());
    return scorers->policies->pair().learns() ? std::move(scorers->policies) : nullptr;
}

expected<answer> answer_of(const std::vector<kube::manifest>& objects, const vgpualloc::dialect_set& dialects,
                           question original) {
    if (auto checked = check_templates(objects, original); !checked) return unexpected(checked.error());
    kube::pod_admission admission{objects, original.wanted.added_pods};
    for (kube::manifest& object : original.wanted.added_pods) {
        if (!object.pod) continue;
        if (auto refusal = admission.admit(object)) object.problems.push_back(*std::move(refusal));
    }
    std::vector<layout_change> layouts;
    auto described = with_more_templates(objects, dialects, std::move(original), layouts);
    if (!described) return unexpected(described.error());
    question& asked = *described;
    std::vector<kube::manifest> with_templates; // a copy of all objects, which a cluster alone does without
    for (const kube::manifest& object : asked.templates) {
        if (!object.node && object.kind != "ConfigMap") continue; // one may say more of a node
        if (with_templates.empty()) with_templates = objects;
        with_templates.push_back(object);
    }
    const bool begins_with_start = asked.start && with_templates.empty();
    auto state = begins_with_start
                     ? expected<kube::snapshot>{asked.start->copy()}
                     : kube::make_snapshot(with_templates.empty() ? objects : with_templates, dialects, asked.stop);
    if (!state) return unexpected(state.error());
    if (!begins_with_start || !asked.wanted.added_pods.empty()) asked.learned = nullptr; // it is of other nodes or pods
    warn_of_pods_there(objects, asked.wanted.added_pods, state->warnings);
    state->expect_pods(asked.wanted.added_pods);
    auto templates = take_templates(*state, asked.templates, "--node-template");
    if (!templates) return unexpected(templates.error());
    auto chosen = make_scorers(*state, asked);
    if (asked.stop.raised()) return unexpected(stop_signal::stopped());
    if (!chosen) return unexpected(std::move(chosen).error());
    auto answered = questioner{*state, objects, asked, layouts, *std::move(templates), *std::move(chosen)}.run();
    if (!answered) return answered;
    answered->layouts = std::move(layouts);
    for (std::string& rule : admission.not_looked_at()) answered->not_considered.push_back(std::move(rule));
    return answered;
}

} // namespace vgpuops::whatif
