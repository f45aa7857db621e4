// The explanation of a decision.
#include "vgpualloc/explain/explain.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "node.hpp"
#include "part_words.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/explain/deviceshare.hpp"
#include "vgpualloc/kube/annotations.hpp"

namespace vgpualloc::explaining {

using kube::snapshot;
using kube::snapshot_pod;

std::string refusal::text() const {
    std::string made{to_string(code)};
    if (code == rejection_code::device_in_use) {
        return fmt::format("{}: {} {} on it", made, available, available == 1 ? "container" : "containers");
    }
    if (code == rejection_code::device_taken_whole || (wanted == 0 && available == 0)) return made;
    const std::string of = unit.empty() ? "" : " " + unit;
    if (code == rejection_code::no_free_instance) return fmt::format("{}: wanted {}{}", made, wanted, of);
    const auto has = code == rejection_code::instance_memory_unknown ? "known to have" : "available";
    return fmt::format("{}: wanted {}{}, {} {}{}", made, wanted, of, has, available, of);
}

std::string scheduling_message(const rejection& reasons, std::size_t nodes) {
    std::vector<std::pair<std::int64_t, std::size_t>> counts; // negated, so that sorting puts the most frequent first
    for (std::size_t code = 1; code < reasons.nodes.size(); ++code) {
        if (reasons.nodes[code] > 0) counts.emplace_back(-reasons.nodes[code], code);
    }
    std::ranges::sort(counts);
    std::string list;
    for (const auto& [count, code] : counts) {
        list += fmt::format("{}{} {}", list.empty() ? " " : ", ", -count, to_string(static_cast<rejection_code>(code)));
    }
    return fmt::format("0/{} nodes are available:{}.", nodes, list);
}

namespace {

/// Asks all nodes about one pod.
class explainer {
public:
    explainer(snapshot& in, const snapshot_pod& pod, policy& scorer, lone_scorer of_lone_nodes)
        : in_{&in}, pod_{&pod}, scorer_{&scorer}, of_lone_nodes_{std::move(of_lone_nodes)},
          pair_{.node = &scorer, .device = &scorer}, decides_{*in.book, pair_}, asks_{*in.book, pair_, false} {
        for (const auto& each : pod.request.containers) view_.devices += each.count;
        view_.request = &pod.request;
    }

    void explain(explanation& to) {
        const auto asked = decides_.intern(pod_->request);
        const auto answers = decides_.evaluate(asked);
        const auto decided = decides_.decide(asked);
        for (std::size_t n = 0; n < answers.size(); ++n) to.nodes.push_back(node(node_index{n}, answers[n]));
        if (!decided) {
            to.message = scheduling_message(decided.error(), answers.size());
            return;
        }
        to.chosen = decided->node.at();
        to.nodes[*to.chosen].shares = shares(*decided, decided->node);
        if (auto written = kube::annotations_of(*in_, *pod_, *decided, "<time>"))
            to.annotations = *std::move(written);
        else
            to.notes.push_back("no annotations: " + written.error().message());
        note_fault_domains(*decided, to);
        explain_choice(to);
    }

private:
    void note_fault_domains(const placement& decided, explanation& to) const {
        std::map<std::size_t, std::int64_t> containers; // by device: with those that run there
        for (const device_share& share : decided.shares) {
            if (!in_->nodes->spec_of(decided.node, share.device).mode->shares_faults()) continue;
            const auto running = in_->book->devices(decided.node)[share.device.at()].slots;
            ++containers.try_emplace(share.device.at(), running).first->second;
        }
        for (const auto& [device, count] : containers) {
            if (count < 2) continue;
            const auto& on = in_->device(decided.node, device_index{device}).registered;
            to.notes.push_back(fmt::format("{} (mode {}): a fatal fault of one container takes all {} on it with it",
                                           on.uuid, on.mode, count));
        }
    }

    /// Whether a node alone decides as it does among others, without draws or a history.
    [[nodiscard]] bool decides_alone() const {
        const policy_traits traits = scorer_->traits();
        return !traits.history && traits.view != looks_at::positions && traits.nodes == ties::in_order &&
               (traits.devices == ties::in_order || !scorer_->draws_device_for(view_));
    }

