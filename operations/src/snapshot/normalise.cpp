// Normalised objects of a cluster.
#include "vgpuops/snapshot/normalise.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "kept_fields.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/unread_members.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/unread_members.hpp"
#include "vgpuformats/yaml.hpp"

namespace vgpuops::snapshots {

using vgpuformats::value_kind;

namespace {

std::string text_at(const document& object, std::initializer_list<std::string_view> path) {
    const document* value = &object;
    for (const std::string_view step : path) {
        value = value->find(step);
        if (value == nullptr) return {};
    }
    return value->is_text() ? value->text : std::string{};
}

std::string kind_of(const document& object) { return text_at(object, {"kind"}); }
std::string name_of(const document& object) { return text_at(object, {"metadata", "name"}); }

expected<void> take_apart(const document& object, const std::string& kind, const std::string& name,
                          std::vector<document>& to) {
    if (!object.is_map()) {
        return unexpected(bad_value(error_code::malformed, "", object.text, "a Kubernetes object")
                              .at(name + ":" + std::to_string(object.place.line)));
    }
    const std::string own_kind = kind_of(object);
    const document* const items = object.find("items");
    if (items != nullptr && own_kind.ends_with("List") && (items->is_list() || items->is_null())) {
        for (const document& item : items->items) {
            auto taken = take_apart(item, own_kind.substr(0, own_kind.size() - 4), name, to);
            if (!taken) return taken;
        }
        return {};
    }
    to.push_back(object);
    if (own_kind.empty() && !kind.empty()) to.back()["kind"] = kind;
    return {};
}

std::string with_default(const std::string& ns) { return ns.empty() ? "default" : ns; }

/// The group of its apiVersion, as two groups have a Job; empty: that of Kubernetes itself.
std::string group_of(const document& object) {
    const std::string version = text_at(object, {"apiVersion"});
    const auto slash = version.find('/');
    return slash == std::string::npos ? "" : version.substr(0, slash + 1);
}

/// Kind and name of what made a pod, "Job team/train"; empty: nothing.
std::string maker_of(const document& pod) {
    const document* const metadata = pod.find("metadata");
    const document* const owners = metadata == nullptr ? nullptr : metadata->find("ownerReferences");
    if (owners == nullptr || !owners->is_list()) return {};
    const auto controls = [](const document& owner) {
        const document* const controller = owner.find("controller");
        return controller != nullptr && controller->kind == value_kind::boolean && controller->text == "true";
    };
    const auto owner = std::ranges::find_if(owners->items, controls);
    if (owner == owners->items.end()) return {};
    return text_at(*owner, {"kind"}) + " " + with_default(text_at(pod, {"metadata", "namespace"})) + "/" +
           text_at(*owner, {"name"});
}

/// Also Kueue's Workload, whose pods are made once it is let in.
bool makes_pods(const document& object, const std::string& kind) {
    kube::manifest headers;
    headers.api_version = text_at(object, {"apiVersion"});
    headers.kind = kind;
    return kind == "Workload" || kube::makes_pods(headers);
}

/// Which pods that have ended still count: for quotas and budgets, and as those that their maker has made.
class ended_pods_read {
public:
    explicit ended_pods_read(std::span<const document> objects) {
        for (const document& object : objects) {
            const std::string kind = kind_of(object);
            const std::string ns = with_default(text_at(object, {"metadata", "namespace"}));
            if (kind == "ResourceQuota" || kind == "PodDisruptionBudget") namespaces_.insert(ns);
            if (makes_pods(object, kind)) makers_.insert(kind + " " + ns + "/" + name_of(object));
        }
    }

