// Who ranks for a pod: a policy, HAMi's own ranking, or Volcano's plugin deviceshare.
#include "ranking.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "explain/hami.hpp"
#include "vgpualloc/explain/deviceshare.hpp"
#include "vgpualloc/explain/snapshot_learning.hpp"
#include "vgpualloc/policy/parse.hpp"

namespace vgpualloc::explaining {

using kube::snapshot;
using kube::snapshot_pod;

namespace {

std::string summary_of(const std::string& policy, std::span<const policy_entry> known) {
    for (const policy_entry& entry : known) {
        if (entry.name == policy) return std::string{entry.summary};
    }
    return policy.starts_with("weighted:") ? "a sum of scores, each times its weight" : "a policy of the caller's own";
}

/// How plugin deviceshare ranks for the pods of one dialect.
class deviceshare_scorers {
public:
    deviceshare_scorers(const snapshot& state, const ledger_pods& pods, const snapshot_pod& pod,
                        const dialects::volcano::plugin_arguments& arguments)
        : pods_{&pods}, spoken_{state.dialects.find(pod.dialect)},
          ranking_{spoken_ == nullptr ? deviceshare_ranking::first_fit : spoken_->deviceshare(pod.object).ranking},
          options_{.policy = arguments.schedule_policy, .weight = arguments.schedule_weight} {
        if (spoken_ == nullptr) return;
        own_ = spoken_->extended_of(pod.object);
        for (std::size_t i = 0; i < state.dialects.size(); ++i) {
            if (&state.dialects[i] == spoken_) extended_ = state.extended[i];
        }
    }

