// Fields of Kubernetes objects that are read.
#include "kept_fields.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace vgpuops::snapshots {

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
                                "metadata/creationTimestamp",
                                "metadata/deletionTimestamp",
                                "metadata/ownerReferences/kind",
                                "metadata/ownerReferences/name",
                                "metadata/ownerReferences/controller",
                                "status/conditions/type",
                                "status/conditions/status",
                                "status/phase",
                                "status/startTime"};
/// Of pods and of templates.
constexpr std::array template_fields{"metadata/labels",
                                     "metadata/annotations",
                                     "spec/nodeName",
                                     "spec/schedulerName",
                                     "spec/priority",
                                     "spec/priorityClassName",
                                     "spec/preemptionPolicy",
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
                                     "spec/activeDeadlineSeconds"};
/// Of spec/containers, spec/initContainers and spec/ephemeralContainers. The misspelt ones are told as mistakes.
constexpr std::array container_fields{
    "name",          "resources", "resource", "resouces", "ressources", "restartPolicy", "securityContext/privileged",
    "ports/hostPort"};
constexpr std::array namespace_fields{"metadata/name", "metadata/labels"};
constexpr std::array config_map_fields{"metadata/name", "metadata/namespace", "data"};
/// Of all kinds of rules together: none has a field of the same path that says something else.
constexpr std::array rule_fields{"metadata/name",
                                 "metadata/namespace",
                                 "metadata/ownerReferences/kind",
                                 "metadata/ownerReferences/name",
                                 "metadata/ownerReferences/controller",
                                 "value",
                                 "globalDefault",
                                 "preemptionPolicy",
                                 "spec/hard",
                                 "spec/scopes",
                                 "spec/scopeSelector/matchExpressions",
                                 "spec/limits/type",
                                 "spec/limits/min",
                                 "spec/limits/max",
                                 "spec/limits/default",
                                 "spec/limits/defaultRequest",
                                 "spec/limits/maxLimitRequestRatio",
                                 "spec/selector",
                                 "spec/minAvailable",
                                 "spec/maxUnavailable",
                                 "spec/unhealthyPodEvictionPolicy",
                                 "spec/minMember",
                                 "spec/minResources",
                                 "spec/queue",
                                 "spec/capability",
                                 "spec/resourceGroups/flavors/name",
                                 "spec/resourceGroups/flavors/resources/name",
                                 "spec/resourceGroups/flavors/resources/nominalQuota",
                                 "spec/resourceGroups/flavors/resources/borrowingLimit",
                                 "spec/resourceGroups/flavors/resources/lendingLimit",
                                 "spec/cohort",
                                 "spec/cohortName",
                                 "spec/parentName",
                                 "spec/clusterQueue",
                                 "spec/stopPolicy",
                                 "spec/namespaceSelector",
                                 "spec/queueingStrategy",
                                 "spec/flavorFungibility/whenCanBorrow",
                                 "spec/nodeLabels",
                                 "spec/nodeTaints",
                                 "spec/tolerations",
                                 "spec/extendedResourceName",
                                 "status/hard",
                                 "status/used",
                                 "status/disruptionsAllowed",
                                 "status/currentHealthy",
                                 "status/desiredHealthy",
                                 "status/phase",
                                 "status/state",
                                 "status/allocated",
                                 "status/flavorsReservation/name",
                                 "status/flavorsReservation/resources/name",
                                 "status/flavorsReservation/resources/total",
                                 "status/flavorsUsage/name",
                                 "status/flavorsUsage/resources/name",
                                 "status/flavorsUsage/resources/total"};
/// Of what makes pods, beside what is on the way to their templates.
constexpr std::array maker_fields{"metadata/name",
                                  "metadata/generateName",
                                  "metadata/namespace",
                                  "metadata/labels",
                                  "metadata/creationTimestamp",
                                  "metadata/deletionTimestamp",
                                  "metadata/ownerReferences/kind",
                                  "metadata/ownerReferences/name",
                                  "metadata/ownerReferences/controller",
                                  "status/conditions/type",
                                  "status/conditions/status",
                                  "status/succeeded",
                                  "status/admissionChecks/name",
                                  "status/admissionChecks/state"};