    [[nodiscard]] explained_node node(node_index where, const node_answer& answer) {
        explained_node made{.name = in_->nodes->nodes[where.at()].name,
                            .refused = {},
                            .score = answer.score,
                            .compromise = answer.compromise,
                            .terms = {},
                            .shares = {},
                            .devices = devices(where)};
        lone_node alone{*in_, where, *scorer_, of_lone_nodes_};
        if (answer.code != rejection_code::none) {
            made.score = 0.0;
            made.refused = alone.refused(pod_->request, answer.code);
            return made;
        }
        if (decides_alone()) {
            const auto best = alone.best(pod_->request);
            VGA_ASSERT(best.has_value(), "a node that answered yes has a placement");
            made.terms = alone.terms(pod_->request, *best);
            made.shares = shares(*best, where);
        } else {
            made.terms = {{.policy = std::string{scorer_->name()}, .weight = 1.0, .score = answer.score}};
        }
        return made;
    }

    [[nodiscard]] std::vector<explained_share> shares(const placement& of, node_index where) const {
        std::vector<explained_share> made;
        for (const auto& each : of.shares) {
            const auto& from = in_->device(where, each.device);
            made.push_back(
                {.container = each.container,
                 .device = from.index,
                 .uuid = from.registered.uuid,
                 .part = describe_part(in_->nodes->spec_of(where, each.device), from.registered, each.part)});
        }
        return made;
    }

    [[nodiscard]] std::vector<explained_device> devices(node_index where) {
        std::vector<explained_device> made;
        for (std::size_t d = 0; d < in_->devices[where.at()].size(); ++d) {
            made.push_back(device(where, device_index{d}));
        }
        for (std::size_t c = 0; c < pod_->request.containers.size(); ++c) {
            const auto answers = asks_.ask_devices(where, pod_->request, c);
            for (std::size_t d = 0; d < answers.size(); ++d) {
                made[d].containers.push_back(answer(where, device_index{d}, c, answers[d]));
            }
        }
        return made;
    }

    [[nodiscard]] explained_device device(node_index where, device_index which) const {
        const auto& spec = in_->nodes->spec_of(where, which);
        const auto& state = in_->book->devices(where)[which.at()];
        const auto& from = in_->device(where, which);
        return {.index = from.index,
                .uuid = from.registered.uuid,
                .model = spec.model,
                .family = spec.family,
                .mode = std::string{spec.mode->name()},
                .dialect = from.dialect,
                .healthy = spec.healthy,
                .overcommitted = in_->book->is_overcommitted(where, which),
                .shares_faults = spec.mode->shares_faults(),
                .memory = spec.memory,
                .memory_used = state.memory,
                .cores = spec.cores.count(),
                .cores_used = state.cores.count(),
                .slots = spec.slots,
                .slots_used = state.slots,
                .used = spec.mode->used(spec, state),
                .containers = {}};
    }

    [[nodiscard]] explained_answer answer(node_index where, device_index which, std::size_t container,
                                          const device_answer& from) const {
        const auto& spec = in_->nodes->spec_of(where, which);
        explained_answer made{
            .refused = {.code = from.refused.code,
                        .wanted = from.refused.wanted,
                        .available = from.refused.available,
                        .unit = unit_of(from.refused.code, &spec, &pod_->request.containers[container]),
                        .device = {},
                        .container = {}},
            .score = from.score,
            .parts = {}};
        for (const auto& each : from.ways) {
            made.parts.push_back(describe_part(spec, in_->device(where, which).registered, each));
        }
        return made;
    }

    /// Ranks the nodes as the allocator does: the smallest compromise, then the highest score, then the first.
    void explain_choice(explanation& to) const {
        const auto rank = [&](std::size_t n) { return std::pair{-to.nodes[n].compromise, to.nodes[n].score}; };
        const std::size_t chosen = *to.chosen;
        bool compromise_decided = false;
        for (std::size_t n = 0; n < to.nodes.size(); ++n) {
            if (!to.nodes[n].refused.fits()) continue;
            ++to.fitting;
            to.tied += static_cast<std::size_t>(rank(n) == rank(chosen));
            if (n == chosen) continue;
            if (!to.runner_up || rank(n) > rank(*to.runner_up)) to.runner_up = n;
        }
        if (to.runner_up) {
            to.margin = to.nodes[chosen].score - to.nodes[*to.runner_up].score;
            compromise_decided = to.nodes[*to.runner_up].compromise > to.nodes[chosen].compromise;
        }
        if (to.fitting == 1)
            to.reason = choice_reason::only_one_fits;
        else if (to.tied > 1)
            to.reason = scorer_->traits().nodes == ties::drawn ? choice_reason::drawn : choice_reason::first_of_equals;
        else
            to.reason = compromise_decided ? choice_reason::less_compromise : choice_reason::highest_score;
    }

