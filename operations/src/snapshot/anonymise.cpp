// Anonymised clusters.
#include "vgpuops/snapshot/anonymise.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "kept_fields.hpp"
#include "pod_renamer.hpp"

namespace vgpuops::snapshots {

using vgpuformats::value_kind;

namespace {

/// Changes every object of a list in place. Runs twice: to learn the names, and to replace them.
class anonymiser : pod_renamer {
public:
    explicit anonymiser(const kube::snapshot& state) : pod_renamer{state}, state_{&state} {}

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
        change_text(object, "apiVersion", [this](const std::string& version) {
            return is_known_version(version) ? version : name(name_class::word, version);
        });
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
        } else if (kube::is_rule_kind(of_kind) || of_kind == "LocalQueue" || of_kind == "ResourceFlavor") {
            change_rule(object, metadata, of_kind);
        } else {
            change_maker(object, metadata);
        }
        if (of_kind != "Node") change_namespace(metadata);
    }

    void change_rule(document& object, document& metadata, const std::string& kind) {
        const bool is_queue = kind == "Queue" || kind == "ClusterQueue" || kind == "LocalQueue";
        if (is_queue) {
            rename_queue(metadata, "name");
        } else if (kind == "PriorityClass") {
            if (metadata.find("name") != nullptr) rename_priority(metadata["name"]);
        } else if (kind == "Cohort" || kind == "ResourceFlavor") {
            rename(metadata, "name", name_class::word); // as queues call them
        } else {
            rename(metadata, "name", kind == "PodGroup" ? name_class::group : name_class::rule);
        }
        change_owners(metadata, nullptr);
        hide_no_number(object, "value");
        hide_text(object, "globalDefault");
        keep_words(object, "preemptionPolicy", {"Never", "PreemptLowerPriority"});
        change_rule_spec(object);
        change_rule_status(object);
    }

    void change_rule_spec(document& object) {
        if (object.find("spec") == nullptr) return;
        document& spec = object["spec"];
        if (!spec.is_map()) return hide(spec);
        for (const char* const amounts : {"hard", "minResources", "capability"}) change_quota(spec, amounts);
        change_items(spec, "scopes", value_kind::text, [this](document& scope) { keep_scope(scope); });
        if (spec.find("scopeSelector") != nullptr) {
            document& selector = spec["scopeSelector"];
            if (!selector.is_map()) hide(selector);
            change_items(selector, "matchExpressions", value_kind::map, [this](document& entry) {
                if (entry.find("scopeName") != nullptr) keep_scope(entry["scopeName"]);
                keep_words(entry, "operator", {"In", "NotIn", "Exists", "DoesNotExist"});
                change_items(entry, "values", value_kind::text, [this](document& value) { rename_priority(value); });
                keep_members(entry, {"scopeName", "operator", "values"});
            });
        }
        change_items(spec, "limits", value_kind::map, [this](document& item) {
            keep_words(item, "type", {"Container", "Pod", "PersistentVolumeClaim"});
            for (const char* const amounts : {"min", "max", "default", "defaultRequest", "maxLimitRequestRatio"})
                change_amounts(item, amounts);
        });
        change_selector(spec, "selector");
        for (const char* const pods : {"minAvailable", "maxUnavailable"}) hide_no_share(spec, pods);
        keep_words(spec, "unhealthyPodEvictionPolicy", {"AlwaysAllow", "IfHealthyBudget"});
        hide_text(spec, "minMember");
        for (const char* const queue : {"queue", "clusterQueue"}) rename_queue(spec, queue);
        change_items(spec, "resourceGroups", value_kind::map,
                     [this](document& group) { change_flavors(group, "flavors"); });
        for (const char* const cohort : {"cohort", "cohortName", "parentName"}) rename(spec, cohort, name_class::word);
        keep_words(spec, "stopPolicy", {"None", "Hold", "HoldAndDrain"});
        change_selector(spec, "namespaceSelector");
        keep_words(spec, "queueingStrategy", {"BestEffortFIFO", "StrictFIFO"});
        if (spec.find("flavorFungibility") != nullptr) {
            keep_words(spec["flavorFungibility"], "whenCanBorrow", {"Borrow", "MayStopSearch", "TryNextFlavor"});
        }
        change_labels(spec, "nodeLabels");
        change_taints(spec, "nodeTaints");
        change_taints(spec, "tolerations");
        change_text(spec, "extendedResourceName",
                    [this](const std::string& resource) { return resource_name(resource); });
    }

    void change_rule_status(document& object) {
        if (object.find("status") == nullptr) return;
        document& status = object["status"];
        if (!status.is_map()) return hide(status);
        for (const char* const amounts : {"hard", "used", "allocated"}) change_quota(status, amounts);
        for (const char* const pods : {"disruptionsAllowed", "currentHealthy", "desiredHealthy"})
            hide_text(status, pods);
        keep_words(status, "phase", {"Pending", "Running", "Unknown", "Inqueue", "Completed", ""});
        keep_words(status, "state", {"Open", "Closed", "Closing", "Unknown", ""});
        for (const char* const flavors : {"flavorsReservation", "flavorsUsage"}) change_flavors(status, flavors);
    }

