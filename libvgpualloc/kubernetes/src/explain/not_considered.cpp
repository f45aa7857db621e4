// What was there and was not looked at.
#include "vgpualloc/explain/not_considered.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace vgpualloc::explaining {

namespace {

using kube::snapshot;
using kube::snapshot_pod;

/// The first few names and how many more there are.
std::string some_of(const std::vector<std::string>& names) {
    constexpr std::size_t names_max = 5;
    std::string list;
    for (std::size_t i = 0; i < std::min(names.size(), names_max); ++i) list += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > names_max) list += fmt::format(" and {} more", names.size() - names_max);
    return list;
}

bool prefers_others(const node& described, const snapshot_pod& pod) {
    const auto& tolerations = pod.request.rules.tolerations;
    return std::ranges::any_of(described.host.taints, [&](const taint& repelling) {
        const auto tolerates = [&](const toleration& tolerated) { return tolerated.tolerates(repelling); };
        return repelling.effect == taint_effect::prefer_no_schedule && std::ranges::none_of(tolerations, tolerates);
    });
}

/// The gang of a pod, where no object says how many of its pods have to start together, or nothing here looks at that.
void add_gangs(const snapshot& state, const snapshot_pod& pod, bool knows_minimum, std::vector<std::string>& to) {
    const auto add = [&](const kubernetes::text_map& where, const char* key, bool is_known, bool takes_all) {
        const std::string& group = kubernetes::value_of(where, key);
        if (group.empty() || is_known) return;
        to.push_back(takes_all
                         ? fmt::format("how many pods of group {} have to start together, all are taken: no object "
                                       "is its PodGroup ({})",
                                       group, key)
                         : fmt::format("that the pods of group {} start together ({})", group, key));
    };
    const auto has_minimum = [&](const char* key) {
        const std::string& group = kubernetes::value_of(pod.object.annotations, key);
        return knows_minimum && std::ranges::any_of(state.rule_objects, [&](const kube::rule_object& object) {
                   return object.kind == "PodGroup" && object.ns == pod.ns && object.name == group;
               });
    };
    for (const char* const key : {"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"}) {
        add(pod.object.annotations, key, has_minimum(key), knows_minimum);
    }
    // The plugin coscheduling of kube-scheduler.
    for (const char* const key : {"scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io"}) {
        add(pod.object.labels, key, false, false);
    }
}

/// What is of the pod alone. `knows_minimum`: who asks looks at how many pods of a PodGroup of Volcano start together.
std::vector<std::string> rules_of_pod(const snapshot& state, const snapshot_pod& pod, bool by_its_scheduler,
                                      bool knows_minimum) {
    std::vector<std::string> list = pod.rules_ignored;
    const dialect* const spoken = state.dialects.find(pod.dialect);
    const std::string_view usual = spoken == nullptr ? std::string_view{} : spoken->usual_scheduler();
    if (!by_its_scheduler && !usual.empty() && !pod.scheduler_name.empty() && pod.scheduler_name != usual) {
        list.push_back(fmt::format("spec.schedulerName: got '{}', and of dialect {} only {}, or a scheduler that asks "
                                   "vgpualloc, chooses devices",
                                   pod.scheduler_name, pod.dialect, usual));
    }
    if (pod.terminating) list.emplace_back("that the pod is being deleted (metadata.deletionTimestamp)");
    add_gangs(state, pod, knows_minimum, list);
    std::vector<std::string> uncounted;
    for (const std::string& resource : pod.request.rules.resources) {
        const auto reads = [&](const auto& reader) { return reader->reads_resource(resource); };
        if (std::ranges::none_of(state.dialects, reads)) uncounted.push_back(resource);
    }
    // Kubernetes 1.34 and newer: a claim is made for such a pod, and no node has the resource allocatable.
    for (const kube::rule_object& object : state.rule_objects) {
        const auto& wanted = pod.request.rules.resources;
        const std::string of_class = "deviceclass.resource.kubernetes.io/" + object.name;
        for (const std::string& resource : {object.extended_resource, of_class}) {
            if (object.kind != "DeviceClass" || std::ranges::find(wanted, resource) == wanted.end()) continue;
            list.push_back(fmt::format("that DRA gives {} (DeviceClass {}): devices of ResourceSlices are not read",
                                       resource, object.name));
        }
    }
    if (!uncounted.empty()) {
        list.push_back("how much of a resource is left, only whether a node offers it: " + some_of(uncounted));
    }
    return list;
}

/// What is of the cluster, in so far as it concerns the pods.
class lister {
public:
    /// `of_existing`: the pods exist, so they were admitted. Who asks looks at phases of PodGroups and at how many of
    /// their pods start together.
    lister(const snapshot& state, std::span<const snapshot_pod* const> pods, bool of_existing)
        : state_{&state}, pods_{pods}, of_existing_{of_existing} {}

    /// `is_open`: by node, whether a pod could go there.
    [[nodiscard]] std::vector<std::string> take(const std::function<bool(std::size_t)>& is_open) {
        add_running_pods();
        if (of_existing_) add_claims();
        add_nodes(is_open);
        add_objects();
        return std::move(list_);
    }

private:
    void add_names(const char* what, const std::vector<std::string>& names) {
        if (!names.empty()) list_.push_back(fmt::format("{}: {}", what, some_of(names)));
    }

