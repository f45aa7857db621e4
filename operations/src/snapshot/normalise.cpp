// Normalised objects of a cluster.
#include "vgpuops/snapshot/normalise.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/unread_members.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/unread_members.hpp"
#include "vgpuformats/yaml.hpp"

namespace vgpuops::snapshots {

using vgpuformats::value_kind;

namespace {

/// Paths of fields that are read. A path keeps everything below it; items of lists have no step of their own. "{}" at
/// the end: that the field is there counts, and not what it says.
constexpr std::array node_fields{"metadata/name",          "metadata/labels",
                                 "metadata/annotations",   "metadata/deletionTimestamp",
                                 "spec/unschedulable",     "spec/taints",
                                 "status/allocatable",     "status/capacity",
                                 "status/conditions/type", "status/conditions/status"};
constexpr std::array pod_fields{"metadata/name",
                                "metadata/generateName",
                                "metadata/namespace",
                                "metadata/uid",
                                "metadata/labels",
                                "metadata/annotations",
                                "metadata/creationTimestamp",
                                "metadata/deletionTimestamp",
                                "metadata/ownerReferences/kind",
                                "metadata/ownerReferences/controller",
                                "spec/nodeName",
                                "spec/schedulerName",
                                "spec/priority",
                                "spec/priorityClassName",
                                "spec/runtimeClassName",
                                "spec/hostNetwork",
                                "spec/nodeSelector",
                                "spec/affinity",
                                "spec/tolerations",
                                "spec/topologySpreadConstraints",
                                "spec/resourceClaims/name",
                                "spec/schedulingGates",
                                "spec/volumes/persistentVolumeClaim/{}",
                                "spec/volumes/ephemeral/{}",
                                "spec/volumes/csi/{}",
                                "spec/overhead",
                                "spec/resources",
                                "status/phase",
                                "status/startTime"};
/// Of spec/containers, spec/initContainers and spec/ephemeralContainers. The misspelt ones are told as mistakes.
constexpr std::array container_fields{
    "name",          "resources", "resource", "resouces", "ressources", "restartPolicy", "securityContext/privileged",
    "ports/hostPort"};
constexpr std::array namespace_fields{"metadata/name", "metadata/labels"};
constexpr std::array config_map_fields{"metadata/name", "metadata/namespace", "data"};
constexpr std::array rule_fields{"metadata/name", "metadata/namespace", "spec/minMember", "spec/extendedResourceName",
                                 "value"};

/// The fields that a path leads to, copied from one object to another.
void keep(const document& from, std::string_view path, document& to) {
    if (from.is_list()) {
        if (!to.is_list()) to = document::list(std::vector<document>(from.items.size(), document::map()));
        for (std::size_t i = 0; i < from.items.size(); ++i) keep(from.items[i], path, to.items[i]);
        return;
    }
    if (!from.is_map()) { // no object where there should be one: the reader tells it as it is
        to = from;
        return;
    }
    const auto slash = path.find('/');
    const document* const member = from.find(path.substr(0, slash));
    if (member == nullptr) return;
    document& target = to[path.substr(0, slash)];
    if (slash == std::string_view::npos) {
        target = *member;
    } else if (path.substr(slash + 1) == "{}") {
        target = member->is_null() ? *member : document::map();
    } else {
        if (target.is_null()) target = document::map();
        keep(*member, path.substr(slash + 1), target);
    }
}

template <std::size_t Count>
void keep_all(const document& from, const std::array<const char*, Count>& paths, const std::string& below,
              document& to) {
    for (const char* const path : paths) keep(from, below + path, to);
}

/// Items that have nothing left of them, as a volume that any node has.
void drop_empty_items(document& object, const char* list) {
    document& spec = object["spec"];
    if (!spec.is_map() || spec.find(list) == nullptr || !spec.find(list)->is_list()) return;
    auto& items = spec[list].items;
    std::erase_if(items, [](const document& item) { return item.is_map() && item.members.empty(); });
    if (items.empty()) std::erase_if(spec.members, [&](const auto& member) { return member.first == list; });
}

/// kubectl's copy of what it was last told to apply says everything twice, and nothing is decided by it.
constexpr const char* applied_copy = "kubectl.kubernetes.io/last-applied-configuration";

void drop_copy(document& object) {
    document& metadata = object["metadata"];
    if (!metadata.is_map() || metadata.find("annotations") == nullptr) return;
    std::erase_if(metadata["annotations"].members, [](const auto& member) { return member.first == applied_copy; });
}

document headed(const document& from, const std::string& kind) {
    document result = document::map();
    const document* const version = from.find("apiVersion");
    if (version != nullptr) result["apiVersion"] = *version;
    result["kind"] = kind;
    return result;
}

document normalised_pod(const document& from) {
    document result = headed(from, "Pod");
    keep_all(from, pod_fields, "", result);
    for (const char* const list : {"containers", "initContainers", "ephemeralContainers"}) {
        keep_all(from, container_fields, "spec/" + std::string{list} + "/", result);
    }
    drop_empty_items(result, "volumes");
    drop_copy(result);
    return result;
}

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
        const bool of_the_cluster = kind == "Node" || kind == "Namespace" || kube::is_of_the_cluster(kind);
        // Objects without a name are told one by one.
        return name.empty() ||
               seen.insert(kind + " " + (of_the_cluster || !ns.empty() ? ns : "default") + "/" + name).second;
    };
    std::array<std::vector<document>, 5> by_kind; // nodes, ConfigMaps, namespaces, rules, pods
    for (const document& object : objects) {
        const std::string kind = kind_of(object);
        if (kind == "Node" && is_new(object, kind)) {
            by_kind[0].push_back(headed(object, kind));
            keep_all(object, node_fields, "", by_kind[0].back());
            drop_copy(by_kind[0].back());
        } else if (kind == "ConfigMap" && config_maps.contains(name_of(object))) {
            by_kind[1].push_back(headed(object, kind)); // of several of a name the last one counts
            keep_all(object, config_map_fields, "", by_kind[1].back());
        } else if (kind == "Namespace" && is_new(object, kind)) {
            by_kind[2].push_back(headed(object, kind));
            keep_all(object, namespace_fields, "", by_kind[2].back());
        } else if (kube::is_rule_kind(kind) && is_new(object, kind)) {
            by_kind[3].push_back(headed(object, kind));
            keep_all(object, rule_fields, "", by_kind[3].back());
        } else if (kind == "Pod") {
            const std::string phase = text_at(object, {"status", "phase"});
            if (phase == "Succeeded" || phase == "Failed" || !is_new(object, kind)) continue;
            by_kind[4].push_back(normalised_pod(object));
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
    object.annotations.erase(applied_copy);
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