    snapshot* in_;
    const snapshot_pod* pod_;
    policy* scorer_;
    lone_scorer of_lone_nodes_;
    policy_pair pair_;
    allocator decides_;
    naive_allocator asks_;
    request_view view_;
};

std::string summary_of(const std::string& policy) {
    for (const auto& each : all_policies()) {
        if (each.name == policy) return std::string{each.summary};
    }
    return "a sum of scores, each times its weight";
}

/// How plugin deviceshare ranks for the pods of one dialect.
class deviceshare_scorers {
public:
    deviceshare_scorers(const snapshot& state, const snapshot_pod& pod,
                        const dialects::volcano::plugin_arguments& arguments)
        : state_{&state}, spoken_{state.dialects.find(pod.dialect)},
          ranking_{spoken_ == nullptr ? deviceshare_ranking::first_fit : spoken_->deviceshare(pod.object).ranking},
          options_{.policy = arguments.schedule_policy, .weight = arguments.schedule_weight} {
        if (spoken_ == nullptr) return;
        for (std::size_t i = 0; i < state.dialects.size(); ++i) {
            if (&state.dialects[i] == spoken_) extended_ = state.extended[i];
        }
    }

    [[nodiscard]] std::unique_ptr<policy> among_all() const {
        auto options = options_;
        options.extended = extended_;
        options.extended_booked = [state = state_, spoken = spoken_](const booking& booked) {
            const snapshot_pod& pod = state->bound[booked.pod.at()].pod;
            return spoken != nullptr && pod.dialect == spoken->name() ? spoken->extended_of(pod.object) : 0;
        };
        return make_deviceshare_policy(ranking_, std::move(options), *state_->nodes);
    }
    [[nodiscard]] std::unique_ptr<policy> alone(const cluster& lone, node_index where) const {
        auto options = options_;
        if (!extended_.empty()) options.extended = {extended_[where.at()]};
        return make_deviceshare_policy(ranking_, std::move(options), lone);
    }

private:
    const snapshot* state_;
    const dialect* spoken_; ///< null: the pod asks for no device
    deviceshare_ranking ranking_;
    deviceshare_options options_;
    std::vector<std::int64_t> extended_; ///< by node
};

expected<explanation> by_deviceshare(snapshot& state, const snapshot_pod& pod,
                                     const dialects::volcano::plugin_arguments& arguments) {
    if (auto enabled = state.dialects.check_enabled(arguments, pod.dialect, pod.object); !enabled) {
        enabled.error().where = pod.place + ": pod " + pod.full_name();
        return unexpected(std::move(enabled).error());
    }
    const deviceshare_scorers scorers{state, pod, arguments};
    const auto scorer = scorers.among_all();
    const std::string& order = arguments.schedule_policy;
    const std::int64_t weight = arguments.schedule_weight;
    explanation result{.pod = pod,
                       .policy = std::string{scorer->name()},
                       .policy_summary = fmt::format("as Volcano's plugin ranks, SchedulePolicy {}, ScheduleWeight {}",
                                                     order.empty() ? "none" : order, weight),
                       .message = {}};
    if (weight <= 0 && scorer->name() == "deviceshare") {
        result.notes.emplace_back("deviceshare.ScheduleWeight is not above 0: the plugin ranks cards, but no nodes");
    }
    const lone_scorer alone = [&](const cluster& lone, node_index where) { return scorers.alone(lone, where); };
    explainer{state, pod, *scorer, alone}.explain(result);
    return result;
}

expected<explanation> by_policy(snapshot& state, const snapshot_pod& pod, const explain_options& options) {
    policy_parameters parameters{.target = state.typical(), .seed = options.seed};
    if (parameters.target.typical.empty()) {
        parameters.target.typical = {
            {.cpu = pod.request.cpu, .containers = pod.request.containers, .frequency = 1.0, .weight = 1}};
    }
    const auto scorer = make_policy(options.policy, parameters);
    if (!scorer) return unexpected(scorer.error());
    explanation result{
        .pod = pod, .policy = options.policy, .policy_summary = summary_of(options.policy), .message = {}};
    explainer{state, pod, **scorer, {}}.explain(result);
    return result;
}

} // namespace

expected<explanation> explain(snapshot& state, const snapshot_pod& pod, const explain_options& options) {
    if (pod.failure) return unexpected(*pod.failure);
    if (auto unread = state.dialects.resources_not_read(pod.object); !unread.empty()) {
        unread.front().where = pod.place + ": " + unread.front().where;
        return unexpected(std::move(unread.front()));
    }
    auto result =
        options.deviceshare ? by_deviceshare(state, pod, *options.deviceshare) : by_policy(state, pod, options);
    if (!result) return result;
    for (const auto& spoken : state.dialects) {
        for (std::string& note : spoken->notes()) result->notes.push_back(std::move(note));
    }
    return result;
}

} // namespace vgpualloc::explaining
