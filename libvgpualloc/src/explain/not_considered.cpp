// What was there and was not looked at.
#include "vgpualloc/explain/not_considered.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

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

class lister {
public:
    lister(const snapshot& state, const explanation& explained) : state_{&state}, explained_{&explained} {}

    [[nodiscard]] std::vector<std::string> take() {
        list_ = explained_->pod.rules_ignored;
        add_of_the_pod();
        add_running_pods();
        add_nodes();
        add_objects();
        return std::move(list_);
    }

private:
    void add_names(const char* what, const std::vector<std::string>& names) {
        if (!names.empty()) list_.push_back(fmt::format("{}: {}", what, some_of(names)));
    }

    void add_of_the_pod() {
        const snapshot_pod& pod = explained_->pod;
        if (pod.terminating) list_.emplace_back("that the pod is being deleted (metadata.deletionTimestamp)");
        for (const char* const key : {"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"}) {
            const std::string& group = kubernetes::value_of(pod.object.annotations, key);
            if (!group.empty()) {
                list_.push_back(fmt::format("that the pods of group {} start together ({})", group, key));
            }
        }
        std::vector<std::string> uncounted;
        for (const std::string& resource : pod.request.rules.resources) {
            const auto reads = [&](const auto& spoken) { return spoken->reads_resource(resource); };
            if (std::ranges::none_of(state_->dialects, reads)) uncounted.push_back(resource);
        }
        add_names("how much of a resource is left, only whether a node offers it", uncounted);
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

    void add_nodes() {
        std::vector<std::string> unwelcoming;
        const auto& nodes = state_->nodes().nodes;
        for (std::size_t n = 0; n < nodes.size(); ++n) {
            if (explained_->nodes[n].refused.fits() && prefers_others(nodes[n])) unwelcoming.push_back(nodes[n].name);
        }
        add_names("taints with effect PreferNoSchedule", unwelcoming);
        add_names("that nodes are being deleted", state_->leaving_nodes);
    }

    [[nodiscard]] bool prefers_others(const node& described) const {
        const auto& tolerations = explained_->pod.request.rules.tolerations;
        return std::ranges::any_of(described.host.taints, [&](const taint& repelling) {
            const auto tolerates = [&](const toleration& tolerated) { return tolerated.tolerates(repelling); };
            return repelling.effect == taint_effect::prefer_no_schedule && std::ranges::none_of(tolerations, tolerates);
        });
    }

    /// Quotas and the like: of the pod's namespace, or of the cluster.
    void add_objects() {
        std::map<std::string, std::vector<std::string>> names; // by kind
        for (const kube::rule_object& object : state_->rule_objects) {
            if (object.ns.empty() || object.ns == explained_->pod.ns) names[object.kind].push_back(object.name);
        }
        for (const auto& [kind, of_kind] : names) add_names(kind.c_str(), of_kind);
    }

    const snapshot* state_;
    const explanation* explained_;
    std::vector<std::string> list_;
};

} // namespace

std::vector<std::string> not_considered(const snapshot& state, const explanation& explained) {
    return lister{state, explained}.take();
}

} // namespace vgpualloc::explaining
