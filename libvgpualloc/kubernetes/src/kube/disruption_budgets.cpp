// PodDisruptionBudgets.
#include "vgpualloc/kube/disruption_budgets.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "vgpualloc/kube/cluster_objects.hpp"

namespace vgpualloc::kube {

namespace {

std::string key_of(const std::string& kind, const std::string& ns, const std::string& name) {
    return kind + " " + ns + "/" + name;
}

bool selects(const label_selector& selector, const kubernetes::text_map& labels) {
    return selector.is_there && std::ranges::all_of(selector.labels, [&](const label_requirement& requirement) {
               const auto label = labels.find(requirement.key);
               return is_met(requirement, label == labels.end() ? nullptr : &label->second);
           });
}

bool is_healthy(const manifest& pod) { return pod.phase == "Running" && !pod.terminating && !pod.is_unready; }

/// Of a share, as many as round it up.
std::int64_t pods_of(const pods_or_percent& wanted, std::int64_t of_pods) {
    constexpr std::int64_t whole = 100;
    return wanted.is_percent ? (wanted.amount * of_pods + whole - 1) / whole : wanted.amount;
}

/// Whether Kubernetes can ask how many pods a controller wants. A budget that has to know, and cannot, allows none.
bool has_scale(const manifest& pod) {
    constexpr std::array<std::string_view, 3> without{"DaemonSet", "Job", "Node"};
    return std::ranges::find(without, pod.controller) == without.end();
}

} // namespace

disruption_budgets::disruption_budgets(std::span<const manifest> objects) {
    std::map<std::string, std::vector<const manifest*>> budgets; // by namespace
    for (const manifest& object : objects) {
        const bool is_budget = object.kind == "PodDisruptionBudget" && object.policy && object.policy->budget;
        if (is_budget) budgets[namespace_of(object)].push_back(&object);
    }
    if (budgets.empty()) return;
    std::map<std::string, std::vector<const manifest*>> pods; // by namespace
    for (const manifest& object : objects) {
        if (object.kind == "Pod" && object.pod) {
            pods[namespace_of(object)].push_back(&object);
        } else if (object.kind != "Pod" && object.pod) {
            controllers_.emplace(key_of(object.kind, namespace_of(object), object.name), &object);
        }
    }
    for (const auto& [ns, of_namespace] : budgets) {
        for (const manifest* const budget : of_namespace) {
            std::vector<const manifest*> selected;
            std::ranges::copy_if(pods[ns], std::back_inserter(selected), [&](const manifest* pod) {
                return selects(budget->policy->budget->pods, pod->pod->labels);
            });
            const known_budget known = budget_from(*budget, selected);
            for (const manifest* const pod : selected) {
                const std::string name = ns + "/" + pod->name;
                budgets_of_[name].push_back(known);
                pods_.emplace(name, pod);
            }
        }
    }
}

disruption_budgets::known_budget disruption_budgets::budget_from(const manifest& object,
                                                                 std::span<const manifest* const> selected) const {
    const disruption_budget& budget = *object.policy->budget;
    known_budget result{.object = &object, .healthy = std::ranges::count_if(selected, [](const manifest* pod) {
                                               return is_healthy(*pod);
                                           })};
    const bool needs_scale = budget.max_unavailable || (budget.min_available && budget.min_available->is_percent);
    const bool is_known =
        !needs_scale || std::ranges::all_of(selected, [](const auto* pod) { return has_scale(*pod); });
    const std::int64_t wanted = needs_scale ? pods_expected(selected) : std::ssize(selected);
    if (budget.max_unavailable) {
        result.healthy_min = std::max<std::int64_t>(wanted - pods_of(*budget.max_unavailable, wanted), 0);
    } else if (budget.min_available) {
        result.healthy_min = pods_of(*budget.min_available, wanted);
    }
    if (!is_known) result.healthy = result.healthy_min = 0; // the controller of budgets gives up
    result.healthy = budget.healthy.value_or(result.healthy);
    result.healthy_min = budget.healthy_min.value_or(result.healthy_min);
    const bool allows_some = is_known && wanted > 0;
    const std::int64_t left = std::max<std::int64_t>(result.healthy - result.healthy_min, 0);
    result.allowed = budget.allowed.value_or(allows_some ? left : 0);
    return result;
}

std::int64_t disruption_budgets::pods_expected(std::span<const manifest* const> selected) const {
    std::map<std::string, std::int64_t> pods; // by top controller
    for (const manifest* const pod : selected) {
        if (pod->controller.empty()) continue; // nobody says how many there are to be
        const std::string ns = namespace_of(*pod);
        std::string top = key_of(pod->controller, ns, pod->controller_name);
        const manifest* object = nullptr;
        for (auto known = controllers_.find(top); known != controllers_.end(); known = controllers_.find(top)) {
            object = known->second;
            if (object->controller != "Deployment") break;
            top = key_of(object->controller, ns, object->controller_name);
        }
        std::int64_t& of_controller = pods[top];
        of_controller = object != nullptr ? object->replicas : of_controller + (has_ended(*pod) ? 0 : 1);
    }
    std::int64_t sum = 0;
    for (const auto& [controller, of_controller] : pods) sum += of_controller;
    return sum;
}

std::string disruption_budgets::why_kept(const std::string& full_name) const {
    const auto budgets = budgets_of_.find(full_name);
    if (budgets == budgets_of_.end()) return {};
    const manifest& pod = *pods_.at(full_name);
    if (pod.terminating || pod.phase != "Running") return {}; // the budget does not count it
    if (budgets->second.size() > 1) {
        std::string names;
        for (const known_budget& budget : budgets->second) names += (names.empty() ? "" : ", ") + budget.object->name;
        return "several PodDisruptionBudgets: " + names;
    }
    const known_budget& budget = budgets->second.front();
    if (pod.is_unready) {
        const bool is_met = budget.healthy_min > 0 && budget.healthy >= budget.healthy_min;
        if (is_met || budget.object->policy->budget->evicts_unready) return {};
    }
    if (budget.allowed > 0) return {};
    return "PodDisruptionBudget " + budget.object->name + " allows no disruption";
}

} // namespace vgpualloc::kube
