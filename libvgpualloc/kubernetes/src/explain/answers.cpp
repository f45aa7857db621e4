// What every node and device answers, and the choice.
#include "vgpualloc/explain/answers.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "idle_devices.hpp"
#include "node.hpp"
#include "peer_words.hpp"
#include "ranking.hpp"
#include "unread.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/alloc/refusal.hpp"
#include "vgpualloc/explain/not_considered.hpp"
#include "vgpualloc/explain/part_words.hpp"
#include "vgpualloc/explain/words.hpp"
#include "vgpualloc/kube/annotations.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpualloc::explaining {

using kube::snapshot;
using kube::snapshot_pod;

namespace {

/// Asks all nodes about one pod.
class explainer {
public:
    explainer(const snapshot& state, const snapshot_pod& pod, policy_pair scorers, const stop_signal& stop)
        : state_{&state}, pod_{&pod}, scorer_{scorers.node}, device_scorer_{scorers.device},
          decider_{*state.book, scorers}, stop_{stop} {
        for (const auto& entry : pod.request.containers) view_.devices += entry.count;
        view_.request = &pod.request;
    }

    /// Error: stopped.
    expected<void> explain(explanation& explained) {
        decided_ = decider_.decide(known_request());
        const auto& decided = decided_;
        for (std::size_t n = 0; n < state_->nodes().nodes.size(); ++n) {
            if (stop_.raised()) return unexpected(stop_signal::stopped()); // a node with all its devices takes long
            explained.nodes.push_back(node(node_index{n}));
        }
        if (!decided) {
            explained.reasons = decided.error();
            return {};
        }
        explained.chosen = decided->node.at();
        explained.nodes[*explained.chosen].shares = shares(*decided, decided->node);
        if (auto written = kube::annotations_of(*state_, *pod_, *decided, "<time>"))
            explained.annotations = *std::move(written);
        else
            explained.notes.push_back("no annotations: " + written.error().message());
        note_fault_domains(*decided, explained);
        explain_choice(explained);
        return {};
    }

    /// Books all pods, or one on every node, or fewer if an end is wanted. explain() comes before, and its choice is
    /// the first one's.
    void place_replicas(const pods_wanted& wanted, ledger_pods& pods, replica_answer& answer) {
        if (wanted.one_per_node) return place_on_every_node(wanted, pods, answer);
        const std::int64_t count = wanted.admitted.value_or(wanted.count);
        if (count == 0) return;
        if (decided_) book(*decided_, pods, answer);
        while (!answer.placed.empty() && std::cmp_less(answer.placed.size(), count) && !stop_.poll()) {
            decided_ = decider_.decide(known_request());
            if (!decided_) break;
            book(*decided_, pods, answer);
        }
        if (!decided_) answer.next = scheduling_message(decided_.error(), state_->nodes().nodes.size());
    }

private:
    [[nodiscard]] request_id known_request() {
        const auto request = decider_.intern(pod_->request);
        VGA_ASSERT(request.has_value(), "what a dialect reads is within the core's limits");
        return *request;
    }

    void book(const placement& where, ledger_pods& pods, replica_answer& answer) {
        const auto adopted = state_->book->adopt(booking_for(pods.next_id(), pod_->request, where));
        VGA_ASSERT(adopted.has_value(), "the ledger accepts what the allocator decides");
        pods.add(*pod_);
        answer.placed.push_back({.node = where.node.at(), .shares = shares(where, where.node)});
    }

    void place_on_every_node(const pods_wanted& wanted, ledger_pods& pods, replica_answer& answer) {
        for (std::size_t n = 0; n < state_->nodes().nodes.size() && !stop_.poll(); ++n) {
            if (wanted.admitted && std::ssize(answer.placed) >= *wanted.admitted) return;
            const node_decision decision = decider_.ask_node(node_index{n}, pod_->request);
            if (decision.answer.code == rejection_code::none) book(decision.where, pods, answer);
        }
    }

