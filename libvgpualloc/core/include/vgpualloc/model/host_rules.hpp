// Which nodes a pod may go to whatever is free there, as Kubernetes decides it: cordons, readiness, taints, selectors.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/model/rejection.hpp"

namespace vgpualloc {

/// NoSchedule and NoExecute keep pods away that do not tolerate them; PreferNoSchedule is a wish and keeps none away.
enum class taint_effect : std::uint8_t { no_schedule, prefer_no_schedule, no_execute };

struct taint {
    std::string key;
    std::string value{};
    taint_effect effect = taint_effect::no_schedule;

    auto operator<=>(const taint&) const = default;
};

/// Whether a taint of that key says what Kubernetes or the cloud found out about a node, and not what the node is for:
/// the well-known taints of kubernetes.io/docs/reference/labels-annotations-taints.
[[nodiscard]] bool is_state_taint(std::string_view key) noexcept;

/// The label that has the name of its node.
inline constexpr std::string_view hostname_label = "kubernetes.io/hostname";

/// A toleration of a pod. An empty key with `any_value` tolerates every taint.
struct toleration {
    std::string key{};
    std::string value{};
    bool any_value = false; ///< operator Exists
    bool any_effect = true; ///< no effect is named
    taint_effect effect{};  ///< meaningful unless any_effect

    [[nodiscard]] bool tolerates(const taint& repelling) const noexcept {
        if (!any_effect && effect != repelling.effect) return false;
        if (key.empty() && any_value) return true;
        return key == repelling.key && (any_value || value == repelling.value);
    }
    auto operator<=>(const toleration&) const = default;
};

enum class label_operator : std::uint8_t { in, not_in, exists, does_not_exist, greater, less };

/// A whole number as `greater` and `less` read it, with a sign or without: as Go's strconv.ParseInt does. None for any
/// other text, and beyond 64 bits.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text) noexcept;

/// One requirement on a label. `greater` and `less` compare whole numbers and have one value.
struct label_requirement {
    std::string key;
    label_operator op = label_operator::in;
    std::vector<std::string> values{};

    auto operator<=>(const label_requirement&) const = default;
};

/// Whether a label has such a value. `value` is null where there is no such label.
[[nodiscard]] bool is_met(const label_requirement& requirement, const std::string* value) noexcept;

/// All requirements of a term have to hold. A term without any matches no node, as in Kubernetes.
struct node_selector_term {
    std::vector<label_requirement> labels{};
    std::vector<label_requirement> names{}; ///< matchFields on metadata.name: `in` or `not_in`

    auto operator<=>(const node_selector_term&) const = default;
};

/// What a pod requires of its node: spec.nodeSelector, requiredDuringSchedulingIgnoredDuringExecution, tolerations, and
/// that the node offers what the pod names.
struct host_rules {
    std::vector<std::pair<std::string, std::string>> node_selector{}; ///< label and value, by label
    bool has_affinity = false;                                        ///< `affinity` restricts, even if it is empty
    std::vector<node_selector_term> affinity{};                       ///< one term has to match
    std::vector<toleration> tolerations{};
    std::vector<std::string> resources{}; ///< extended resources of which the node has to offer some; each once

    /// Whether a node without taints that is ready and not cordoned takes the pod whatever its labels and resources
    /// are.
    [[nodiscard]] bool restricts() const noexcept {
        return !node_selector.empty() || has_affinity || !resources.empty();
    }
    auto operator<=>(const host_rules&) const = default;
};

/// What of a node the rules look at.
struct host_facts {
    std::vector<std::pair<std::string, std::string>> labels{}; ///< by label, each once
    std::vector<taint> taints{};
    bool unschedulable = false; ///< spec.unschedulable (cordoned): a taint node.kubernetes.io/unschedulable:NoSchedule
    bool ready = true;          ///< condition Ready; not: a taint node.kubernetes.io/not-ready:NoSchedule
    bool unreachable = false;   ///< Ready is Unknown, so the taint is …/unreachable:NoSchedule; meaningless if ready
    std::vector<std::string> resources{}; ///< extended resources that it offers some of; ascending, each once
    /// Those of `resources` that Kubernetes has an amount of: the others are counted by a component alone. For
    /// messages.
    std::vector<std::string> allocatable{};
    std::string unreadable{}; ///< a field of all this that could not be read: no pod enters; empty: none

    /// Whether every pod without host_rules::restricts() may go there.
    [[nodiscard]] bool is_open() const noexcept {
        return taints.empty() && !unschedulable && ready && unreadable.empty();
    }
    /// The value of a label; null where the node has no such label.
    [[nodiscard]] const std::string* label(std::string_view key) const noexcept;
    auto operator<=>(const host_facts&) const = default;
};

/// The first rule that keeps a pod off a node, in the order of kube-scheduler's plugins NodeUnschedulable,
/// TaintToleration (where a node that is not ready comes before its taints), NodeAffinity (the node selector before the
/// affinity), NodeResourcesFit (extended resources only, and of them only whether there are any). none: it may go
/// there.
[[nodiscard]] rejection_code why_not_host(const host_rules& rules, const host_facts& facts, std::string_view node_name);
/// Of these what the pod's selector and affinity say, and what the node's taints, its cordon and its readiness.
[[nodiscard]] rejection_code why_not_labels(const host_rules& rules, const host_facts& facts,
                                            std::string_view node_name);
[[nodiscard]] rejection_code why_not_tolerated(const host_rules& rules, const host_facts& facts);

/// What exactly differs, for words. All point into `rules` or `facts`, and are null where nothing does.
/// The first taint that keeps the pod away, beside those of a node that is cordoned or not ready.
[[nodiscard]] const taint* repelling_taint(const host_rules& rules, const host_facts& facts) noexcept;
/// The first entry of the node selector that the node has not, or has with another value.
[[nodiscard]] const std::pair<std::string, std::string>* differing_label(const host_rules& rules,
                                                                         const host_facts& facts) noexcept;
/// The first requirement of a term that the node does not meet. A term without requirements has none, and yet matches
/// no node.
[[nodiscard]] const label_requirement* unmet_requirement(const node_selector_term& term, const host_facts& facts,
                                                         std::string_view node_name) noexcept;

/// The first resource that the pod names and the node does not offer.
[[nodiscard]] const std::string* missing_resource(const host_rules& rules, const host_facts& facts) noexcept;

} // namespace vgpualloc