    /// Also true for pods that have not ended.
    [[nodiscard]] bool is_wanted(const document& pod) const {
        const std::string phase = text_at(pod, {"status", "phase"});
        if (phase != "Succeeded" && phase != "Failed") return true;
        return namespaces_.contains(with_default(text_at(pod, {"metadata", "namespace"}))) ||
               makers_.contains(maker_of(pod));
    }

private:
    std::set<std::string> namespaces_{};
    std::set<std::string> makers_{};
};

/// The names of ConfigMaps that some dialect reads of a node.
std::set<std::string> config_maps_of(std::span<const document> objects, const vgpualloc::dialect_set& dialects) {
    std::set<std::string> names;
    for (const document& object : objects) {
        if (kind_of(object) != "Node") continue;
        for (const auto& spoken : dialects) names.insert(spoken->config_map_of(name_of(object)));
    }
    names.erase("");
    return names;
}

} // namespace

expected<std::vector<document>> cluster_documents(std::string_view text, const std::string& name) {
    const auto documents = vgpuformats::parse_documents(
        text, name, {.is_unread = kube::is_unread_member, .advice = kube::large_export_advice});
    if (!documents) return unexpected(documents.error());
    std::vector<document> result;
    for (const document& object : *documents) {
        auto taken = take_apart(object, {}, name, result);
        if (!taken) return unexpected(taken.error());
    }
    return result;
}

document normalised(std::span<const document> objects, const vgpualloc::dialect_set& dialects) {
    const auto config_maps = config_maps_of(objects, dialects);
    std::set<std::string> seen;
    const auto is_new = [&seen](const document& object, const std::string& kind) {
        const std::string ns = text_at(object, {"metadata", "namespace"});
        const std::string name = name_of(object);
        const bool of_the_cluster =
            kind == "Node" || kind == "Namespace" || kind == "ResourceFlavor" || kube::is_of_the_cluster(kind);
        // Objects without a name are told one by one.
        return name.empty() ||
               seen.insert(group_of(object) + kind + " " + (of_the_cluster ? ns : with_default(ns)) + "/" + name)
                   .second;
    };
    const ended_pods_read ended{objects};
    enum group : std::uint8_t { nodes, config_maps_read, namespaces, rules, makers, pods, groups };
    std::array<std::vector<document>, groups> by_kind; // in the order of the file
    for (const document& object : objects) {
        const std::string kind = kind_of(object);
        if (kind == "ConfigMap") { // of several of a name the last one counts
            if (config_maps.contains(name_of(object))) by_kind[config_maps_read].push_back(kept_of_config_map(object));
        } else if (kind == "Pod") {
            if (ended.is_wanted(object) && is_new(object, kind)) by_kind[pods].push_back(kept_of_pod(object));
        } else if (kind == "Node") {
            if (is_new(object, kind)) by_kind[nodes].push_back(kept_of_node(object));
        } else if (kind == "Namespace") {
            if (is_new(object, kind)) by_kind[namespaces].push_back(kept_of_namespace(object));
        } else if (kube::is_rule_kind(kind) || kind == "LocalQueue" || kind == "ResourceFlavor") {
            if (is_new(object, kind)) by_kind[rules].push_back(kept_of_rule(object, kind));
        } else if (makes_pods(object, kind)) {
            if (is_new(object, kind)) by_kind[makers].push_back(kept_of_maker(object, kind));
        }
    }
    document list = document::map({{"apiVersion", "v1"}, {"kind", "List"}, {"items", document::list()}});
    for (auto& group : by_kind) {
        for (document& object : group) list["items"].push_back(std::move(object));
    }
    return list;
}

std::string file_text(const document& list) { return vgpuformats::print_json(list, 1) + "\n"; }

expected<std::vector<kube::manifest>> manifests_of(const document& list, const std::string& name) {
    return kube::read_manifests(file_text(list), name);
}

namespace {

vgpualloc::kubernetes::pod without_copy(vgpualloc::kubernetes::pod object) {
    object.annotations.erase(std::string{applied_copy});
    return object;
}

/// What of a pod decides: not where it was read, and not what is left out on purpose.
bool same_pod(const kube::snapshot_pod& left, const kube::snapshot_pod& right) {
    return left.full_name() == right.full_name() && left.dialect == right.dialect &&
           without_copy(left.object) == without_copy(right.object) && left.request == right.request &&
           left.rules_ignored == right.rules_ignored && left.gates == right.gates &&
           left.scheduler_name == right.scheduler_name && left.terminating == right.terminating &&
           left.failure.has_value() == right.failure.has_value();
}

} // namespace

std::string other_object(std::span<const kube::manifest> before, std::span<const kube::manifest> after) {
    const auto facts = [](const kube::manifest& object) {
        return std::tuple{
            object.kind,         object.replicas,          object.completions,        object.succeeded,
            object.one_per_node, object.min_available,     object.pod.has_value(),    kube::has_ended(object),
            object.priority,     object.quota_hard.size(), object.quota_used.size(),  object.gates.size(),
            object.terminating,  object.policy != nullptr, object.queueing != nullptr};
    };
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
        // Of what cannot be read it counts that it is there: what was wrong with it is hidden.
        const bool is_readable = before[i].problems.empty();
        const bool is_same = is_readable ? facts(before[i]) == facts(after[i]) : before[i].kind == after[i].kind;
        if (!is_same) return before[i].kind + " " + before[i].name;
    }
    return before.size() == after.size() ? "" : "the number of objects";
}

std::string difference_of(const kube::snapshot& before, const kube::snapshot& after) {
    if (before.nodes().nodes.size() != after.nodes().nodes.size()) return "the number of nodes";
    for (std::size_t n = 0; n < before.nodes().nodes.size(); ++n) {
        const auto& node = before.nodes().nodes[n];
        if (node != after.nodes().nodes[n] || before.devices[n] != after.devices[n]) return "node " + node.name;
    }
    if (before.extended != after.extended) return "the extended resources of nodes";
    if (before.bound.size() != after.bound.size()) return "the number of pods that run";
    for (std::size_t i = 0; i < before.bound.size(); ++i) {
        const auto& pod = before.bound[i];
        if (!same_pod(pod.pod, after.bound[i].pod) || pod.node != after.bound[i].node) {
            return "pod " + pod.pod.full_name();
        }
    }
    if (!before.book->same_use(*after.book)) return "what the ledger counts";
    if (before.pending.size() != after.pending.size()) return "the number of pods that wait";
    for (std::size_t i = 0; i < before.pending.size(); ++i) {
        if (!same_pod(before.pending[i], after.pending[i])) return "pod " + before.pending[i].full_name();
    }
    const auto names = [](const kube::snapshot& state) {
        std::vector<std::string> list = state.leaving_nodes;
        for (const auto& stray : state.strays) list.push_back(stray.full_name + " on " + stray.node);
        for (const auto& rule : state.rule_objects) list.push_back(rule.kind + " " + rule.ns + "/" + rule.name);
        return list;
    };
    return names(before) == names(after) ? "" : "the pods on unknown nodes, nodes that leave, or rules";
}

} // namespace vgpuops::snapshots