    void note_fault_domains(const placement& decided, explanation& explained) const {
        std::map<std::size_t, device_state> devices; // with those that run there and the pod's own
        for (const device_share& share : decided.shares) {
            const device_spec& spec = state_->nodes().spec_of(decided.node, share.device);
            if (!spec.mode->shares_faults()) continue;
            const device_state running = state_->book->devices(decided.node)[share.device.at()];
            device_state& with = devices.try_emplace(share.device.at(), running).first->second;
            with = spec.mode->with(spec, with, share.part);
        }
        for (const auto& [device, with] : devices) {
            const auto count =
                state_->nodes().spec_of(decided.node, device_index{device}).mode->fault_domain_size(with);
            if (count < 2) continue;
            const auto& on = state_->device(decided.node, device_index{device}).registered;
            const bool whole = count == with.slots;
            explained.notes.push_back(
                fmt::format("{} (mode {}): a fatal fault of one container takes {} {} on it with it", on.uuid, on.mode,
                            whole ? "all" : "up to", count));
        }
    }

    /// Whether which of equal devices a node gives is only known when it is drawn.
    [[nodiscard]] bool draws_devices() const {
        return device_scorer_->traits().devices == ties::drawn && device_scorer_->draws_device_for(view_);
    }

    [[nodiscard]] explained_node node(node_index where) {
        const node_decision decision = decider_.ask_node(where, pod_->request);
        const auto& described = state_->nodes().nodes[where.at()];
        explained_node result{.name = described.name,
                              .cpu = described.cpu,
                              .memory = described.memory,
                              .refused = {},
                              .also = {},
                              .score = decision.answer.score,
                              .compromise = decision.answer.compromise,
                              .terms = {},
                              .shares = {},
                              .devices = devices(where, decision)};
        if (decision.answer.code != rejection_code::none) {
            result.refused = refusal_of(state_->nodes(), where, pod_->request, decision);
            result.also = further_refusals(decider_, *state_->book, where, pod_->request, decision, result.refused);
            name_peers(where, result);
            return result;
        }
        result.terms = terms_of(decider_, *scorer_, pod_->request, decision);
        if (!draws_devices()) result.shares = shares(decision.where, where);
        return result;
    }

    /// Says which other pods keep the pod away, where they do.
    void name_peers(node_index where, explained_node& of) const {
        const auto name = [&](refusal& refused) {
            const rejection_detail detail{
                .code = refused.code, .wanted = refused.wanted, .available = refused.available};
            if (std::string words = peer_words(*state_, where, pod_->request, detail); !words.empty()) {
                refused.rule = std::move(words);
                refused.wanted = 0;
                refused.available = 0;
            }
        };
        name(of.refused);
        std::ranges::for_each(of.also, name);
    }

    [[nodiscard]] std::vector<explained_share> shares(const placement& decided, node_index where) const {
        std::vector<explained_share> result;
        for (const device_share& share : decided.shares) {
            const auto& device = state_->device(where, share.device);
            result.push_back({.container = share.container,
                              .device = device.index,
                              .uuid = device.registered.uuid,
                              .part = describe_part(state_->nodes().spec_of(where, share.device), share.part)});
        }
        return result;
    }

    [[nodiscard]] std::vector<explained_device> devices(node_index where, const node_decision& decision) const {
        std::vector<explained_device> result;
        for (std::size_t d = 0; d < state_->devices[where.at()].size(); ++d) {
            result.push_back(device(where, device_index{d}));
        }
        for (std::size_t c = 0; c < decision.containers.size(); ++c) {
            const auto& answers = decision.containers[c];
            for (std::size_t d = 0; d < answers.size(); ++d) {
                result[d].containers.push_back(answer(where, device_index{d}, c, answers[d]));
            }
        }
        return result;
    }

