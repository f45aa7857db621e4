// Reading Kubernetes objects: which there are, and where their pods are.
#include "vgpualloc/kube/objects.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <tuple>
#include <utility>

#include "objects_parts.hpp"
#include "vgpualloc/kube/unread_members.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/unread_members.hpp"
#include "vgpuformats/yaml.hpp"

namespace vgpualloc::kube {

namespace {

/// A kind that makes pods, where its template is, and the field that says how many.
struct pod_maker {
    std::string_view kind;
    std::array<std::string_view, 2> groups; ///< of its apiVersion
    std::array<std::string_view, 3> path;   ///< to what holds `template`, below spec
    std::string_view replicas;
};
constexpr std::array<pod_maker, 7> pod_makers{{{"Deployment", {"apps", "extensions"}, {}, "replicas"},
                                               {"ReplicaSet", {"apps", "extensions"}, {}, "replicas"},
                                               {"ReplicationController", {"v1"}, {}, "replicas"},
                                               {"StatefulSet", {"apps"}, {}, "replicas"},
                                               {"DaemonSet", {"apps", "extensions"}, {}, ""},
                                               {"Job", {"batch"}, {}, "parallelism"},
                                               {"CronJob", {"batch"}, {"jobTemplate", "spec"}, "parallelism"}}};

/// The entry of an object's kind; null if its pods are not read. Without an apiVersion the kind alone counts.
const pod_maker* maker_of(const manifest& object) {
    const auto maker = std::ranges::find(pod_makers, object.kind, &pod_maker::kind);
    if (maker == pod_makers.end()) return nullptr;
    const auto group = group_of(object.api_version);
    return group.empty() || std::ranges::find(maker->groups, group) != maker->groups.end() ? &*maker : nullptr;
}

class manifest_reader {
public:
    manifest_reader(const std::string& name, const stop_signal& stop) : name_{&name}, stop_{stop} {}

    /// An item of a list of which the rest is still to come. False if only the list says of what kind it is.
    bool read_item(const document& item, vgpuformats::text_place list) {
        if (item.find("kind") == nullptr) return false;
        if (items_read_++ == 0) line_ = list.line;
        read_object(item, {});
        return true;
    }
    /// Whether items were read that are none of a list, or not all of one list: then nothing is in its order.
    [[nodiscard]] bool has_misread(const std::vector<document>& roots) const {
        return items_read_ > 0 && (roots.size() != 1 || !is_list(roots.front()));
    }

    /// The items of a list are empty then. Reads nothing more once an end is wanted.
    void read(document& object, const std::string& kind_in_list) {
        if (stop_.poll()) return;
        const bool goes_on = std::exchange(items_read_, 0) > 0;
        if (is_list(object)) {
            const std::string kind = object.find("kind")->text;
            if (!goes_on) line_ = object.place.line;
            std::vector<document>& items = object["items"].items;
            if (manifests_.empty()) manifests_.reserve(items.size());
            for (document& item : items) {
                read(item, kind.substr(0, kind.size() - 4));
                item = {}; // not all of the items and of what is read of them at once
            }
            return;
        }
        read_object(object, kind_in_list);
    }
    [[nodiscard]] std::vector<manifest> take() { return std::move(manifests_); }

private:
    void read_object(const document& object, const std::string& kind_in_list) {
        if (stop_.poll()) return;
        ++objects_;
        manifest result = headed(object, kind_in_list);
        const auto spec = cursor(object, result).at("spec");
        if (result.kind.ends_with("List"))
            static_cast<void>(cursor(object, result).at("items").items()); // one that is no list is told
        if (result.kind == "Pod") {
            read_pod(object, result);
        } else if (result.kind == "Node") {
            result.node.emplace();
            result.node->name = result.name;
            result.node->labels = cursor(object, result).at("metadata").at("labels").texts();
            result.node->annotations = cursor(object, result).at("metadata").at("annotations").texts();
            read_node_status(cursor(object, result).at("status"), result);
            read_host_facts(cursor(object, result), result);
        } else if (result.kind == "ConfigMap") {
            result.data = cursor(object, result).at("data").texts();
        } else if (result.kind == "Namespace") {
            result.data = cursor(object, result).at("metadata").at("labels").texts();
        } else if (result.kind == "DeviceClass") {
            result.extended_resource = spec.at("extendedResourceName").text();
        } else if (result.kind == "ResourceQuota") {
            read_quota(cursor(object, result), result);
        } else if (is_queue_kind(result.kind)) {
            read_queue_facts(cursor(object, result), result);
        } else if (result.kind == "PriorityClass") {
            read_priority_class(cursor(object, result), result);
        } else if (result.kind == "PodDisruptionBudget") {
            read_disruption_budget(cursor(object, result), result);
        } else if (result.kind == "LimitRange") {
            read_limit_range(cursor(object, result), result);
        } else if (group_of(result.api_version).starts_with("batch.volcano")) {
            const bool is_cron_job = result.kind == "CronJob";
            if (is_cron_job || result.kind == "Job") {
                read_tasks(is_cron_job ? spec.at("jobTemplate").at("spec") : spec, result);
                return;
            }
        } else if (has_roles(result)) {
            read_maker(cursor(object, result), result);
            name_suspension(spec, result);
            read_roles(roles_of(result, spec), result);
            return;
        } else if (const pod_maker* const maker = maker_of(result)) {
            read_workload(spec, *maker, result);
            read_maker(cursor(object, result), result);
            name_suspension(spec, result);
        }
        manifests_.push_back(std::move(result));
    }

