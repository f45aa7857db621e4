// Manifests checked against every dialect.
#include "vgpualloc/explain/validate.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "idle_devices.hpp"
#include "unread.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/device_config.hpp"
#include "vgpualloc/mode/factory.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::explaining {

namespace {

using kube::cluster_objects;
using kube::manifest;

/// What the objects are checked with.
/// What nodes register in each dialect, read once for all pods that run there.
using registered_devices =
    std::map<std::pair<const dialect*, const kubernetes::node*>, std::vector<device_registration>>;

struct checks {
    const dialect_set* dialects;
    const cluster_objects* objects;
    registered_devices* registered;
    idle_answer ask;
};

/// The container that a dialect's error is of, with whose name its place ends; empty: it is the pod's.
std::string container_of(const error& problem) {
    constexpr std::string_view word = "container ";
    const auto at = problem.where.rfind(word);
    return at == std::string::npos ? std::string{} : problem.where.substr(at + word.size());
}

/// Names of containers that an error is of, so that they are not told as requests too.
class faulty_containers {
public:
    explicit faulty_containers(const manifest& object) {
        for (const error& problem : object.problems) add_path(problem.field, *object.pod);
    }
    void add(const error& problem) {
        if (std::string name = container_of(problem); !name.empty()) names_.insert(std::move(name));
    }
    void add_name(const std::string& name) { names_.insert(name); }
    [[nodiscard]] bool contains(const std::string& name) const { return names_.contains(name); }

private:
    /// Of a reader, which names the path: spec.template.spec.initContainers[0].resources.limits.
    void add_path(std::string_view path, const kubernetes::pod& pod) {
        const auto bracket = path.find("ontainers[");
        const auto resources = path.find("].resources");
        if (bracket == std::string_view::npos || resources == std::string_view::npos || resources < bracket) return;
        constexpr std::size_t word_size = 10;
        const auto position = path.substr(bracket + word_size, resources - bracket - word_size);
        const auto& list = path.substr(0, bracket).ends_with("initC") ? pod.init_containers : pod.containers;
        std::size_t index = 0;
        std::from_chars(position.data(), position.data() + position.size(), index);
        if (index < list.size()) names_.insert(list[index].name);
    }

    std::set<std::string> names_;
};

std::string role_of(const kubernetes::container& container, bool at_init) {
    if (container.stays) return "sidecar";
    return at_init ? "init_container" : "container";
}

/// Calls `visit` with every container and its role, in the order in which they start.
template <class Visit>
void visit_containers(const kubernetes::pod& pod, const Visit& visit) {
    for (const auto* const list : {&pod.init_containers, &pod.containers}) {
        const bool at_init = list == &pod.init_containers;
        for (const kubernetes::container& container : *list) visit(container, role_of(container, at_init), at_init);
    }
}

void list_resources(const kubernetes::pod& pod, object_report& report) {
    visit_containers(pod, [&](const kubernetes::container& container, std::string role, bool) {
        named_resources named{{.container = container.name, .role = std::move(role)}, {}, container.claims};
        for (const auto& [resource, amount] : container.requests) {
            named.amounts.emplace_back(resource, kubernetes::written_of(container, resource, amount));
        }
        if (!named.amounts.empty() || !named.claims.empty()) report.asks.push_back(std::move(named));
    });
}

/// Reads the requests of one pod in one dialect, container by container, so that each has its own name and all errors
/// are told and not the first alone.
class request_reader {
public:
    request_reader(const dialect& spoken, const manifest& object, const checks& with_checks, object_report& report)
        : spoken_{&spoken}, object_{&object}, checks_{&with_checks}, report_{&report}, faulty_{object} {}

