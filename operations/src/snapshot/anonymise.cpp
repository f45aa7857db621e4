// Anonymised clusters.
#include "vgpuops/snapshot/anonymise.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "renamer.hpp"

namespace vgpuops::snapshots {

using vgpuformats::value_kind;

namespace {

/// Changes every object of a list in place. Runs twice: to learn the names, and to replace them.
class anonymiser : renamer {
public:
    explicit anonymiser(const kube::snapshot& state) : renamer{state}, state_{&state} {}

    void learn_numeric_labels(const document& list) {
        for (const document& object : list.find("items")->items) note_numbers(object, false);
    }
    [[nodiscard]] document list_of(const document& list) {
        document result = list;
        for (document& object : result["items"].items) change(object);
        return result;
    }
    void assign() { names_.assign(); }

private:
    /// Labels that some pod compares as numbers.
    void note_numbers(const document& value, bool in_expression) {
        if (in_expression && value.is_map()) {
            const document* const op = value.find("operator");
            const document* const key = value.find("key");
            if (op != nullptr && key != nullptr && (op->text == "Gt" || op->text == "Lt"))
                names_.compare_as_numbers(key->text);
        }
        for (const document& item : value.items) note_numbers(item, in_expression);
        for (const auto& [name, member] : value.members) note_numbers(member, name == "matchExpressions");
    }

    // ---- objects

    void change(document& object) {
        const document* const kind = object.find("kind");
        const std::string of_kind = kind->text;
        document& metadata = object["metadata"];
        if (!metadata.is_map()) hide(metadata);
        keep_words(object, "apiVersion", {"v1", "scheduling.k8s.io/v1", "scheduling.volcano.sh/v1beta1", "policy/v1"});
        if (of_kind == "Node") {
            change_node(object, metadata);
        } else if (of_kind == "Pod") {
            change_pod(object, metadata);
        } else if (of_kind == "ConfigMap") {
            change_config_map(object, metadata);
        } else if (of_kind == "Namespace") {
            if (name_of_namespace(metadata) != "default") rename(metadata, "name", name_class::ns);
            change_labels(metadata, "labels");
            return;
        } else {
            const auto names = of_kind == "PodGroup"        ? name_class::group
                               : of_kind == "PriorityClass" ? name_class::priority
                                                            : name_class::rule;
            rename(metadata, "name", names);
            hide_rule(object);
        }
        if (of_kind != "Node") change_namespace(metadata);
    }

    /// A number stays: the value of a class, the least number of pods of a group.
    void hide_rule(document& object) {
        if (object.find("value") != nullptr) hide(object["value"]);
        const document* const spec = object.find("spec");
        if (spec == nullptr) return;
        if (!spec->is_map()) return hide(object["spec"]);
        for (auto& [field, value] : object["spec"].members) {
            if (field == "extendedResourceName" && value.is_text())
                value.text = resource_name(value.text);
            else
                hide(value);
        }
    }

    static std::string name_of_namespace(const document& metadata) {
        const document* const name = metadata.find("name");
        return name == nullptr ? std::string{} : name->text;
    }

    /// The namespace that objects without one are in keeps its name.
    void change_namespace(document& metadata) {
        const document* const ns = metadata.find("namespace");
        if (ns != nullptr && ns->text != "default") rename(metadata, "namespace", name_class::ns);
    }

    void change_node(document& object, document& metadata) {
        rename(metadata, "name", name_class::node);
        change_labels(metadata, "labels");
        change_annotations(metadata);
        if (metadata.find("deletionTimestamp") != nullptr) rename(metadata, "deletionTimestamp", name_class::time);
        if (object.find("spec") != nullptr) {
            document& spec = object["spec"];
            if (!spec.is_map()) hide(spec);
            change_taints(spec, "taints");
            hide_text(spec, "unschedulable");
        }
        if (object.find("status") == nullptr) return;
        document& status = object["status"];
        if (!status.is_map()) return hide(status);
        for (const char* const amounts : {"allocatable", "capacity"}) change_amounts(status, amounts);
        change_conditions(status);
    }