    static bool is_list(const document& object) {
        const auto* kind = object.find("kind");
        const auto* items = object.find("items");
        return kind != nullptr && kind->text.ends_with("List") && items != nullptr &&
               (items->is_list() || items->is_null());
    }

    object_cursor cursor(const document& object, manifest& target) const {
        return {&object, target.place, target.problems};
    }

    /// Kind, names and place.
    manifest headed(const document& object, const std::string& kind_in_list) {
        manifest result;
        const bool own_line = std::exchange(line_, object.place.line) != object.place.line;
        result.place = *name_ + (own_line ? ":" + std::to_string(object.place.line)
                                          : std::string{numbered} + std::to_string(objects_));
        const auto at = cursor(object, result);
        result.api_version = at.at("apiVersion").text();
        result.kind = at.at("kind").text();
        if (result.kind.empty()) result.kind = kind_in_list;
        if (result.kind.empty()) at.at("kind").fail(error_code::missing, "", "the object's kind");
        const auto metadata = at.at("metadata");
        result.name = metadata.at("name").text();
        const bool is_named = !result.name.empty();
        if (!is_named) result.name = metadata.at("generateName").text();
        if (result.name.empty()) {
            metadata.at("name").fail(error_code::missing, "", "a name");
        } else if (result.kind == "Pod" || result.kind == "Node" || maker_of(result) != nullptr) {
            // What the API server adds to a generated name begins with a letter or digit.
            check_subdomain(metadata.at(is_named ? "name" : "generateName"), result.name + (is_named ? "" : "0"));
        }
        result.ns = metadata.at("namespace").text();
        result.terminating = metadata.at("deletionTimestamp").present();
        return result;
    }

    void read_pod(const document& object, manifest& target) const {
        target.pod.emplace();
        target.pod->name = target.name;
        target.pod->ns = target.ns;
        const auto metadata = cursor(object, target).at("metadata");
        target.pod->uid = metadata.at("uid").text();
        target.pod->labels = metadata.at("labels").texts();
        target.pod->annotations = metadata.at("annotations").texts();
        target.created = metadata.at("creationTimestamp").text();
        read_controller(metadata, target);
        target.phase = cursor(object, target).at("status").at("phase").text();
        target.started = cursor(object, target).at("status").at("startTime").text();
        target.pod->initialized = target.phase == "Running";
        read_readiness(cursor(object, target).at("status"), target);
        read_pod_spec(cursor(object, target).at("spec"), target);
    }

    static void read_workload(object_cursor holder, const pod_maker& maker, manifest& target) {
        for (const std::string_view step : maker.path) {
            if (!step.empty()) holder = holder.at(step);
        }
        if (!maker.replicas.empty()) target.replicas = holder.at(maker.replicas).integer(0, replicas_max, 1);
        if (maker.replicas == "parallelism" && holder.at("completions").present()) {
            target.replicas = std::min(target.replicas, holder.at("completions").integer(0, replicas_max, 1));
        }
        read_template(holder.at("template"), target);
        if (target.kind != "DaemonSet") return;
        target.one_per_node = true;
        tolerate_as_daemons_do(holder.at("template").at("spec"), target);
    }

    /// A Volcano Job, or the jobs of a CronJob: a manifest for each of its tasks, whose pods have the job's scheduler
    /// unless they name one. `spec` puts its problems into those of `job`.
    void read_tasks(const object_cursor& spec, manifest& job) {
        const auto tasks = spec.at("tasks");
        if (tasks.items().empty()) tasks.fail(error_code::missing, "", "a list of at least one task");
        const std::string scheduler = spec.at("schedulerName").text();
        job.min_available = spec.at("minAvailable").integer(0, replicas_max, 0);
        job.queue = spec.at("queue").text();
        std::vector<manifest> tasks_read;
        auto own_problems = std::exchange(job.problems, {});
        for (const object_cursor& at : tasks.items()) {
            manifest task = job;
            const std::string name = at.at("name").text();
            task.name += "/" + (name.empty() ? std::to_string(tasks_read.size()) : name);
            task.replicas = at.at("replicas").integer(0, replicas_max, 1);
            read_template(at.at("template"), task);
            if (task.scheduler_name.empty()) task.scheduler_name = scheduler;
            task.problems = std::exchange(job.problems, {}); // where the cursor puts them
            tasks_read.push_back(std::move(task));
        }
        job.problems = std::move(own_problems);
        if (tasks_read.empty() || !job.problems.empty()) manifests_.push_back(std::move(job));
        std::ranges::move(tasks_read, std::back_inserter(manifests_));
    }