    void read() {
        const kubernetes::pod& pod = *object_->pod;
        auto of_pod = spoken_->check_pod(pod);
        for (error& problem : of_pod.errors) {
            told_.emplace(container_of(problem), problem.field);
            add(std::move(problem));
        }
        for (std::string& note : of_pod.notes) report_->notes.push_back(std::move(note));
        if (spoken_->asks_as_one()) {
            read_part(pod, {});
        } else {
            kubernetes::pod part = pod;
            visit_containers(pod, [&](const kubernetes::container& container, std::string role, bool at_init) {
                if (at_init && !spoken_->reads_init_containers()) return;
                part.containers.clear();
                part.init_containers.clear();
                (at_init ? part.init_containers : part.containers).push_back(container);
                read_part(part, {.container = container.name, .role = std::move(role)});
            });
        }
        for (understood_request& entry : requests_) take(std::move(entry));
        report_->dialects.push_back(std::move(understood_));
    }

private:
    void add(error problem) {
        faulty_.add(problem);
        add_error(*report_, std::move(problem), object_);
    }

    /// Of one container, unless check_pod() has told as much of its resource.
    void add(error problem, const container_role& role) {
        if (!role.container.empty()) faulty_.add_name(role.container);
        if (!told_.contains({role.container, problem.field})) add_error(*report_, std::move(problem), object_);
    }

    void read_part(const kubernetes::pod& part, const container_role& role) {
        const auto request = spoken_->read_pod(part);
        if (!request) {
            add(request.error(), role);
            if (!role.container.empty()) requests_.push_back({role, {}});
            return;
        }
        if (auto checked = check_request(*request); !checked && !faulty_.contains(role.container)) {
            error problem = std::move(checked).error();
            if (!role.container.empty()) problem.where = "container " + role.container;
            add(std::move(problem), role);
        }
        for (const auto& entry : request->containers) requests_.push_back({role, entry});
    }

    void take(understood_request entry) {
        if (!faulty_.contains(entry.container)) {
            auto findings = spoken_->check(entry.request, entry.container, checks_->ask);
            for (error& problem : findings.errors) add(std::move(problem));
            for (std::string& note : findings.notes) report_->notes.push_back(std::move(note));
        }
        if (faulty_.contains(entry.container))
            understood_.refused.push_back(std::move(entry));
        else
            understood_.requests.push_back(std::move(entry));
    }