    [[nodiscard]] explained_device device(node_index where, device_index which) const {
        const auto& spec = state_->nodes().spec_of(where, which);
        const auto& use = state_->book->devices(where)[which.at()];
        const auto& known = state_->device(where, which);
        return {.index = known.index,
                .uuid = known.registered.uuid,
                .model = spec.model,
                .family = spec.family,
                .mode = known.registered.mode,
                .dialect = known.dialect,
                .healthy = state_->book->services(where)[which.at()] == service_state::in_service,
                .overcommitted = state_->book->is_overcommitted(where, which),
                .shares_faults = spec.mode->shares_faults(),
                .memory = spec.memory,
                .memory_used = use.memory,
                .cores = spec.cores.count(),
                .cores_used = use.cores.count(),
                .slots = spec.slots,
                .slots_used = use.slots,
                .used = spec.mode->used(spec, use),
                .containers = {}};
    }

    [[nodiscard]] explained_answer answer(node_index where, device_index which, std::size_t container,
                                          const device_answer& own) const {
        const auto& spec = state_->nodes().spec_of(where, which);
        explained_answer result{
            .refused = {.code = own.refusal.code,
                        .wanted = own.refusal.wanted,
                        .available = own.refusal.available,
                        .unit = unit_of(own.refusal.code, &spec, &pod_->request.containers[container]),
                        .device = {},
                        .container = {}},
            .score = own.score,
            .parts = {}};
        for (const partition& part : own.parts) {
            result.parts.push_back(describe_part(spec, part));
        }
        return result;
    }

    /// Ranks the nodes as the allocator does: the smallest compromise, then the highest score, then the first.
    void explain_choice(explanation& explained) const {
        const auto rank = [&](std::size_t n) {
            return std::pair{-explained.nodes[n].compromise, explained.nodes[n].score};
        };
        const std::size_t chosen = *explained.chosen;
        bool compromise_decided = false;
        for (std::size_t n = 0; n < explained.nodes.size(); ++n) {
            if (!explained.nodes[n].refused.fits()) continue;
            ++explained.fitting;
            explained.tied += static_cast<std::size_t>(rank(n) == rank(chosen));
            if (n == chosen) continue;
            if (!explained.runner_up || rank(n) > rank(*explained.runner_up)) explained.runner_up = n;
        }
        if (explained.runner_up) {
            explained.margin = explained.nodes[chosen].score - explained.nodes[*explained.runner_up].score;
            compromise_decided = explained.nodes[*explained.runner_up].compromise > explained.nodes[chosen].compromise;
        }
        if (explained.fitting == 1)
            explained.reason = choice_reason::only_one_fits;
        else if (explained.tied > 1)
            explained.reason =
                scorer_->traits().nodes == ties::drawn ? choice_reason::drawn : choice_reason::first_of_equals;
        else
            explained.reason = compromise_decided ? choice_reason::less_compromise : choice_reason::highest_score;
    }