    /// Conditions but Ready say nothing here.
    void change_conditions(document& status) {
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

    void change_taints(document& spec, std::string_view member) {
        if (spec.find(member) == nullptr) return;
        document& list = spec[member];
        if (!list.is_list()) return hide(list);
        for (document& entry : list.items) {
            if (!entry.is_map()) {
                hide(entry);
                continue;
            }
            keep_words(entry, "effect", {"NoSchedule", "PreferNoSchedule", "NoExecute", ""});
            keep_words(entry, "operator", {"Exists", "Equal", ""});
            rename(entry, "value", name_class::label_value);
            std::erase_if(entry.members, [](const auto& field) {
                return field.first != "key" && field.first != "value" && field.first != "operator" &&
                       field.first != "effect";
            });
            if (entry.find("key") == nullptr) continue;
            const std::string key = entry.find("key")->text;
            if (!vgpualloc::is_state_taint(key)) rename(entry, "key", name_class::label_key);
        }
    }

    /// The name of a ConfigMap has the node's in it.
    std::string config_map_name(const std::string& written) {
        for (const auto& node : state_->nodes().nodes) {
            for (const auto& spoken : state_->dialects) {
                if (spoken->config_map_of(node.name) == written) {
                    return spoken->config_map_of(name(name_class::node, node.name));
                }
            }
        }
        return name(name_class::word, written);
    }

    void change_config_map(document& object, document& metadata) {
        if (metadata.find("name") != nullptr) metadata["name"] = config_map_name(metadata.find("name")->text);
        if (object.find("data") == nullptr) return;
        document& data = object["data"];
        if (!data.is_map()) return hide(data);
        std::erase_if(data.members, [](const auto& member) { return member.first != "DeviceInfoCfg"; });
        for (auto& [key, value] : data.members) {
            if (value.is_text())
                value.text = device_list_text(value.text);
            else
                hide(value);
        }
    }

    void change_pod(document& object, document& metadata) {
        if (metadata.find("name") != nullptr) {
            std::erase_if(metadata.members, [](const auto& member) { return member.first == "generateName"; });
        }
        rename(metadata, "name", name_class::pod);
        rename(metadata, "generateName", name_class::pod);
        rename(metadata, "uid", name_class::uid);
        for (const char* const moment : {"creationTimestamp", "deletionTimestamp"})
            rename(metadata, moment, name_class::time);
        change_labels(metadata, "labels");
        change_annotations(metadata);
        if (metadata.find("ownerReferences") != nullptr) {
            document& owners = metadata["ownerReferences"];
            for (document& owner : owners.items) {
                keep_words(owner, "kind",
                           {"DaemonSet", "ReplicaSet", "StatefulSet", "Job", "Node", "ReplicationController"});
                hide_text(owner, "controller");
            }
            if (!owners.is_list()) hide(owners);
        }
        if (object.find("status") != nullptr) {
            document& status = object["status"];
            if (!status.is_map()) hide(status);
            keep_words(status, "phase", {"Pending", "Running", "Unknown", ""});
            rename(status, "startTime", name_class::time);
        }
        if (object.find("spec") == nullptr) return;
        document& spec = object["spec"];
        if (!spec.is_map()) return hide(spec);
        change_pod_spec(spec);
    }

    void change_pod_spec(document& spec) {
        rename(spec, "nodeName", name_class::node);
        const document* const scheduler = spec.find("schedulerName");
        if (scheduler != nullptr && !(scheduler->is_text() && is_known_scheduler(scheduler->text))) {
            rename(spec, "schedulerName", name_class::scheduler);
        }
        if (const document* const named = spec.find("priorityClassName");
            named != nullptr && named->text != "system-node-critical" && named->text != "system-cluster-critical") {
            rename(spec, "priorityClassName", name_class::priority);
        }
        rename(spec, "runtimeClassName", name_class::word);
        hide_text(spec, "hostNetwork");
        if (spec.find("priority") != nullptr && spec.find("priority")->kind != value_kind::number)
            hide(spec["priority"]);
        change_labels(spec, "nodeSelector");
        change_affinity(spec);
        change_taints(spec, "tolerations");
        change_spread(spec);
        empty_items(spec, "schedulingGates");
        if (spec.find("resourceClaims") != nullptr) {
            for (document& claim : spec["resourceClaims"].items) rename(claim, "name", name_class::claim);
            if (!spec["resourceClaims"].is_list()) hide(spec["resourceClaims"]);
        }
        change_amounts(spec, "overhead");
        change_resources(spec);
        for (const char* const list : {"containers", "initContainers", "ephemeralContainers"})
            change_containers(spec, list);
    }

    [[nodiscard]] bool is_known_scheduler(const std::string& scheduler) const {
        constexpr std::array<std::string_view, 5> names{"default-scheduler", "volcano", "hami-scheduler",
                                                        "kube-scheduler", ""};
        return std::ranges::find(names, scheduler) != names.end() ||
               std::ranges::any_of(state_->dialects,
                                   [&](const auto& spoken) { return spoken->scheduler() == scheduler; });
    }

    void change_containers(document& spec, std::string_view member) {
        if (spec.find(member) == nullptr) return;
        document& list = spec[member];
        if (!list.is_list()) return hide(list);
        for (document& container : list.items) {
            if (!container.is_map()) {
                hide(container);
                continue;
            }
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
            if (container.find("ports") != nullptr) hide_texts(container["ports"]);
            change_resources(container);
        }
    }
    void change_resources(document& holder) {
        if (holder.find("resources") == nullptr) return;
        document& resources = holder["resources"];
        if (!resources.is_map()) return hide(resources);
        for (const char* const amounts : {"limits", "requests"}) change_amounts(resources, amounts);
        for (auto& [key, value] : resources.members) {
            if (key == "limits" || key == "requests") continue;
            if (key != "claims" || !value.is_list()) {
                key = key.starts_with("l") || key.starts_with("L")   ? "limit"
                      : key.starts_with("r") || key.starts_with("R") ? "request"
                                                                     : "other";
                value = document::map();
                continue;
            }
            for (document& claim : value.items) {
                rename(claim, "name", name_class::claim);
                std::erase_if(claim.members, [](const auto& field) { return field.first != "name"; });
            }
        }
    }

    /// What is required of nodes and pods is read; of wishes it counts that there are some.
    void change_affinity(document& spec) {
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
        if (affinity.find("nodeAffinity") == nullptr || affinity.find("nodeAffinity")->find(required) == nullptr)
            return;
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
    /// Items of that kind; others are of no shape that is read.
    template <class Change>
    void change_items(document& holder, std::string_view member, value_kind kind, Change change_item) {
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
    void change_selector(document& holder, std::string_view member) {
        if (holder.find(member) == nullptr) return;
        document& selector = holder[member];
        if (!selector.is_map()) return hide(selector);
        std::erase_if(selector.members, [](const auto& field) {
            return field.first != "matchLabels" && field.first != "matchExpressions";
        });
        change_labels(selector, "matchLabels");
        change_items(selector, "matchExpressions", value_kind::map,
                     [this](document& entry) { change_requirement(entry, false); });
    }
    /// What terms of affinity and of spread have in common: domains, and the pods that are looked at.
    void change_domains(document& term) {
        if (term.find("topologyKey") != nullptr) {
            document& key = term["topologyKey"];
            if (key.is_text())
                key.text = label_key(key.text);
            else
                hide(key);
        }
        change_selector(term, "labelSelector");
        for (const char* const list : {"matchLabelKeys", "mismatchLabelKeys"}) {
            change_items(term, list, value_kind::text, [this](document& key) { key.text = label_key(key.text); });
        }
    }
    void change_pod_term(document& term) {
        change_domains(term);
        change_selector(term, "namespaceSelector");
        change_items(term, "namespaces", value_kind::text, [this](document& ns) {
            if (ns.text != "default") ns.text = name(name_class::ns, ns.text);
        });
    }
    void change_spread(document& spec) {
        change_items(spec, "topologySpreadConstraints", value_kind::map, [this](document& term) {
            change_domains(term);
            keep_words(term, "whenUnsatisfiable", {"DoNotSchedule", "ScheduleAnyway"});
            for (const char* const policy : {"nodeAffinityPolicy", "nodeTaintsPolicy"}) {
                keep_words(term, policy, {"Honor", "Ignore"});
            }
            for (const char* const number : {"maxSkew", "minDomains"}) hide_text(term, number);
        });
    }
    void change_term(document& term) {
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
    void change_requirement(document& entry, bool of_fields) {
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

    const kube::snapshot* state_;
};

} // namespace

document anonymised(const document& list, const kube::snapshot& state) {
    anonymiser changes{state};
    changes.learn_numeric_labels(list);
    static_cast<void>(changes.list_of(list));
    changes.assign();
    return changes.list_of(list);
}

} // namespace vgpuops::snapshots