    const dialect* spoken_;
    const manifest* object_;
    const checks* checks_;
    object_report* report_;
    faulty_containers faulty_;
    std::set<std::pair<std::string, std::string>> told_; ///< container, resource
    std::vector<understood_request> requests_;
    dialect_report understood_{.dialect = std::string{spoken_->name()}};
};

void check_assignment(const dialect& spoken, const manifest& object, const checks& with_checks, object_report& report) {
    const cluster_objects& objects = *with_checks.objects;
    const auto node = objects.nodes_by_name.find(object.node_name);
    if (node == objects.nodes_by_name.end()) return;
    const auto [known, is_new] = with_checks.registered->try_emplace({&spoken, node->second});
    if (is_new) known->second = spoken.read_node(objects.source_of(spoken, *node->second)).devices;
    for (const error& problem : spoken.read_assignment(*object.pod, known->second).problems) add_error(report, problem);
}

void validate_pod(const manifest& object, const checks& with_checks, object_report& report) {
    std::vector<std::string> spoken_names;
    for (const auto& spoken : *with_checks.dialects) {
        if (!spoken->requests(*object.pod)) continue;
        spoken_names.emplace_back(spoken->name());
        request_reader{*spoken, object, with_checks, report}.read();
        check_assignment(*spoken, object, with_checks, report);
        if (auto served = with_checks.dialects->check_scheduler(spoken->name(), object.scheduler_name); !served) {
            add_error(report, std::move(served).error());
        }
    }
    list_resources(*object.pod, report);
    auto mistaken = with_checks.dialects->mistaken_resources(*object.pod);
    const bool is_mistaken = !mistaken.empty();
    for (error& problem : mistaken) add_error(report, std::move(problem), &object);
    report.unread = with_checks.dialects->resources_not_read(*object.pod);
    auto unread = unread_words(report.unread, *object.pod);
    const bool asks_for_nothing = spoken_names.empty() && unread.empty() && !is_mistaken && object.problems.empty();
    std::ranges::move(unread, std::back_inserter(report.notes));
    if (asks_for_nothing) report.notes.emplace_back("asks for no device");
    if (spoken_names.size() < 2) return;
    std::ranges::sort(spoken_names);
    std::string names;
    for (const std::string& name : spoken_names) names += (names.empty() ? "" : ", ") + name;
    report.notes.push_back("several dialects in one pod: " + names + "; every one of them will want to serve it");
}

void validate_node(const manifest& object, const checks& with_checks, object_report& report) {
    for (const auto& spoken : *with_checks.dialects) {
        auto reading = spoken->read_node(with_checks.objects->source_of(*spoken, *object.node));
        for (error& problem : dialects::joined_by_device(std::move(reading.problems))) {
            add_error(report, std::move(problem));
        }
        for (const error& doubt : reading.warnings) report.notes.push_back(doubt.message());
        if (reading.devices.empty()) continue;
        report.dialects.push_back({.dialect = std::string{spoken->name()}, .devices = std::move(reading.devices)});
    }
    if (report.dialects.empty()) report.notes.emplace_back("registers no device");
}

void validate_config(const manifest& object, object_report& report) {
    const auto config = object.data.find(kube::device_config_key);
    if (config == object.data.end()) return;
    const auto read = kube::read_device_config(make_dialect_config(), config->second, object.place);
    if (!read) {
        report.errors.push_back(read.error());
        return;
    }
    report.notes.emplace_back("device configuration: give it as --config to use its names");
    for (const error& warning : read->devices.warnings) report.notes.push_back(warning.message());
    for (std::string& note : notes_of(*read)) report.notes.push_back(std::move(note));
}

/// Kinds that are known to make no pods. Of others nobody here can tell.
constexpr std::array<std::string_view, 49> kinds_without_pods{"APIService",
                                                              "CSIDriver",
                                                              "CSINode",
                                                              "CertificateSigningRequest",
                                                              "ClusterQueue",
                                                              "ClusterRole",
                                                              "ClusterRoleBinding",
                                                              "Cohort",
                                                              "ConfigMap",
                                                              "ControllerRevision",
                                                              "CustomResourceDefinition",
                                                              "DeviceClass",
                                                              "EndpointSlice",
                                                              "Endpoints",
                                                              "Event",
                                                              "FlowSchema",
                                                              "HorizontalPodAutoscaler",
                                                              "Ingress",
                                                              "IngressClass",
                                                              "Lease",
                                                              "LimitRange",
                                                              "LocalQueue",
                                                              "MutatingWebhookConfiguration",
                                                              "Namespace",
                                                              "NetworkPolicy",
                                                              "PersistentVolume",
                                                              "PersistentVolumeClaim",
                                                              "PodDisruptionBudget",
                                                              "PodGroup",
                                                              "PriorityClass",
                                                              "PriorityLevelConfiguration",
                                                              "Queue",
                                                              "ResourceClaim",
                                                              "ResourceClaimTemplate",
                                                              "ResourceFlavor",
                                                              "ResourceQuota",
                                                              "ResourceSlice",
                                                              "Role",
                                                              "RoleBinding",
                                                              "RuntimeClass",
                                                              "Secret",
                                                              "Service",
                                                              "ServiceAccount",
                                                              "ServiceMonitor",
                                                              "StorageClass",
                                                              "ValidatingAdmissionPolicy",
                                                              "ValidatingWebhookConfiguration",
                                                              "VolumeAttachment",
                                                              "Workload"};

/// The group of an apiVersion is the API's own, or of a component whose kinds are in the list.
bool is_known_group(const manifest& object) {
    const std::string_view group = std::string_view{object.api_version}.substr(0, object.api_version.find('/'));
    const bool is_core = group.find('.') == std::string_view::npos;
    return is_core || group.ends_with(".k8s.io") || group.ends_with(".x-k8s.io") || group.ends_with("volcano.sh") ||
           group.ends_with("coreos.com");
}

void note_kind(const manifest& object, object_report& report) {
    if (kube::has_roles(object)) return; // it is read; what is wrong with its tasks is an error
    const bool makes_none = std::ranges::find(kinds_without_pods, object.kind) != kinds_without_pods.end();
    if (makes_none && is_known_group(object)) {
        report.notes.emplace_back("makes no pods");
    } else if (!object.kind.empty()) {
        report.notes.push_back("kind " + object.kind +
                               (object.api_version.empty() ? "" : " (" + object.api_version + ")") +
                               " is not read here; pods that it makes are not looked at");
    }
}

object_report report_of(const manifest& object, const checks& with_checks) {
    object_report report{.place = object.place,
                         .kind = object.kind,
                         .ns = object.ns,
                         .name = object.name,
                         .replicas = object.replicas,
                         .one_per_node = object.one_per_node,
                         .cpu = object.cpu,
                         .memory = object.memory,
                         .is_pod = object.pod.has_value(),
                         .is_node = object.node.has_value(),
                         .asks = {},
                         .unread = {},
                         .dialects = {},
                         .notes = {},
                         .errors = object.problems};
    if (object.pod) validate_pod(object, with_checks, report);
    if (object.node) validate_node(object, with_checks, report);
    validate_config(object, report);
    if (!object.pod && !object.node && object.data.empty()) note_kind(object, report);
    return report;
}

} // namespace