/// In the specification of what makes pods, wherever they are: how many, and what holds a template.
constexpr std::array maker_spec_fields{"replicas",
                                       "parallelism",
                                       "completions",
                                       "suspend",
                                       "tasks",
                                       "name",
                                       "minAvailable",
                                       "jobTemplate",
                                       "spec",
                                       "template",
                                       "replicatedJobs",
                                       "headGroupSpec",
                                       "workerGroupSpecs",
                                       "groupName",
                                       "minReplicas",
                                       "maxReplicas",
                                       "numOfHosts",
                                       "workerTemplate",
                                       "size",
                                       "leaderWorkerTemplate",
                                       "leaderTemplate",
                                       "rayClusterSpec",
                                       "rayClusterConfig",
                                       "runPolicy",
                                       "schedulingPolicy",
                                       "schedulerName",
                                       "podSets",
                                       "count",
                                       "queueName",
                                       "queue",
                                       "priority",
                                       "active"};
constexpr std::array role_fields{"pytorchReplicaSpecs", "tfReplicaSpecs",     "mpiReplicaSpecs",
                                 "xgbReplicaSpecs",     "paddleReplicaSpecs", "jaxReplicaSpecs"};

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

/// What is read of a template, and of a pod too; `result` may have its headers.
void keep_template(const document& from, document& result) {
    keep_all(from, template_fields, "", result);
    for (const char* const list : {"containers", "initContainers", "ephemeralContainers"}) {
        keep_all(from, container_fields, "spec/" + std::string{list} + "/", result);
    }
    drop_empty_items(result, "volumes");
    drop_copy(result);
}

/// What is on the way to templates, and they themselves.
document kept_of_templates(const document& value, bool has_roles) {
    document result = value;
    if (value.is_list()) {
        for (document& item : result.items) item = kept_of_templates(item, false);
        return result;
    }
    if (!value.is_map()) return result;
    if (is_pod_template(value)) {
        result = document::map();
        keep_template(value, result);
        return result;
    }
    result.members.clear();
    for (const auto& [field, member] : value.members) {
        const bool is_kept = has_roles || has_roles_by_name(field) ||
                             std::ranges::find(maker_spec_fields, field) != maker_spec_fields.end();
        if (is_kept) result[field] = kept_of_templates(member, has_roles_by_name(field));
        if (field == "clusterSelector") result[field] = document::map(); // of a RayJob: it makes no pods then
    }
    return result;
}

} // namespace

bool is_pod_template(const document& value) {
    const document* const spec = value.find("spec");
    return spec != nullptr && spec->find("containers") != nullptr;
}

bool has_roles_by_name(std::string_view field) { return std::ranges::find(role_fields, field) != role_fields.end(); }

document kept_of_node(const document& object) {
    document result = headed(object, "Node");
    keep_all(object, node_fields, "", result);
    drop_copy(result);
    return result;
}

document kept_of_pod(const document& object) {
    document result = headed(object, "Pod");
    keep_all(object, pod_fields, "", result);
    keep_template(object, result);
    return result;
}

document kept_of_config_map(const document& object) {
    document result = headed(object, "ConfigMap");
    keep_all(object, config_map_fields, "", result);
    return result;
}

document kept_of_namespace(const document& object) {
    document result = headed(object, "Namespace");
    keep_all(object, namespace_fields, "", result);
    return result;
}

document kept_of_rule(const document& object, std::string_view kind) {
    document result = headed(object, std::string{kind});
    keep_all(object, rule_fields, "", result);
    return result;
}

document kept_of_maker(const document& object, std::string_view kind) {
    document result = headed(object, std::string{kind});
    keep_all(object, maker_fields, "", result);
    if (kind == "Workload") keep(object, "status/conditions/message", result);
    if (const document* const spec = object.find("spec")) result["spec"] = kept_of_templates(*spec, false);
    return result;
}

} // namespace vgpuops::snapshots
