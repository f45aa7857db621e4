// The explanation of a decision.
#include "vgpualloc/explain/explain.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "../kube/annotations.hpp"
#include "../kube/dialects.hpp"
#include "node.hpp"
#include "part_words.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/compat/all.hpp"

namespace vgpusim {

using vgpualloc::node_index;
using vgpualloc::policy;
using vgpualloc::rejection_code;

std::string refusal::text() const {
    std::string made{vgpualloc::to_string(code)};
    if (code == rejection_code::device_in_use) {
        return fmt::format("{}: {} {} on it", made, available, available == 1 ? "container" : "containers");
    }
    if (code == rejection_code::device_taken_whole || (wanted == 0 && available == 0)) return made;
    const std::string of = unit.empty() ? "" : " " + unit;
    if (code == rejection_code::no_free_instance) return fmt::format("{}: wanted {}{}", made, wanted, of);
    const auto has = code == rejection_code::instance_memory_unknown ? "known to have" : "available";
    return fmt::format("{}: wanted {}{}, {} {}{}", made, wanted, of, has, available, of);
}

std::string scheduling_message(const vgpualloc::rejection& reasons, std::size_t nodes) {
    std::vector<std::pair<std::int64_t, std::size_t>> counts; // negated, so that sorting puts the most frequent first
    for (std::size_t code = 1; code < reasons.nodes.size(); ++code) {
        if (reasons.nodes[code] > 0) counts.emplace_back(-reasons.nodes[code], code);
    }
    std::ranges::sort(counts);
    std::string list;
    for (const auto& [count, code] : counts) {
        list += fmt::format("{}{} {}", list.empty() ? " " : ", ", -count,
                            vgpualloc::to_string(static_cast<rejection_code>(code)));
    }
    return fmt::format("0/{} nodes are available:{}.", nodes, list);
}

namespace {

/// Asks all nodes about one pod.
class explainer {
public:
    explainer(const snapshot& in, const snapshot_pod& pod, policy& scorer)
        : in_{&in}, pod_{&pod}, scorer_{&scorer}, decides_{*in.book, {.node = &scorer, .device = &scorer}} {
        for (const auto& each : pod.request.containers) view_.devices += each.count;
        view_.request = &pod.request;
    }

    void explain(explanation& to) {
        const auto request = decides_.intern(pod_->request);
        VGA_ASSERT(request.has_value(), "the dialects' limits are within those of the core");
        const auto decided = decides_.decide(*request);
        const std::size_t nodes = in_->nodes().nodes.size();
        for (std::size_t n = 0; n < nodes; ++n) to.nodes.push_back(node(node_index{n}));
        if (!decided) {
            to.message = scheduling_message(decided.error(), nodes);
            return;
        }
        to.chosen = decided->node.at();
        to.nodes[*to.chosen].shares = shares(*decided, decided->node);
        if (auto written = annotations_of(*in_, *pod_, *decided))
            to.annotations = *std::move(written);
        else
            to.notes.push_back("no annotations: " + written.error().message());
        note_fault_domains(*decided, to);
        explain_choice(to);
    }

private:
    void note_fault_domains(const vgpualloc::placement& decided, explanation& to) const {
        std::map<std::size_t, std::int64_t> containers; // by device: with those that run there
        for (const vgpualloc::device_share& share : decided.shares) {
            if (!in_->nodes().spec_of(decided.node, share.device).mode->shares_faults()) continue;
            const auto running = in_->book->devices(decided.node)[share.device.at()].slots;
            ++containers.try_emplace(share.device.at(), running).first->second;
        }
        for (const auto& [device, count] : containers) {
            if (count < 2) continue;
            const auto& on = in_->device(decided.node, vgpualloc::device_index{device}).registered;
            to.notes.push_back(fmt::format("{} (mode {}): a fatal fault of one container takes all {} on it with it",
                                           on.uuid, on.mode, count));
        }
    }

    /// Whether which of equal devices a node gives is only known when it is drawn.
    [[nodiscard]] bool draws_devices() const {
        return scorer_->traits().devices == vgpualloc::ties::drawn && scorer_->draws_device_for(view_);
    }

    [[nodiscard]] explained_node node(node_index where) {
        const auto decision = decides_.ask_node(where, pod_->request);
        explained_node result{.name = in_->nodes().nodes[where.at()].name,
                              .refused = {},
                              .score = decision.answer.score,
                              .compromise = decision.answer.compromise,
                              .terms = {},
                              .shares = {},
                              .devices = devices(where, decision)};
        if (decision.answer.code != rejection_code::none) {
            result.refused = refusal_of(*in_, where, pod_->request, decision);
            return result;
        }
        result.terms = terms_of(decides_, *scorer_, pod_->request, decision);
        if (!draws_devices()) result.shares = shares(decision.where, where);
        return result;
    }

    [[nodiscard]] std::vector<explained_share> shares(const vgpualloc::placement& of, node_index where) const {
        std::vector<explained_share> made;
        for (const auto& each : of.shares) {
            const auto& from = in_->device(where, each.device);
            made.push_back(
                {.container = each.container,
                 .device = from.index,
                 .uuid = from.registered.uuid,
                 .part = describe_part(in_->nodes().spec_of(where, each.device), from.registered, each.part)});
        }
        return made;
    }