    /// Whoever asks about a suspended workload wants to know what becomes of it once it is resumed. Those of Kueue's
    /// queues are made suspended, and their queues are asked.
    static void name_suspension(const object_cursor& spec, manifest& workload) {
        if (!workload.queue.empty()) return;
        if (!spec.at("suspend").truth(false) && !spec.at("runPolicy").at("suspend").truth(false)) return;
        workload.rules_ignored.emplace_back("that the workload is suspended (spec.suspend)");
    }

    /// A manifest for each role of a workload, into whose problems cursors put theirs.
    void read_roles(const workload_roles& of, manifest& workload) {
        workload.min_available = of.min_available;
        auto own_problems = std::exchange(workload.problems, {});
        for (const pod_role& role : of.roles) {
            manifest task = workload;
            task.name += "/" + role.name;
            task.replicas = role.replicas;
            read_template(role.from, task);
            task.problems = std::exchange(workload.problems, {});
            manifests_.push_back(std::move(task));
        }
        workload.problems = std::move(own_problems);
        if (of.roles.empty() || !workload.problems.empty()) manifests_.push_back(std::move(workload));
    }

    const std::string* name_;
    stop_signal stop_;
    std::size_t objects_ = 0;
    std::size_t items_read_ = 0; ///< by read_item(), of the list that is being parsed
    std::int32_t line_ = 0;      ///< of the object before
    std::vector<manifest> manifests_;
};

} // namespace

std::string place_of(const manifest& object, const error& problem) {
    constexpr std::string_view word = "container ";
    const auto at = problem.where.rfind(word);
    if (!object.pod || at == std::string::npos) return object.place;
    const std::string_view name = std::string_view{problem.where}.substr(at + word.size());
    for (const auto* const list : {&object.pod->containers, &object.pod->init_containers}) {
        for (const kubernetes::container& container : *list) {
            if (container.name != name) continue;
            // A resource that is mistaken is the value of the error.
            auto amount = container.written.find(problem.field);
            if (amount == container.written.end()) amount = container.written.find(problem.value);
            if (amount != container.written.end()) return place_at(object.place, amount->second.line);
        }
    }
    return object.place;
}

bool manifest::says_the_same_as(const manifest& other) const {
    const auto facts = [](const manifest& object) {
        return std::tie(object.api_version, object.kind, object.name, object.ns, object.replicas, object.one_per_node,
                        object.min_available, object.pod, object.node, object.data, object.cpu, object.memory,
                        object.host, object.rules, object.rules_ignored, object.gates, object.scheduler_name,
                        object.node_name, object.priority, object.priority_class, object.created, object.controller,
                        object.controller_name, object.terminating, object.phase, object.extended_resource,
                        object.quota_hard, object.quota_used, object.has_deadline, object.is_unready, object.started,
                        object.queue, object.completions, object.succeeded, object.never_preempts);
    };
    const auto same_problem = [](const error& one, const error& another) {
        return std::tie(one.code, one.field, one.value) == std::tie(another.code, another.field, another.value);
    };
    const bool same_policy = policy == other.policy || (policy && other.policy && *policy == *other.policy);
    const bool same_level =
        pod_level == other.pod_level || (pod_level && other.pod_level && *pod_level == *other.pod_level);
    const bool same_peers = peers == other.peers || (peers && other.peers && *peers == *other.peers);
    return same_policy && same_level && same_peers && same_queue_facts(*this, other) && facts(*this) == facts(other) &&
           std::ranges::equal(problems, other.problems, same_problem);
}

namespace {

/// The documents of a text. One that cannot be parsed and has {{ … }} in a line is the template of one.
expected<std::vector<document>> documents_of(std::string_view text, const std::string& name,
                                             const vgpuformats::unread_members& unread = {}, stop_signal stop = {}) {
    auto documents = vgpuformats::parse_documents(text, name, unread, stop);
    if (documents || documents.error().code != error_code::malformed) return documents;
    if (!is_helm_template(text)) return documents;
    return unexpected(bad_input(error_code::unsupported, "", template_expected).at(documents.error().where));
}

} // namespace

// Whoever reads more of an object than this file does, keeps it here. Messages are read of Kueue's objects; conditions
// of pods and nodes seldom have one.
bool is_unread_member(std::span<const std::string> path, std::string_view key) {
    const auto one_of = [](std::string_view word, std::initializer_list<std::string_view> words) {
        return std::ranges::find(words, word) != words.end();
    };
    while (!path.empty() && path.front() == "items") path = path.subspan(1); // of a list
    if (path.size() == 1 && path[0] == "metadata") return key == "managedFields";
    if (path.empty() || path[0] != "status") return false;
    if (path.size() == 1) {
        return !one_of(key, {"admissionChecks", "allocatable", "allocated", "capacity", "conditions", "currentHealthy",
                             "desiredHealthy", "disruptionsAllowed", "flavorsReservation", "flavorsUsage", "hard",
                             "phase", "startTime", "state", "succeeded", "used"});
    }
    return path.size() == 2 && path[1] == "conditions" && !one_of(key, {"message", "status", "type"});
}

error with_export_advice(error failure) {
    if (failure.code == error_code::out_of_range) failure.add(large_export_advice);
    return failure;
}

bool makes_pods(const manifest& object) { return has_roles(object) || maker_of(object) != nullptr; }

bool is_rule_kind(std::string_view kind) {
    constexpr std::array<std::string_view, 10> kinds{
        "ClusterQueue", "Cohort",        "DeviceClass", "LimitRange",    "PodDisruptionBudget",
        "PodGroup",     "PriorityClass", "Queue",       "ResourceQuota", "ResourceSlice"};
    return std::ranges::find(kinds, kind) != kinds.end();
}

bool is_of_the_cluster(std::string_view rule_kind) {
    constexpr std::array<std::string_view, 6> kinds{"ClusterQueue",  "Cohort", "DeviceClass",
                                                    "PriorityClass", "Queue",  "ResourceSlice"};
    return std::ranges::find(kinds, rule_kind) != kinds.end();
}

namespace {

/// The objects of a text. With `one_by_one` the items of its one list are read while the text is parsed; none if it
/// turned out to be no such text.
expected<std::optional<std::vector<manifest>>> objects_of(std::string_view text, const std::string& name,
                                                          bool one_by_one, const stop_signal& stop) {
    manifest_reader reader{name, stop};
    vgpuformats::unread_members unread{.is_unread = is_unread_member, .advice = large_export_advice};
    if (one_by_one) {
        unread.take_item = [&reader](document& item, vgpuformats::text_place list) {
            return reader.read_item(item, list);
        };
    }
    auto documents = documents_of(text, name, unread, stop);
    if (!documents) return unexpected(documents.error());
    if (reader.has_misread(*documents)) return std::optional<std::vector<manifest>>{};
    for (document& object : *documents) {
        if (object.kind != value_kind::map) {
            return unexpected(bad_value(error_code::malformed, "", shown(object), "a Kubernetes object")
                                  .at(name + ":" + std::to_string(object.place.line)));
        }
        reader.read(object, {});
        object = {};
    }
    if (stop.raised()) return unexpected(stop_signal::stopped());
    return reader.take();
}

} // namespace

expected<std::vector<manifest>> read_manifests(std::string_view text, const std::string& name,
                                               const stop_signal& stop) {
    auto objects = objects_of(text, name, true, stop);
    if (objects && !*objects) objects = objects_of(text, name, false, stop);
    if (!objects) return unexpected(std::move(objects).error());
    return **std::move(objects);
}

expected<std::vector<manifest>> read_told_objects(std::string_view text, const std::string& name) {
    auto objects = read_manifests(text, name);
    if (!objects) return objects;
    for (manifest& object : *objects) {
        if (object.kind.empty()) return unexpected(object.problems.front());
        if (object.name.empty()) continue; // its place in the text is all that can be said
        const std::string kind = object.node ? "node" : object.kind == "Pod" ? "pod" : object.kind;
        const std::string ns = object.ns.empty() ? "default" : object.ns;
        object.place = kind + " " + (object.node ? "" : ns + "/") + object.name;
        for (error& problem : object.problems) problem.where = object.place;
    }
    return objects;
}

expected<document> one_document(std::string_view text, const std::string& name) {
    auto documents = documents_of(text, name);
    if (!documents) return unexpected(std::move(documents).error());
    if (documents->size() == 1) return std::move(documents->front());
    return unexpected(
        bad_value(error_code::malformed, "", std::to_string(documents->size()) + " documents", "one").at(name));
}

expected<std::string> yaml_to_json_text(std::string_view text, const std::string& name) {
    return one_document(text, name).map([](const document& root) { return vgpuformats::print_json(root); });
}

} // namespace vgpualloc::kube
