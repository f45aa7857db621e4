// Whether two snapshots of one cluster are decided alike.
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpuops/snapshot/anonymise.hpp"

namespace vgpuops::snapshots {

namespace {

/// What of a device decides, by position, beside its names.
auto facts_of(const vgpualloc::device_spec& spec) {
    return std::tuple{spec.memory, spec.cores, spec.slots, spec.mode->name()};
}

/// Names that may be others, as long as they are the same where they were the same.
class names_alike {
public:
    [[nodiscard]] bool add(const std::string& before, const std::string& after) {
        return after_.try_emplace(before, after).first->second == after &&
               before_.try_emplace(after, before).first->second == before;
    }

private:
    std::map<std::string, std::string> after_;
    std::map<std::string, std::string> before_;
};

struct device_names {
    names_alike models;
    names_alike families;
};

std::string node_difference(const kube::snapshot& before, const kube::snapshot& after, node_index where,
                            device_names& names) {
    const auto& old_node = before.nodes().nodes[where.at()];
    const auto& new_node = after.nodes().nodes[where.at()];
    const std::string words = "node " + std::to_string(where.at());
    const auto host = [](const vgpualloc::node& of) {
        return std::tuple{of.cpu,
                          of.memory,
                          of.pods_max,
                          of.host.unschedulable,
                          of.host.ready,
                          of.host.resources.size(),
                          of.host.unreadable,
                          of.devices.size()};
    };
    if (host(old_node) != host(new_node)) return words;
    if (before.book->host(where) != after.book->host(where)) return words + ": what its pods have of the host";
    for (std::size_t d = 0; d < old_node.devices.size(); ++d) {
        const std::string device = words + ", device " + std::to_string(d);
        const auto& old_spec = before.nodes().spec_of(where, device_index{d});
        const auto& new_spec = after.nodes().spec_of(where, device_index{d});
        if (facts_of(old_spec) != facts_of(new_spec)) return device;
        if (!names.models.add(old_spec.model, new_spec.model)) return device + ": its model";
        if (!names.families.add(old_spec.family, new_spec.family)) return device + ": its family";
        if (before.book->devices(where)[d] != after.book->devices(where)[d]) return device + ": what is used of it";
        if (before.book->services(where)[d] != after.book->services(where)[d])
            return device + ": whether it is in service";
    }
    return {};
}

/// A cluster that pods are asked of, under one policy.
class asked_cluster {
public:
    asked_cluster(kube::snapshot& state, const char* policy)
        : scorer_{std::move(vgpualloc::make_policy(policy, {.target = state.typical(), .seed = 1}).value())},
          decider_{*state.book, {.node = scorer_.get(), .device = scorer_.get()}} {}

    [[nodiscard]] vgpualloc::allocator& decider() noexcept { return decider_; }
    [[nodiscard]] vgpualloc::request_id known(const kube::snapshot_pod& pod) {
        const auto request = decider_.intern(pod.request);
        VGA_ASSERT(request.has_value(), "what a dialect reads is within the core's limits");
        return *request;
    }

private:
    std::unique_ptr<vgpualloc::policy> scorer_;
    vgpualloc::allocator decider_;
};

bool same_answers(asked_cluster& before, const kube::snapshot_pod& old_pod, asked_cluster& after,
                  const kube::snapshot_pod& new_pod) {
    const auto old_answers = before.decider().evaluate(before.known(old_pod));
    const auto new_answers = after.decider().evaluate(after.known(new_pod));
    if (old_answers.size() != new_answers.size()) return false;
    for (std::size_t n = 0; n < old_answers.size(); ++n) {
        const auto facts = [](const vgpualloc::node_answer& of) {
            return std::tuple{of.code, of.score, of.compromise};
        };
        if (facts(old_answers[n]) != facts(new_answers[n])) return false;
    }
    return before.decider().decide(before.known(old_pod)) == after.decider().decide(after.known(new_pod));
}

} // namespace

std::string decided_otherwise(kube::snapshot& before, kube::snapshot& after) {
    if (before.nodes().nodes.size() != after.nodes().nodes.size()) return "the number of nodes";
    device_names names;
    for (std::size_t n = 0; n < before.nodes().nodes.size(); ++n) {
        std::string difference = node_difference(before, after, node_index{n}, names);
        if (!difference.empty()) return difference;
    }
    const auto sizes = [](const kube::snapshot& state) {
        return std::tuple{state.bound.size(), state.pending.size(), state.strays.size(), state.rule_objects.size(),
                          state.leaving_nodes.size()};
    };
    if (sizes(before) != sizes(after)) return "the number of pods";
    for (std::size_t i = 0; i < before.bound.size(); ++i) {
        const auto place = [i](const kube::snapshot& state) { return state.book->booking_of(pod_id{i}).where; };
        if (place(before) != place(after)) return "where pod " + std::to_string(i) + " of those that run is";
    }
    for (const char* const policy : {"fgd", "binpack", "spread"}) {
        asked_cluster old_cluster{before, policy};
        asked_cluster new_cluster{after, policy};
        for (std::size_t i = 0; i < before.pending.size(); ++i) {
            const auto& old_pod = before.pending[i];
            const auto& new_pod = after.pending[i];
            const bool same =
                old_pod.dialect == new_pod.dialect && old_pod.failure.has_value() == new_pod.failure.has_value() &&
                old_pod.rules_ignored == new_pod.rules_ignored && old_pod.gates.size() == new_pod.gates.size() &&
                (old_pod.failure || same_answers(old_cluster, old_pod, new_cluster, new_pod));
            if (!same) return "what becomes of pod " + std::to_string(i) + " of those that wait (" + policy + ")";
        }
    }
    return {};
}

} // namespace vgpuops::snapshots
