// The sets of pods that rules about other pods look at, and which pods are in them.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/peer_terms.hpp"
#include "vgpualloc/model/peer_rules.hpp"

namespace vgpualloc::kube {

/// The label that has the name of its namespace.
inline constexpr const char* namespace_label = "kubernetes.io/metadata.name";

/// What of a pod selectors look at.
struct pod_traits {
    const std::string& ns; ///< "default" where the object names none
    const kubernetes::text_map& labels;
    bool terminating = false;
};

/// Numbers sets in the order in which pods with rules are added. Pods that no rule looks at and that have none cost
/// nothing but the look at their labels.
class pod_sets {
public:
    pod_sets() = default;
    ~pod_sets() = default;
    pod_sets(const pod_sets& other);
    pod_sets(pod_sets&&) = default;
    pod_sets& operator=(const pod_sets& other) = delete;
    pod_sets& operator=(pod_sets&&) = default;

    /// Objects of kind Namespace say which labels namespaces have; without them only their names are known, as label
    /// kubernetes.io/metadata.name. Pods say which namespaces there are.
    void add_namespaces(std::span<const manifest> objects);

    /// Whether rules ask for labels of namespaces, and no object says what these are.
    [[nodiscard]] bool lacks_namespaces() const noexcept { return asks_for_labels_ && !has_labels_; }

    /// The sets that a pod's rules look at are known from now on. True if one is new.
    bool add_rules_of(const manifest& pod);

    /// The peers of a pod, by the sets known so far: which it is in, and its rules. Null: no
    /// terms. None if its rules look at a set that is not known.
    [[nodiscard]] std::optional<shared_peers> peers_of(const pod_traits& pod, const peer_terms* terms) const;
    /// The same with rules that were read before.
    [[nodiscard]] shared_peers peers_of(const pod_traits& pod, std::vector<peer_rule> rules) const;

private:
    /// Pods of some namespaces with some labels.
    struct condition {
        std::vector<label_requirement> labels{};
        std::optional<std::set<std::string>> namespaces{}; ///< none: of any
        bool selects = true;                               ///< some selector is there

        auto operator<=>(const condition&) const = default;
    };
    /// Pods that meet all conditions.
    struct definition {
        std::vector<condition> conditions{};
        bool with_terminating = true; ///< pods that are being deleted are in it too

        auto operator<=>(const definition&) const = default;
    };

    [[nodiscard]] std::set<std::string> namespaces_with(const std::vector<label_requirement>& labels) const;
    [[nodiscard]] condition condition_of(const std::string& own_ns, const affinity_term& term) const;
    [[nodiscard]] std::vector<std::pair<peer_rule, definition>> rules_of(const std::string& own_ns,
                                                                         const peer_terms& terms) const;
    [[nodiscard]] static bool meets(const pod_traits& pod, const definition& wanted);

    std::map<std::string, kubernetes::text_map> namespaces_; ///< labels by name
    bool has_labels_ = false;                                ///< some object is a Namespace
    bool asks_for_labels_ = false;                           ///< some rule selects namespaces by their labels
    std::map<definition, pod_set> numbers_;
    std::vector<const definition*> definitions_; ///< by number; keys of numbers_
    /// Sets by a label and value that all their pods have; the others are in unkeyed_.
    std::map<std::pair<std::string, std::string>, std::vector<pod_set>> by_label_;
    std::vector<pod_set> unkeyed_;
};

} // namespace vgpualloc::kube