    /// Amounts by resource, or by what a quota calls it ("requests.nvidia.com/gpu", "count/pods").
    void change_quota(document& holder, std::string_view member) {
        if (holder.find(member) == nullptr) return;
        document& amounts = holder[member];
        if (!amounts.is_map()) return hide(amounts);
        for (auto& [resource, amount] : amounts.members) {
            std::string_view before;
            for (const std::string_view prefix : {"requests.", "limits."}) {
                if (resource.starts_with(prefix)) before = prefix;
            }
            if (resource != "count/pods")
                resource = std::string{before} + resource_name(resource.substr(before.size()));
            hide_no_amount(amount);
        }
    }

    void change_flavors(document& holder, std::string_view member) {
        change_items(holder, member, value_kind::map, [this](document& flavor) {
            rename(flavor, "name", name_class::word);
            change_items(flavor, "resources", value_kind::map, [this](document& resource) {
                change_text(resource, "name", [this](const std::string& written) { return resource_name(written); });
                for (const char* const amount : {"nominalQuota", "borrowingLimit", "lendingLimit", "total"}) {
                    if (resource.find(amount) != nullptr) hide_no_amount(resource[amount]);
                }
            });
        });
    }

    /// A number, or a share such as "50%".
    void hide_no_share(document& holder, std::string_view member) {
        if (holder.find(member) == nullptr) return;
        document& share = holder[member];
        if (share.kind == value_kind::number) return;
        const bool is_share = share.is_text() && share.text.ends_with('%') &&
                              is_amount(std::string_view{share.text}.substr(0, share.text.size() - 1));
        if (!is_share) hide(share);
    }

    void rename_queue(document& holder, std::string_view member) {
        change_text(holder, member, [this](const std::string& queue) { return queue_name(queue); });
    }

    void change_maker(document& object, document& metadata) {
        const document* const spec = object.find("spec");
        const document* const made = spec == nullptr ? nullptr : spec->find("template");
        const document* const made_metadata = made == nullptr ? nullptr : made->find("metadata");
        const document* const labels = made_metadata == nullptr ? nullptr : made_metadata->find("labels");
        for (const char* const member : {"name", "generateName"}) {
            change_text(metadata, member, [&](const std::string& written) { return owner_name(written, labels); });
        }
        for (const char* const moment : {"creationTimestamp", "deletionTimestamp"})
            rename(metadata, moment, name_class::time);
        change_owners(metadata, labels);
        change_labels(metadata, "labels");
        if (object.find("status") != nullptr) {
            document& status = object["status"];
            if (!status.is_map()) hide(status);
            hide_no_number(status, "succeeded");
            change_items(status, "conditions", value_kind::map, [this](document& condition) {
                keep_words(condition, "type",
                           {"Complete", "Failed", "Suspended", "QuotaReserved", "Admitted", "Finished", "Evicted",
                            "PodsReady", "Requeued", "Preempted"});
                keep_words(condition, "status", {"True", "False", "Unknown"});
                change_text(condition, "message", [this](const std::string& text) { return annotation_text(text); });
            });
            change_items(status, "admissionChecks", value_kind::map, [this](document& check) {
                rename(check, "name", name_class::word);
                keep_words(check, "state", {"Pending", "Ready", "Retry", "Rejected"});
            });
        }
        if (object.find("spec") != nullptr) change_templates(object["spec"], false);
    }

    /// What is on the way to templates, and they themselves.
    void change_templates(document& value, bool has_roles) {
        if (value.is_text()) return hide(value);
        for (document& item : value.items) change_templates(item, false);
        if (is_pod_template(value)) {
            if (value.find("metadata") != nullptr && !value["metadata"].is_map()) hide(value["metadata"]);
            return change_template(value);
        }
        for (auto& [field, member] : value.members) {
            if (field == "schedulerName") {
                rename_scheduler(value);
            } else if (field == "queueName" || field == "queue") {
                rename_queue(value, field);
            } else {
                change_templates(member, has_roles_by_name(field));
            }
            if (has_roles) field = name(name_class::word, field);
        }
    }

    /// "v1", or "<group>/v1beta1" of the groups whose objects are read.
    static bool is_known_version(std::string_view text) {
        constexpr std::array<std::string_view, 14> groups{"",
                                                          "apps/",
                                                          "extensions/",
                                                          "batch/",
                                                          "policy/",
                                                          "scheduling.k8s.io/",
                                                          "resource.k8s.io/",
                                                          "scheduling.volcano.sh/",
                                                          "batch.volcano.sh/",
                                                          "kueue.x-k8s.io/",
                                                          "jobset.x-k8s.io/",
                                                          "leaderworkerset.x-k8s.io/",
                                                          "kubeflow.org/",
                                                          "ray.io/"};
        const std::size_t end = text.find('/') + 1; // 0 without one
        if (std::ranges::find(groups, text.substr(0, end)) == groups.end()) return false;
        std::string_view version = text.substr(end);
        const auto skip_number = [&version] {
            const std::size_t digits = std::min(version.find_first_not_of("0123456789"), version.size());
            version.remove_prefix(digits);
            return digits > 0 && digits <= 2;
        };
        if (!version.starts_with('v')) return false;
        version.remove_prefix(1);
        if (!skip_number()) return false;
        for (const std::string_view stage : {"alpha", "beta"}) {
            if (!version.starts_with(stage)) continue;
            version.remove_prefix(stage.size());
            return skip_number() && version.empty();
        }
        return version.empty();
    }

    void keep_scope(document& scope) {
        keep_word(scope, {"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "PriorityClass",
                          "CrossNamespacePodAffinity", "VolumeAttributesClass"});
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
        keep_members(data, {"DeviceInfoCfg"});
        change_text(data, "DeviceInfoCfg", [this](const std::string& text) { return device_list_text(text); });
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