    const snapshot* state_;
    const snapshot_pod* pod_;
    policy* scorer_;
    policy* device_scorer_;
    allocator decider_;
    stop_signal stop_;
    request_view view_;
    expected<placement, rejection> decided_; ///< by explain(), then of the last replica
};

/// What of the pod nothing here reads, what of it does not count, and what its components would refuse.
void note_pod(const snapshot& state, const snapshot_pod& pod, std::vector<std::string>& notes) {
    const auto unread = state.dialects.resources_not_read(pod.object);
    for (std::string& words : unread_words(unread, pod.object)) notes.push_back(std::move(words));
    const dialect* const spoken = state.dialects.find(pod.dialect);
    if (spoken == nullptr) return;
    auto findings = spoken->check_pod(pod.object);
    for (const error& problem : findings.errors) notes.push_back(problem.message());
    std::ranges::move(findings.notes, std::back_inserter(notes));
}

/// What can be said of the pod's requests before any node is asked, container by container.
void note_findings(const snapshot& state, const snapshot_pod& pod, std::vector<std::string>& notes) {
    const dialect* const spoken = state.dialects.find(pod.dialect);
    if (spoken == nullptr || spoken->asks_as_one()) return;
    kubernetes::pod part = pod.object; // copied once: a copy for each container costs the square of their number
    for (const auto* const list : {&pod.object.init_containers, &pod.object.containers}) {
        const bool at_init = list == &pod.object.init_containers;
        if (at_init && !spoken->reads_init_containers()) continue;
        for (const kubernetes::container& container : *list) {
            part.init_containers.clear();
            part.containers.clear();
            (at_init ? part.init_containers : part.containers).push_back(container);
            const auto request = spoken->read_pod(part);
            if (!request) continue;
            for (const device_request& entry : request->containers) {
                auto findings = spoken->check(entry, container.name, idle_devices(*state.dialects.config().mig));
                for (const error& problem : findings.errors) notes.push_back(problem.message());
                for (std::string& note : findings.notes) notes.push_back(std::move(note));
            }
        }
    }
}

/// Explains a pod. If it is the first of `all`, these are placed and stay in the ledger; null: nothing is booked.
expected<explanation> explain_first(const snapshot& state, ledger_pods& pods, const snapshot_pod& pod,
                                    const pods_wanted* all, const explain_options& options) {
    if (pod.failure) return unexpected(*pod.failure);
    if (auto mistaken = state.dialects.mistaken_resources(pod.object); !mistaken.empty()) {
        mistaken.front().where = pod.place + ": " + mistaken.front().where;
        return unexpected(std::move(mistaken.front()));
    }
    if (!options.is_scheduler) {
        if (auto served = state.dialects.check_scheduler(pod.dialect, pod.scheduler_name); !served) {
            served.error().where = pod.place;
            return unexpected(std::move(served).error());
        }
    }
    if (options.served) {
        if (auto served = state.dialects.check_served(*options.served, pod.dialect, pod.object); !served) {
            served.error().where = pod.place;
            return unexpected(std::move(served).error());
        }
    }
    const auto ranks = ranking_for(state, pods, pod, options);
    if (!ranks) return unexpected(ranks.error());
    explanation result{.pod = pod, .policy = ranks->name, .policy_summary = ranks->summary, .notes = ranks->notes};
    result.not_considered = ranks->not_considered;
    explainer asks{state, pod, ranks->scorers(), options.stop};
    if (auto explained = asks.explain(result); !explained) return unexpected(std::move(explained).error());
    note_findings(state, pod, result.notes);
    note_pod(state, pod, result.notes);
    for (std::string& note : notes_of(state.dialects.config())) result.notes.push_back(std::move(note));
    for (const auto& spoken : state.dialects) {
        for (std::string& note : spoken->notes()) result.notes.push_back(std::move(note));
    }
    for (std::string& rule : not_considered(state, result, options.is_scheduler))
        result.not_considered.push_back(std::move(rule));
    if (all == nullptr) return result;
    result.replicas = {.kind = all->kind,
                       .wanted = all->count,
                       .one_per_node = all->one_per_node,
                       .min_available = all->min_available,
                       .admitted = all->admitted,
                       .held = all->held,
                       .short_of = all->short_of};
    asks.place_replicas(*all, pods, result.replicas);
    return result;
}

} // namespace

void explain_all(const snapshot& state, const std::vector<pods_wanted>& wanted, const explain_options& options,
                 const std::function<void(expected<explanation>)>& tell) {
    trial scope{*state.book};
    ledger_pods pods{state};
    for (const pods_wanted& entry : wanted) {
        auto explained = explain_first(state, pods, entry.pod, &entry, options);
        if (options.stop.raised()) return;
        tell(std::move(explained));
    }
}

expected<explanation> explain(const snapshot& state, const snapshot_pod& pod, const explain_options& options) {
    ledger_pods pods{state};
    return explain_first(state, pods, pod, nullptr, options);
}

} // namespace vgpualloc::explaining
