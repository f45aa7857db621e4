// kube-scheduler's words (pkg/scheduler/framework/types.go, FitError, and the plugins' reasons).
#include "vgpuops/why/scheduler_words.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/dialect/quantity.hpp"
#include "vgpualloc/kube/queues.hpp"
#include "vgpualloc/model/host_rules.hpp"
#include "vgpuops/show/headroom.hpp"

namespace vgpuops::why {

namespace {

/// Names of nodes that an affinity restricts itself to; empty: it restricts itself to none.
std::set<std::string> names_wanted(const vgpualloc::host_rules& rules) {
    std::set<std::string> result;
    if (!rules.has_affinity) return result;
    for (const auto& term : rules.affinity) {
        const auto by_name =
            std::ranges::find(term.names, vgpualloc::label_operator::in, &vgpualloc::label_requirement::op);
        if (by_name == term.names.end()) return {};
        result.insert(by_name->values.begin(), by_name->values.end());
    }
    return result;
}

class asker {
public:
    asker(const kube::snapshot& state, const std::vector<kube::manifest>& objects, const kube::snapshot_pod& pod)
        : state_{&state}, pod_{&pod}, policies_{show::best_fit()}, decider_{*state.book, policies_.pair()},
          wanted_{kube::extended_requests(pod.object)}, names_{names_wanted(pod.request.rules)},
          used_(state.nodes().nodes.size()) {
        for (const kube::manifest& object : objects) {
            if (object.node) allocatable_.emplace(object.name, &object.node->allocatable);
        }
        if (wanted_.empty()) return;
        for (const kube::bound_pod& bound : state.bound) {
            for (const auto& [resource, amount] : kube::extended_requests(bound.pod.object)) {
                if (wanted_.contains(resource)) used_[bound.node.at()][resource] += amount;
            }
        }
    }

    [[nodiscard]] std::vector<std::string> reasons_of(node_index where) {
        const vgpualloc::node& node = state_->nodes().nodes[where.at()];
        if (!names_.empty() && !names_.contains(node.name)) {
            return {"node(s) didn't satisfy plugin(s) [NodeAffinity]"};
        }
        if (std::string reason = rule_reason(node); !reason.empty()) return {std::move(reason)};
        if (auto lacking = lacking_on(where); !lacking.empty()) return lacking;
        std::string reason = peer_reason(where);
        return reason.empty() ? std::vector<std::string>{} : std::vector{std::move(reason)};
    }

private:
    [[nodiscard]] std::string rule_reason(const vgpualloc::node& node) const {
        const vgpualloc::host_rules& rules = pod_->request.rules;
        const rejection_code code = vgpualloc::why_not_tolerated(rules, node.host);
        if (code == rejection_code::node_unschedulable) return "node(s) were unschedulable";
        if (const vgpualloc::taint* const repelling = vgpualloc::repelling_taint(rules, node.host)) {
            return fmt::format("node(s) had untolerated taint {{{}: {}}}", repelling->key, repelling->value);
        }
        if (code == rejection_code::node_not_ready) { // the taint that the node controller is about to set
            return fmt::format("node(s) had untolerated taint {{node.kubernetes.io/{}: }}",
                               node.host.unreachable ? "unreachable" : "not-ready");
        }
        const bool is_elsewhere = vgpualloc::why_not_labels(rules, node.host, node.name) != rejection_code::none;
        return is_elsewhere ? "node(s) didn't match Pod's node affinity/selector" : "";
    }

    [[nodiscard]] std::vector<std::string> lacking_on(node_index where) const {
        const vgpualloc::node& node = state_->nodes().nodes[where.at()];
        const vgpualloc::host_use& used = state_->book->host(where);
        const vgpualloc::pod_request& request = pod_->request;
        std::vector<std::string> result;
        if (used.pods >= node.pods_max) result.emplace_back("Too many pods");
        if (request.cpu.count() > 0 && request.cpu > node.cpu - used.cpu) result.emplace_back("Insufficient cpu");
        if (request.memory.count() > 0 && request.memory > node.memory - used.memory) {
            result.emplace_back("Insufficient memory");
        }
        for (const auto& [resource, amount] : wanted_) {
            if (amount > free_of(where, node.name, resource)) result.push_back("Insufficient " + resource);
        }
        return result;
    }