idle_answer idle_devices(const mig_catalog& catalog) {
    return [&catalog](const device_registration& registered, const device_request& request) -> rejection_detail {
        cluster owner;
        node alone;
        if (!add_device(owner, alone, registered, catalog)) return {};
        const device_spec& spec = owner.kinds[alone.devices.front().kind];
        return spec.mode->why_not(spec, {}, request);
    };
}

void add_error(object_report& report, error problem, const manifest* object) {
    if (report.errors.size() >= errors_max) return;
    const std::string place = object == nullptr ? report.place : kube::place_of(*object, problem);
    problem.where = problem.where.empty() ? place : place + ": " + problem.where;
    const auto same = [&problem](const error& known) {
        return known.where == problem.where && known.field == problem.field && known.value == problem.value &&
               known.reason() == problem.reason();
    };
    if (std::ranges::none_of(report.errors, same)) report.errors.push_back(std::move(problem));
    if (report.errors.size() == errors_max) report.notes.emplace_back("has more errors than are listed");
}

std::vector<std::string> not_considered(std::span<const manifest> manifests) {
    std::vector<std::pair<std::string, std::size_t>> counts; // in the order found; there are few
    const auto count = [&counts](const std::string& what) {
        const auto known = std::ranges::find(counts, what, &std::pair<std::string, std::size_t>::first);
        if (known == counts.end())
            counts.emplace_back(what, 1);
        else
            ++known->second;
    };
    for (const manifest& object : manifests) {
        for (const std::string& rule : object.rules_ignored) count(rule);
        if (!object.gates.empty()) count("scheduling gates (spec.schedulingGates)");
        if (kube::is_rule_kind(object.kind)) count("kind " + object.kind);
        if (object.min_available > 0) count("how many pods of a job have to start together (minAvailable)");
    }
    std::vector<std::string> words;
    for (const auto& [what, times] : counts) {
        words.push_back(what + ": " + std::to_string(times) + (times == 1 ? " object" : " objects"));
    }
    return words;
}

std::vector<object_report> validate(std::span<const manifest> manifests, const dialect_set& dialects,
                                    stop_signal stop) {
    std::vector<error> warnings; // of objects that are there twice: each has a report of its own
    const cluster_objects objects = kube::sort_out(manifests, dialects, warnings);
    const dialect_set adapted = dialects.for_nodes(objects.node_objects());
    registered_devices registered;
    const checks with_checks{.dialects = &adapted,
                             .objects = &objects,
                             .registered = &registered,
                             .ask = idle_devices(*adapted.config().mig)};
    std::vector<object_report> reports;
    const std::vector<error>& doubts = adapted.config().devices.warnings;
    std::vector<std::string> notes = notes_of(adapted.config());
    if (!doubts.empty() || !notes.empty()) {
        object_report& of_config = reports.emplace_back();
        of_config.place = doubts.empty() ? adapted.config().off.front().by : doubts.front().where;
        of_config.kind = "device configuration";
        for (const error& doubt : doubts) of_config.notes.push_back(doubt.message());
        for (std::string& note : notes) of_config.notes.push_back(std::move(note));
    }
    for (const manifest& object : manifests) {
        if (object.node ? stop.raised() : stop.poll()) break; // a node has many devices
        reports.push_back(report_of(object, with_checks));
    }
    return reports;
}

} // namespace vgpualloc::explaining