    [[nodiscard]] std::vector<explained_device> devices(node_index where, const vgpualloc::node_decision& decision) {
        std::vector<explained_device> rows;
        for (std::size_t d = 0; d < in_->devices[where.at()].size(); ++d) {
            rows.push_back(device(where, vgpualloc::device_index{d}));
        }
        for (std::size_t c = 0; c < decision.containers.size(); ++c) {
            const auto& answers = decision.containers[c];
            for (std::size_t d = 0; d < answers.size(); ++d) {
                rows[d].containers.push_back(answer(where, vgpualloc::device_index{d}, c, answers[d]));
            }
        }
        return rows;
    }

    [[nodiscard]] explained_device device(node_index where, vgpualloc::device_index which) const {
        const auto& spec = in_->nodes().spec_of(where, which);
        const auto& state = in_->book->devices(where)[which.at()];
        const auto& from = in_->device(where, which);
        return {.index = from.index,
                .uuid = from.registered.uuid,
                .model = spec.model,
                .family = spec.family,
                .mode = std::string{spec.mode->name()},
                .dialect = from.dialect,
                .healthy = in_->book->services(where)[which.at()] == vgpualloc::service_state::in_service,
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

    [[nodiscard]] explained_answer answer(node_index where, vgpualloc::device_index which, std::size_t container,
                                          const vgpualloc::device_answer& from) const {
        const auto& spec = in_->nodes().spec_of(where, which);
        explained_answer made{
            .refused = {.code = from.refusal.code,
                        .wanted = from.refusal.wanted,
                        .available = from.refusal.available,
                        .unit = unit_of(from.refusal.code, &spec, &pod_->request.containers[container]),
                        .device = {},
                        .container = {}},
            .score = from.score,
            .parts = {}};
        for (const auto& each : from.parts) {
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
            to.reason = scorer_->traits().nodes == vgpualloc::ties::drawn ? choice_reason::drawn
                                                                          : choice_reason::first_of_equals;
        else
            to.reason = compromise_decided ? choice_reason::less_compromise : choice_reason::highest_score;
    }

    const snapshot* in_;
    const snapshot_pod* pod_;
    policy* scorer_;
    vgpualloc::allocator decides_;
    vgpualloc::request_view view_;
};

std::string summary_of(const std::string& policy) {
    for (const auto& each : all_policies()) {
        if (each.name == policy) return std::string{each.summary};
    }
    return "a sum of scores, each times its weight";
}

/// AI cores that Kubernetes counts for a bound pod: all that its containers ask for.
std::int64_t ai_cores_booked(const snapshot& in, const vgpualloc::booking& of) {
    const snapshot_pod& pod = in.bound[of.pod.at()].pod;
    std::int64_t cores = 0;
    for (const auto& each : pod.request.containers) {
        if (pod.dialect == "mindcluster") cores += each.count * each.cores.count();
    }
    return cores;
}

vgpualloc::expected<explanation> by_deviceshare(const snapshot& in, const snapshot_pod& pod,
                                                const vgpualloc::dialect::volcano::plugin_arguments& arguments) {
    const auto enabled = check_enabled(arguments, pod.dialect, pod.object);
    if (!enabled) {
        auto failure = enabled.error();
        failure.where = pod.place + ": pod " + pod.full_name();
        return vgpualloc::unexpected(std::move(failure));
    }
    deviceshare_ranking ranking{.policy = arguments.schedule_policy, .weight = arguments.schedule_weight};
    auto among_all = ranking;
    among_all.ai_cores = in.ai_cores;
    among_all.ai_cores_booked = [&in](const vgpualloc::booking& of) { return ai_cores_booked(in, of); };
    const auto scorer = make_deviceshare_policy(pod.dialect, std::move(among_all));
    explanation made{.pod = pod,
                     .policy = std::string{scorer->name()},
                     .policy_summary = fmt::format("as Volcano's plugin ranks, SchedulePolicy {}, ScheduleWeight {}",
                                                   ranking.policy.empty() ? "none" : ranking.policy, ranking.weight),
                     .message = {}};
    if (ranking.weight <= 0 && scorer->name() == "deviceshare") {
        made.notes.emplace_back("deviceshare.ScheduleWeight is not above 0: the plugin ranks cards, but no nodes");
    }
    explainer{in, pod, *scorer}.explain(made);
    return made;
}

vgpualloc::expected<explanation> by_policy(const snapshot& in, const snapshot_pod& pod, const explain_options& with) {
    vgpualloc::policy_parameters parameters{.target = in.typical(), .seed = with.seed};
    if (parameters.target.typical.empty()) {
        parameters.target.typical = {
            {.cpu = pod.request.cpu, .containers = pod.request.containers, .frequency = 1.0, .weight = 1}};
    }
    const auto scorer = make_policy(with.policy, parameters);
    if (!scorer) return vgpualloc::unexpected(scorer.error());
    explanation made{.pod = pod, .policy = with.policy, .policy_summary = summary_of(with.policy), .message = {}};
    explainer{in, pod, **scorer}.explain(made);
    return made;
}

} // namespace

vgpualloc::expected<explanation> explain(const snapshot& in, const snapshot_pod& pod, const explain_options& with) {
    if (pod.failure) return vgpualloc::unexpected(*pod.failure);
    if (auto unread = resources_not_read(manifest_dialects(in.with), pod.object); !unread.empty()) {
        unread.front().where = pod.place + ": " + unread.front().where;
        return vgpualloc::unexpected(std::move(unread.front()));
    }
    auto made = with.deviceshare ? by_deviceshare(in, pod, *with.deviceshare) : by_policy(in, pod, with);
    if (made && with.memory_factor != 1) {
        made->notes.push_back(fmt::format(
            "memory of GPUs in dialect volcano_vgpu is in units of {} MiB (gpuMemoryFactor)", with.memory_factor));
    }
    return made;
}

} // namespace vgpusim