    [[nodiscard]] std::int64_t free_of(node_index where, const std::string& name, const std::string& resource) const {
        using vgpualloc::kubernetes::quantity_unit;
        using vgpualloc::kubernetes::rounding;
        const auto used = used_[where.at()].find(resource);
        const std::int64_t taken = used == used_[where.at()].end() ? 0 : used->second;
        const auto known = allocatable_.find(name);
        if (known == allocatable_.end()) return -taken;
        const std::string& written = vgpualloc::kubernetes::value_of(*known->second, resource);
        const auto has = vgpualloc::kubernetes::parse_quantity(written, quantity_unit::one, rounding::down);
        return has.value_or(0) - taken;
    }

    [[nodiscard]] std::string peer_reason(node_index where) {
        const vgpualloc::rejection_detail refused = decider_.ask_peers(where, pod_->request);
        switch (refused.code) {
        case rejection_code::topology_spread: {
            const bool has_labels = refused.wanted > 0;
            return has_labels ? "node(s) didn't match pod topology spread constraints"
                              : "node(s) didn't match pod topology spread constraints (missing required label)";
        }
        case rejection_code::pod_affinity_differs:
            return "node(s) didn't match pod affinity rules";
        case rejection_code::pod_anti_affinity:
            return is_kept_away_by_own_rules(where) ? "node(s) didn't match pod anti-affinity rules"
                                                    : "node(s) didn't satisfy existing pods anti-affinity rules";
        default:
            return {};
        }
    }

    /// Whether the pod's own anti-affinity closes the node, whatever that of pods that run does.
    [[nodiscard]] bool is_kept_away_by_own_rules(node_index where) {
        vgpualloc::pod_peers own = *pod_->request.peers;
        own.member_of.clear();
        std::erase_if(own.rules, [](const auto& rule) { return rule.kind != vgpualloc::peer_rule_kind::apart; });
        vgpualloc::pod_request request = pod_->request;
        request.peers = vgpualloc::shared_peers{std::move(own)};
        return decider_.ask_peers(where, request).code != rejection_code::none;
    }

    const kube::snapshot* state_;
    const kube::snapshot_pod* pod_;
    vgpualloc::owned_policies policies_;
    vgpualloc::allocator decider_;
    kube::resource_amounts wanted_;
    std::set<std::string> names_;
    std::map<std::string, const vgpualloc::kubernetes::text_map*> allocatable_; ///< by name of the node
    std::vector<kube::resource_amounts> used_;                                  ///< by node
};

} // namespace

bool is_for_kube_scheduler(const kube::snapshot& state, const kube::snapshot_pod& pod) {
    if (!pod.scheduler_name.empty() && pod.scheduler_name != "default-scheduler") return false;
    // A pod that names nvidia.com/gpu alone may be HAMi's as well: what the nodes register tells them apart.
    return std::ranges::all_of(state.devices, [&](const auto& of_node) {
        return std::ranges::all_of(of_node, [&](const kube::snapshot_device& device) {
            const vgpualloc::dialect* const spoken = state.dialects.find(device.dialect);
            return spoken != nullptr && spoken->assigned_by_kubelet();
        });
    });
}

std::vector<std::vector<std::string>> scheduler_reasons(const kube::snapshot& state,
                                                        const std::vector<kube::manifest>& objects,
                                                        const kube::snapshot_pod& pod) {
    asker asks{state, objects, pod};
    std::vector<std::vector<std::string>> result;
    for (std::size_t n = 0; n < state.nodes().nodes.size(); ++n) {
        result.push_back(state.book->is_present(node_index{n}) ? asks.reasons_of(node_index{n})
                                                               : std::vector<std::string>{});
    }
    return result;
}

std::string message_of(const std::vector<std::vector<std::string>>& reasons) {
    std::map<std::string, std::int64_t> counts;
    for (const std::vector<std::string>& of_node : reasons) {
        for (const std::string& reason : of_node) ++counts[reason];
    }
    std::vector<std::string> parts;
    for (const auto& [reason, nodes] : counts) parts.push_back(fmt::format("{} {}", nodes, reason));
    std::ranges::sort(parts); // as texts: "10 …" comes before "2 …"
    std::string words = fmt::format("0/{} nodes are available:", reasons.size());
    for (std::size_t i = 0; i < parts.size(); ++i) words += (i == 0 ? " " : ", ") + parts[i];
    return words + ".";
}

std::string scheduler_words(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                            const kube::snapshot_pod& pod) {
    if (pod.failure || !pod.gates.empty() || !is_for_kube_scheduler(state, pod)) return {};
    const auto reasons = scheduler_reasons(state, objects, pod);
    const bool fits = std::ranges::any_of(reasons, [](const auto& of_node) { return of_node.empty(); });
    return fits ? std::string{} : message_of(reasons);
}

} // namespace vgpuops::why
