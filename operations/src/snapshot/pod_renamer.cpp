// Names of pods into pseudonyms.
#include "pod_renamer.hpp"

#include <algorithm>
#include <array>

#include "vgpualloc/model/host_rules.hpp"

namespace vgpuops::snapshots {

using vgpuformats::value_kind;

void pod_renamer::change_pod(document& object, document& metadata) {
    if (metadata.find("name") != nullptr) {
        std::erase_if(metadata.members, [](const auto& member) { return member.first == "generateName"; });
    }
    rename(metadata, "name", name_class::pod);
    rename(metadata, "generateName", name_class::pod);
    rename(metadata, "uid", name_class::uid);
    for (const char* const moment : {"creationTimestamp", "deletionTimestamp"})
        rename(metadata, moment, name_class::time);
    change_owners(metadata, metadata.find("labels"));
    if (object.find("status") != nullptr) {
        document& status = object["status"];
        if (!status.is_map()) hide(status);
        keep_words(status, "phase", {"Pending", "Running", "Unknown", "Succeeded", "Failed", ""});
        rename(status, "startTime", name_class::time);
        change_conditions(status);
    }
    change_template(object);
}

void pod_renamer::change_template(document& value) {
    if (value.find("metadata") != nullptr && value["metadata"].is_map()) {
        change_labels(value["metadata"], "labels");
        change_annotations(value["metadata"]);
    }
    if (value.find("spec") == nullptr) return;
    document& spec = value["spec"];
    if (!spec.is_map()) return hide(spec);
    change_pod_spec(spec);
}

void pod_renamer::change_owners(document& metadata, const document* labels) {
    if (metadata.find("ownerReferences") == nullptr) return;
    document& owners = metadata["ownerReferences"];
    if (!owners.is_list()) return hide(owners);
    for (document& owner : owners.items) {
        if (!owner.is_map()) {
            hide(owner);
            continue;
        }
        const document* const kind = owner.find("kind");
        const std::string written = kind != nullptr && kind->is_text() ? kind->text : std::string{};
        keep_words(owner, "kind", {"DaemonSet",  "Deployment",
                                   "ReplicaSet", "StatefulSet",
                                   "Job",        "CronJob",
                                   "Node",       "ReplicationController",
                                   "PyTorchJob", "TFJob",
                                   "MPIJob",     "XGBoostJob",
                                   "PaddleJob",  "JAXJob",
                                   "RayCluster", "RayJob",
                                   "RayService", "LeaderWorkerSet",
                                   "JobSet",     "Workload",
                                   "PodGroup",   "Pod"});
        const name_class names = written == "Node"       ? name_class::node
                                 : written == "Pod"      ? name_class::pod
                                 : written == "PodGroup" ? name_class::group
                                                         : name_class::owner;
        if (names == name_class::owner && owner.find("name") != nullptr && owner["name"].is_text()) {
            owner["name"].text = owner_name(owner["name"].text, labels);
        } else {
            rename(owner, "name", names);
        }
        hide_text(owner, "controller");
    }
}

std::string pod_renamer::owner_name(const std::string& written, const document* labels) {
    constexpr const char* hash_label = "pod-template-hash";
    const document* const hash = labels == nullptr ? nullptr : labels->find(hash_label);
    if (hash != nullptr && hash->is_text() && !hash->text.empty() && written.ends_with("-" + hash->text)) {
        hashes_.try_emplace(written, hash->text);
    }
    const auto known = hashes_.find(written);
    if (known == hashes_.end()) return name(name_class::owner, written);
    const std::string deployment = written.substr(0, written.size() - known->second.size() - 1);
    return name(name_class::owner, deployment) + "-" + label_value(hash_label, known->second);
}

void pod_renamer::rename_scheduler(document& spec) {
    const document* const scheduler = spec.find("schedulerName");
    if (scheduler != nullptr && !(scheduler->is_text() && is_known_scheduler(scheduler->text))) {
        rename(spec, "schedulerName", name_class::scheduler);
    }
}

void pod_renamer::rename_priority(document& value) {
    if (!value.is_text()) return hide(value);
    if (value.text == "system-node-critical" || value.text == "system-cluster-critical") return;
    value.text = name(name_class::priority, value.text);
}

void pod_renamer::change_conditions(document& status) {
    if (status.find("conditions") == nullptr) return;
    document& conditions = status["conditions"];
    if (!conditions.is_list()) return hide(conditions);
    std::erase_if(conditions.items, [](const document& item) {
        const document* const type = item.find("type");
        return item.is_map() && (type == nullptr || type->text != "Ready");
    });
    for (document& item : conditions.items) {
        if (!item.is_map()) hide(item);
        keep_words(item, "status", {"True", "False", "Unknown"});
    }
}

void pod_renamer::change_taints(document& spec, std::string_view member) {
    change_items(spec, member, value_kind::map, [this](document& entry) {
        keep_words(entry, "effect", {"NoSchedule", "PreferNoSchedule", "NoExecute", ""});
        keep_words(entry, "operator", {"Exists", "Equal", ""});
        rename(entry, "value", name_class::label_value);
        keep_members(entry, {"key", "value", "operator", "effect"});
        if (entry.find("key") == nullptr) return;
        const std::string key = entry.find("key")->text;
        if (!vgpualloc::is_state_taint(key)) rename(entry, "key", name_class::label_key);
    });
}

void pod_renamer::change_pod_spec(document& spec) {
    rename(spec, "nodeName", name_class::node);
    rename_scheduler(spec);
    if (spec.find("priorityClassName") != nullptr) rename_priority(spec["priorityClassName"]);
    hide_text(spec, "activeDeadlineSeconds");
    rename(spec, "runtimeClassName", name_class::word);
    hide_text(spec, "hostNetwork");
    hide_no_number(spec, "priority");
    keep_words(spec, "preemptionPolicy", {"Never", "PreemptLowerPriority"});
    change_labels(spec, "nodeSelector");
    change_affinity(spec);
    change_taints(spec, "tolerations");
    change_spread(spec);
    change_items(spec, "schedulingGates", value_kind::map, [this](document& gate) {
        constexpr std::string_view of_queues = "kueue.x-k8s.io/"; // it is a queue that waits then
        keep_members(gate, {"name"});
        change_text(gate, "name", [&](const std::string& written) {
            const std::string before{written.starts_with(of_queues) ? of_queues : ""};
            return before + name(name_class::word, written.substr(before.size()));
        });
    });
    change_items(spec, "resourceClaims", value_kind::map,
                 [this](document& claim) { rename(claim, "name", name_class::claim); });
    change_items(spec, "volumes", value_kind::map,
                 [](document& /*volume*/) {}); // of these it counts that they are there
    change_amounts(spec, "overhead");
    change_resources(spec);
    for (const char* const list : {"containers", "initContainers", "ephemeralContainers"})
        change_containers(spec, list);
}

bool pod_renamer::is_known_scheduler(const std::string& scheduler) const {
    constexpr std::array<std::string_view, 5> names{"default-scheduler", "volcano", "hami-scheduler", "kube-scheduler",
                                                    ""};
    return std::ranges::find(names, scheduler) != names.end() ||
           std::ranges::any_of(*dialects_, [&](const auto& spoken) { return spoken->scheduler() == scheduler; });
}

void pod_renamer::change_containers(document& spec, std::string_view member) {
    change_items(spec, member, value_kind::map, [this](document& container) {
        rename(container, "name", name_class::container);
        keep_words(container, "restartPolicy", {"Always", "OnFailure", "Never", ""});
        for (const char* const misspelt : {"resource", "resouces", "ressources"}) {
            if (container.find(misspelt) != nullptr) container[misspelt] = document::map();
        }
        if (container.find("securityContext") != nullptr) {
            document& context = container["securityContext"];
            if (context.is_map())
                hide_text(context, "privileged");
            else
                hide(context);
        }
        change_items(container, "ports", value_kind::map, [this](document& port) {
            for (auto& [field, value] : port.members) hide(value);
        });
        change_resources(container);
    });
}

void pod_renamer::change_resources(document& holder) {
    if (holder.find("resources") == nullptr) return;
    document& resources = holder["resources"];
    if (!resources.is_map()) return hide(resources);
    for (const char* const amounts : {"limits", "requests"}) change_amounts(resources, amounts);
    change_items(resources, "claims", value_kind::map, [this](document& claim) {
        rename(claim, "name", name_class::claim);
        keep_members(claim, {"name"});
    });
    int unread = 0; // a key is there once
    for (auto& [key, value] : resources.members) {
        if (key == "limits" || key == "requests" || key == "claims") continue;
        const bool is_like_limits = key.starts_with("l") || key.starts_with("L");
        const bool is_like_requests = key.starts_with("r") || key.starts_with("R");
        key = is_like_limits ? "limit" : is_like_requests ? "request" : "other";
        if (unread++ > 0) key += std::to_string(unread);
        value = document::map();
    }
}

/// What is required of nodes and pods is read; of wishes it counts that there are some.
void pod_renamer::change_affinity(document& spec) {
    if (spec.find("affinity") == nullptr) return;
    document& affinity = spec["affinity"];
    if (!affinity.is_map()) return hide(affinity);
    constexpr std::string_view required = "requiredDuringSchedulingIgnoredDuringExecution";
    constexpr std::string_view preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    std::erase_if(affinity.members, [](const auto& member) {
        return member.first != "nodeAffinity" && member.first != "podAffinity" && member.first != "podAntiAffinity";
    });
    for (auto& [kind, rules] : affinity.members) {
        if (!rules.is_map()) {
            hide(rules);
            continue;
        }
        std::erase_if(rules.members,
                      [&](const auto& member) { return member.first != required && member.first != preferred; });
        empty_items(rules, preferred);
        if (kind != "nodeAffinity")
            change_items(rules, required, value_kind::map, [this](document& term) { change_pod_term(term); });
    }
    if (affinity.find("nodeAffinity") == nullptr || affinity.find("nodeAffinity")->find(required) == nullptr) return;
    document& rule = affinity["nodeAffinity"][required];
    if (!rule.is_map()) return hide(rule);
    for (auto& [key, terms] : rule.members) {
        if (key == "nodeSelectorTerms" && terms.is_list()) {
            for (document& term : terms.items) change_term(term);
            continue;
        }
        hide(terms);
        if (key != "nodeSelectorTerms") key = name(name_class::word, key);
    }
}

void pod_renamer::change_items(document& holder, std::string_view member, value_kind kind,
                               const std::function<void(document&)>& change_item) {
    if (holder.find(member) == nullptr) return;
    document& list = holder[member];
    if (!list.is_list()) return hide(list);
    for (document& item : list.items) {
        if (item.kind == kind)
            change_item(item);
        else
            hide(item);
    }
}

void pod_renamer::change_selector(document& holder, std::string_view member) {
    if (holder.find(member) == nullptr) return;
    document& selector = holder[member];
    if (!selector.is_map()) return hide(selector);
    std::erase_if(selector.members,
                  [](const auto& field) { return field.first != "matchLabels" && field.first != "matchExpressions"; });
    change_labels(selector, "matchLabels");
    change_items(selector, "matchExpressions", value_kind::map,
                 [this](document& entry) { change_requirement(entry, false); });
}

/// What terms of affinity and of spread have in common: domains, and the pods that are looked at.
void pod_renamer::change_domains(document& term) {
    change_text(term, "topologyKey", [this](const std::string& key) { return label_key(key); });
    change_selector(term, "labelSelector");
    for (const char* const list : {"matchLabelKeys", "mismatchLabelKeys"}) {
        change_items(term, list, value_kind::text, [this](document& key) { key.text = label_key(key.text); });
    }
}

void pod_renamer::change_pod_term(document& term) {
    keep_members(term, {"topologyKey", "labelSelector", "matchLabelKeys", "mismatchLabelKeys", "namespaceSelector",
                        "namespaces"});
    change_domains(term);
    change_selector(term, "namespaceSelector");
    change_items(term, "namespaces", value_kind::text, [this](document& ns) {
        if (ns.text != "default") ns.text = name(name_class::ns, ns.text);
    });
}

void pod_renamer::change_spread(document& spec) {
    change_items(spec, "topologySpreadConstraints", value_kind::map, [this](document& term) {
        keep_members(term, {"topologyKey", "labelSelector", "matchLabelKeys", "whenUnsatisfiable", "nodeAffinityPolicy",
                            "nodeTaintsPolicy", "maxSkew", "minDomains"});
        change_domains(term);
        keep_words(term, "whenUnsatisfiable", {"DoNotSchedule", "ScheduleAnyway"});
        for (const char* const policy : {"nodeAffinityPolicy", "nodeTaintsPolicy"}) {
            keep_words(term, policy, {"Honor", "Ignore"});
        }
        for (const char* const number : {"maxSkew", "minDomains"}) hide_text(term, number);
    });
}

void pod_renamer::change_term(document& term) {
    if (!term.is_map()) return hide(term);
    for (auto& [key, list] : term.members) {
        const bool is_read = key == "matchExpressions" || key == "matchFields";
        if (!list.is_list() || !is_read) {
            hide(list);
            if (!is_read) key = name(name_class::word, key);
            continue;
        }
        for (document& entry : list.items) change_requirement(entry, key == "matchFields");
    }
}

void pod_renamer::change_requirement(document& entry, bool of_fields) {
    if (!entry.is_map()) return hide(entry);
    std::erase_if(entry.members, [](const auto& field) {
        return field.first != "key" && field.first != "operator" && field.first != "values";
    });
    keep_words(entry, "operator", {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"});
    const document* const key = entry.find("key");
    const std::string label = key != nullptr && key->is_text() ? key->text : std::string{};
    if (entry.find("values") != nullptr) {
        document& values = entry["values"];
        for (document& value : values.items) {
            if (!value.is_text())
                hide(value);
            else
                value.text = of_fields ? name(name_class::node, value.text) : label_value(label, value.text);
        }
        if (!values.is_list()) hide(values);
    }
    if (key == nullptr || (of_fields && label == "metadata.name")) return;
    if (entry["key"].is_text())
        entry["key"].text = label_key(label);
    else
        hide(entry["key"]);
}

} // namespace vgpuops::snapshots
