// Manifests checked against every dialect.
#include "vgpualloc/explain/validate.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

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
struct checks {
    const dialect_set* dialects;
    const cluster_objects* objects;
    idle_answer ask;
};

/// Answers for devices that nothing runs on; a registration that makes no device refuses nothing.
idle_answer idle_devices(const mig_catalog& catalog) {
    return [&catalog](const device_registration& registered, const device_request& request) -> rejection_detail {
        cluster owner;
        node alone;
        if (!add_device(owner, alone, registered, catalog)) return {};
        const device_spec& spec = owner.kinds[alone.devices.front().kind];
        return spec.mode->why_not(spec, {}, request);
    };
}

/// Errors of a dialect name the object only: the place in the file comes before.
void add_error(object_report& report, error problem) {
    problem.where = problem.where.empty() ? report.place : report.place + ": " + problem.where;
    report.errors.push_back(std::move(problem));
}

/// Leaves every error once: what several dialects or containers say alike is one mistake.
void drop_repeated(std::vector<error>& errors) {
    std::unordered_set<std::string> messages; // only looked up, never walked
    std::erase_if(errors, [&messages](const error& problem) { return !messages.insert(problem.message()).second; });
}

void add_findings(request_findings findings, object_report& report) {
    for (error& problem : findings.errors) add_error(report, std::move(problem));
    for (std::string& note : findings.notes) report.notes.push_back(std::move(note));
}

/// Container by container, so that each has its own name and all errors are told and not the first alone.
void read_requests(const dialect& spoken, const kubernetes::pod& pod, const checks& with_checks,
                   object_report& report) {
    dialect_report understood{
        .dialect = std::string{spoken.name()}, .requests = {}, .requests_unread = 0, .devices = {}};
    const auto read = [&](const kubernetes::pod& part, const std::string& container) {
        const auto request = spoken.read_pod(part);
        if (!request) {
            add_error(report, request.error());
            ++understood.requests_unread;
            return;
        }
        if (auto checked = check_request(*request); !checked) {
            error problem = std::move(checked).error();
            if (!container.empty()) problem.field = "container " + container + ": " + problem.field;
            add_error(report, std::move(problem));
            ++understood.requests_unread;
            return;
        }
        for (const auto& entry : request->containers) understood.requests.push_back({container, entry});
    };
    if (spoken.asks_as_one()) {
        read(pod, {});
    } else {
        kubernetes::pod part = pod; // copied once: a copy for each container costs the square of their number
        for (const kubernetes::container& container : pod.containers) {
            part.containers.assign(1, container);
            read(part, container.name);
        }
    }
    for (const understood_request& entry : understood.requests) {
        add_findings(spoken.check(entry.request, entry.container, with_checks.ask), report);
    }
    report.dialects.push_back(std::move(understood));
}

void check_assignment(const dialect& spoken, const manifest& object, const cluster_objects& objects,
                      object_report& report) {
    const auto node = objects.nodes_by_name.find(object.node_name);
    if (node == objects.nodes_by_name.end()) return;
    const auto devices = spoken.read_node(objects.source_of(spoken, *node->second)).devices;
    for (const error& problem : spoken.read_assignment(*object.pod, devices).problems) add_error(report, problem);
}

void check_scheduler(const dialect& spoken, const manifest& object, object_report& report) {
    if (spoken.scheduler().empty() || object.scheduler_name == spoken.scheduler()) return;
    add_error(report, {.code = error_code::mismatch,
                       .where = {},
                       .field = "spec.schedulerName",
                       .value = object.scheduler_name,
                       .expected = "'" + std::string{spoken.scheduler()} + "', which alone serves dialect " +
                                   std::string{spoken.name()}});
}

void validate_pod(const manifest& object, const checks& with_checks, object_report& report) {
    std::vector<std::string> spoken_names;
    for (const auto& spoken : *with_checks.dialects) {
        if (!spoken->requests(*object.pod)) continue;
        spoken_names.emplace_back(spoken->name());
        read_requests(*spoken, *object.pod, with_checks, report);
        check_assignment(*spoken, object, *with_checks.objects, report);
        check_scheduler(*spoken, object, report);
    }
    for (error& problem : with_checks.dialects->resources_not_read(*object.pod)) add_error(report, std::move(problem));
    if (spoken_names.empty()) report.notes.emplace_back("asks for no device");
    if (spoken_names.size() < 2) return;
    std::ranges::sort(spoken_names);
    std::string names;
    for (const std::string& name : spoken_names) names += (names.empty() ? "" : ", ") + name;
    report.notes.push_back("several dialects in one pod: " + names + "; every one of them will want to serve it");
}

void validate_node(const manifest& object, const checks& with_checks, object_report& report) {
    for (const auto& spoken : *with_checks.dialects) {
        auto reading = spoken->read_node(with_checks.objects->source_of(*spoken, *object.node));
        for (const error& problem : reading.problems) add_error(report, problem);
        if (reading.devices.empty()) continue;
        report.dialects.push_back({.dialect = std::string{spoken->name()},
                                   .requests = {},
                                   .requests_unread = 0,
                                   .devices = std::move(reading.devices)});
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
}

object_report report_of(const manifest& object, const checks& with_checks) {
    object_report report{.place = object.place,
                         .kind = object.kind,
                         .ns = object.ns,
                         .name = object.name,
                         .replicas = object.replicas,
                         .cpu = object.cpu,
                         .memory = object.memory,
                         .is_pod = object.pod.has_value(),
                         .is_node = object.node.has_value(),
                         .dialects = {},
                         .notes = {},
                         .errors = object.problems};
    if (object.pod) validate_pod(object, with_checks, report);
    if (object.node) validate_node(object, with_checks, report);
    validate_config(object, report);
    if (!object.pod && !object.node && object.data.empty()) report.notes.emplace_back("makes no pods");
    drop_repeated(report.errors);
    return report;
}

} // namespace

std::vector<object_report> validate(std::span<const manifest> manifests, const dialect_set& dialects) {
    std::vector<error> warnings; // of objects that are there twice: each has a report of its own
    const cluster_objects objects = kube::sort_out(manifests, dialects, warnings);
    const dialect_set adapted = dialects.for_nodes(objects.node_objects());
    const checks with_checks{.dialects = &adapted, .objects = &objects, .ask = idle_devices(*adapted.config().mig)};
    std::vector<object_report> reports;
    const std::vector<error>& doubts = adapted.config().devices.warnings;
    if (!doubts.empty()) {
        object_report& of_config = reports.emplace_back();
        of_config.place = doubts.front().where;
        of_config.kind = "device configuration";
        for (const error& doubt : doubts) of_config.notes.push_back(doubt.message());
    }
    for (const manifest& object : manifests) reports.push_back(report_of(object, with_checks));
    return reports;
}

} // namespace vgpualloc::explaining