    [[nodiscard]] std::unique_ptr<policy> among_all() const {
        auto options = options_;
        options.extended = extended_;
        options.extended_booked = [pods = pods_, spoken = spoken_, own = own_](const booking& booked) {
            const snapshot_pod* const pod = pods->find(booked.owner.pod());
            if (pod == nullptr) return own; // a trial's, in which the pod is tried out
            return spoken != nullptr && pod->dialect == spoken->name() ? spoken->extended_of(pod->object) : 0;
        };
        return make_deviceshare_policy(ranking_, std::move(options));
    }

private:
    const ledger_pods* pods_;
    const dialect* spoken_; ///< null: the pod asks for no device
    deviceshare_ranking ranking_;
    deviceshare_options options_;
    std::vector<std::int64_t> extended_; ///< by node
    std::int64_t own_ = 0;               ///< of the pod
};

expected<ranking> by_deviceshare(const snapshot& state, const ledger_pods& pods, const snapshot_pod& pod,
                                 const dialects::volcano::plugin_arguments& arguments) {
    if (auto enabled = state.dialects.check_enabled(arguments, pod.dialect, pod.object); !enabled) {
        enabled.error().where = pod.place + ": pod " + pod.full_name();
        return unexpected(std::move(enabled).error());
    }
    ranking result{.scorer = deviceshare_scorers{state, pods, pod, arguments}.among_all(),
                   .device_scorer = nullptr,
                   .name = {},
                   .summary = {}};
    const std::string& order = arguments.schedule_policy;
    const std::int64_t weight = arguments.schedule_weight;
    result.name = result.scorer->name();
    result.summary = fmt::format("as Volcano's plugin ranks, SchedulePolicy {}, ScheduleWeight {}",
                                 order.empty() ? "none" : order, weight);
    if (arguments.preset_virtual_devices) {
        result.notes.emplace_back(
            "presetVirtualDevice: \"true\" is not supported: virtual NPUs that were made beforehand "
            "are not known here, NPUs are cut as pods come");
    }
    if (arguments.weight_assumed) {
        result.notes.emplace_back("deviceshare.ScheduleWeight is not given and taken as 1; Volcano itself takes 0, and "
                                  "its plugin then ranks cards, but no nodes");
    }
    if (weight <= 0 && result.name == "deviceshare") {
        result.notes.emplace_back("deviceshare.ScheduleWeight is not above 0: the plugin ranks cards, but no nodes");
    }
    return result;
}

expected<ranking> by_hami(const snapshot& state, const snapshot_pod& pod) {
    auto choice = hami_choice_of(pod.object);
    if (!choice) {
        choice.error().where = pod.place + ": pod " + pod.full_name();
        return unexpected(std::move(choice).error());
    }
    std::vector<std::vector<std::int32_t>> numa;
    for (const auto& on_node : state.devices) {
        auto& of_node = numa.emplace_back();
        for (const auto& device : on_node) of_node.push_back(device.registered.numa);
    }
    ranking result{.scorer = std::make_unique<policies::hami>(choice->ranking, std::move(numa)),
                   .device_scorer = nullptr,
                   .name = {},
                   .summary = "as HAMi ranks: " + choice->words,
                   .notes = {},
                   .not_considered = std::move(choice->not_considered)};
    result.name = result.scorer->name();
    return result;
}

bool has_devices_of(const snapshot& state, const std::string& dialect_name) {
    return std::ranges::any_of(state.devices, [&](const auto& on_node) {
        return std::ranges::find(on_node, dialect_name, &kube::snapshot_device::dialect) != on_node.end();
    });
}

/// What to know of a ranking that is not that of the pod's scheduler; may be empty.
std::string words_on_other_ranking(const snapshot_pod& pod, const dialect* spoken, bool is_default) {
    std::string text;
    if (spoken == nullptr) return text;
    if (is_default && spoken->is_of_hami()) return " (the default; no node registers GPUs with HAMi)";
    if (is_default && !spoken->deviceshare(pod.object).argument.empty()) {
        text = " (the default; --scheduler-config has Volcano's ranking)";
    }
    if (is_default || !spoken->is_of_hami()) return text;
    for (const char* const key : {"hami.io/node-scheduler-policy", "hami.io/gpu-scheduler-policy"}) {
        const std::string& written = kubernetes::value_of(pod.object.annotations, key);
        if (!written.empty()) text += fmt::format(" (overrides the pod's {}: {})", key, written);
    }
    return text;
}

/// What policies know of the pods that are there.
void have_learned(const policy_pair& policies, const snapshot& state, const snapshot_pod& pod,
                  const explain_options& options) {
    if (!policies.learns()) return;
    if (options.learned) {
        policies.take_over(options.learned->pair());
        return;
    }
    learn_of_pods(state, policies);
    const bool is_there = std::ranges::any_of(
        state.pending, [&](const snapshot_pod& waiting) { return waiting.full_name() == pod.full_name(); });
    if (!is_there) policies.note_arrival(pod.request, *state.book);
}

expected<ranking> by_policy(const snapshot& state, const snapshot_pod& pod, const explain_options& options) {
    policy_parameters parameters{.target = state.typical(), .seed = options.seed};
    if (parameters.target.typical.empty()) {
        parameters.target.typical = {
            {.cpu = pod.request.cpu, .containers = pod.request.containers, .frequency = 1.0, .weight = 1}};
    }
    parameters.prices = book_by_size(parameters.target, state.book->nodes());
    const std::string spelling = options.policy.empty() ? default_policy : options.policy;
    const std::string other_device_policy = options.device_policy == spelling ? "" : options.device_policy;
    auto policies = options.make_policies ? options.make_policies(parameters, state.book->nodes())
                                          : parse_policies(spelling, other_device_policy, options.policies, parameters);
    if (!policies) return unexpected(std::move(policies).error());
    have_learned(policies->pair(), state, pod, options);
    const std::string others = words_on_other_ranking(pod, state.dialects.find(pod.dialect), options.policy.empty());
    ranking result{.scorer = std::move(policies->node),
                   .device_scorer = std::move(policies->device),
                   .name = spelling,
                   .summary = fmt::format("{}; nodes and devices{}", summary_of(spelling, options.policies), others)};
    if (result.device_scorer == nullptr) return result;
    result.summary = fmt::format("{}; nodes{}; devices by {}: {}", summary_of(spelling, options.policies), others,
                                 options.device_policy, summary_of(options.device_policy, options.policies));
    return result;
}

} // namespace

expected<ranking> ranking_for(const snapshot& state, const ledger_pods& pods, const snapshot_pod& pod,
                              const explain_options& options) {
    if (options.deviceshare) return by_deviceshare(state, pods, pod, *options.deviceshare);
    const dialect* const spoken = state.dialects.find(pod.dialect);
    const bool is_of_hami = spoken != nullptr && spoken->is_of_hami();
    if (options.policy.empty() && is_of_hami && has_devices_of(state, pod.dialect)) return by_hami(state, pod);
    return by_policy(state, pod, options);
}

} // namespace vgpualloc::explaining