    void add_running_pods() {
        std::vector<std::string> repelling;
        std::vector<std::string> leaving;
        for (const kube::bound_pod& runs : state_->bound) {
            const auto& ignored = runs.pod.rules_ignored;
            if (std::ranges::find(ignored, kube::anti_affinity_ignored) != ignored.end()) {
                repelling.push_back(runs.pod.full_name());
            }
            if (runs.pod.terminating) leaving.push_back(runs.pod.full_name());
        }
        add_names("anti-affinity of pods that run", repelling);
        add_names("that pods are being deleted; they count until they are gone", leaving);
    }

    /// Pods that ask for nothing but claims are in none of the lists of who asks.
    void add_claims() {
        std::vector<std::string> claiming;
        const auto add = [&](const snapshot_pod& pod) {
            if (pod.object.claims.empty()) return;
            const bool is_named = std::ranges::any_of(
                pods_, [&](const snapshot_pod* other) { return other->name == pod.name && other->ns == pod.ns; });
            if (!is_named) claiming.push_back(pod.full_name());
        };
        for (const kube::bound_pod& runs : state_->bound) add(runs.pod);
        std::ranges::for_each(state_->pending, add);
        add_names("devices of pods with resource claims (DRA)", claiming);
    }

    void add_nodes(const std::function<bool(std::size_t)>& is_open) {
        std::vector<std::string> unwelcoming;
        const auto& nodes = state_->nodes().nodes;
        for (std::size_t n = 0; n < nodes.size(); ++n) {
            const auto repels = [&](const snapshot_pod* pod) { return prefers_others(nodes[n], *pod); };
            if (is_open(n) && std::ranges::any_of(pods_, repels)) unwelcoming.push_back(nodes[n].name);
        }
        add_names("taints with effect PreferNoSchedule", unwelcoming);
        add_names("that nodes are being deleted", state_->leaving_nodes);
        if (state_->sets.lacks_namespaces()) {
            list_.emplace_back("labels of namespaces, which rules about other pods ask for: no object is a Namespace");
        }
    }

    /// Quotas and the like: of the pods' namespaces, or of the cluster.
    void add_objects() {
        std::map<std::string, std::vector<std::string>> names; // by kind, or what of it
        for (const kube::rule_object& object : state_->rule_objects) {
            const auto is_in = [&](const snapshot_pod* pod) { return pod->ns == object.ns; };
            const auto is_hamis = [&](const snapshot_pod* pod) { return is_in(pod) && pod->dialect == "hami"; };
            if (std::ranges::any_of(pods_, is_hamis)) {
                for (const std::string& key : object.limits_of_devices) {
                    list_.push_back(
                        fmt::format("{} of ResourceQuota {}, which HAMi's scheduler counts", key, object.name));
                }
            }
            if (of_existing_ && (object.kind == "PodGroup" || is_admission(object.kind))) continue;
            if (!object.ns.empty() && std::ranges::none_of(pods_, is_in)) continue;
            if (object.kind == "Cohort") continue; // what it shares is counted with the ClusterQueues
            names[what_of(object.kind)].push_back(object.name);
        }
        for (const auto& [kind, of_kind] : names) add_names(kind.c_str(), of_kind);
    }

    /// Whether such objects decide when a pod is made and never again.
    [[nodiscard]] static bool is_admission(const std::string& kind) {
        return kind == "ResourceQuota" || kind == "LimitRange";
    }

    /// What of such objects is not looked at: all, but of queues.
    [[nodiscard]] static std::string what_of(const std::string& kind) {
        if (kind == "ClusterQueue") return "preemption and fair sharing of ClusterQueue";
        if (kind == "Queue") return "shares and reclaiming of Queue";
        return kind;
    }

    const snapshot* state_;
    std::span<const snapshot_pod* const> pods_;
    bool of_existing_;
    std::vector<std::string> list_;
};

} // namespace

std::vector<std::string> not_considered(const snapshot& state, const explanation& explained, bool by_its_scheduler) {
    std::vector<std::string> list = rules_of_pod(state, explained.pod, by_its_scheduler, false);
    const snapshot_pod* const pod = &explained.pod;
    if (pod->queue_hold) list.push_back("that a queue holds the pod back: " + *pod->queue_hold);
    const auto is_open = [&](std::size_t n) { return explained.nodes[n].refused.fits(); };
    std::ranges::move(lister{state, {&pod, 1}, false}.take(is_open), std::back_inserter(list));
    return list;
}

std::vector<std::string> not_considered(const snapshot& state, std::span<const snapshot_pod* const> pods) {
    std::vector<std::pair<std::string, std::vector<std::string>>> rules; // with the pods that they are of
    for (const snapshot_pod* const pod : pods) {
        for (std::string& rule : rules_of_pod(state, *pod, false, true)) {
            auto known = std::ranges::find(rules, rule, &std::pair<std::string, std::vector<std::string>>::first);
            if (known == rules.end()) known = rules.insert(known, {std::move(rule), {}});
            known->second.push_back(pod->full_name());
        }
    }
    std::vector<std::string> list;
    for (const auto& [rule, names] : rules) list.push_back(fmt::format("{} ({})", rule, some_of(names)));
    const auto is_open = [&](std::size_t n) { return state.book->is_present(node_index{n}); };
    std::ranges::move(lister{state, pods, true}.take(is_open), std::back_inserter(list));
    return list;
}

} // namespace vgpualloc::explaining
