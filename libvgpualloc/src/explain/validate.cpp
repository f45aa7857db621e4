// Manifests checked against every dialect.
#include "vgpualloc/explain/validate.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "../kube/device_info.hpp"
#include "../kube/dialects.hpp"
#include "request_limits.hpp"

namespace vgpusim {

using vgpualloc::error;
using vgpualloc::error_code;
using vgputraces::manifest;
namespace kubernetes = vgpualloc::kubernetes;

namespace {

using bound_pods = std::map<std::string, std::vector<const kubernetes::pod*>>; ///< by node

struct cluster_facts {
    bound_pods on_node;
    std::map<std::string, const kubernetes::node*> nodes;
    std::map<std::string, vgpualloc::dialect::mindcluster::device_info> device_infos; ///< by node
};

cluster_facts facts_of(const std::vector<manifest>& objects) {
    cluster_facts facts;
    for (const manifest& each : objects) {
        if (each.node) facts.nodes.emplace(each.name, &*each.node);
        if (each.pod && !each.node_name.empty()) facts.on_node[each.node_name].push_back(&*each.pod);
    }
    facts.device_infos = read_device_infos(objects);
    return facts;
}

const std::vector<const kubernetes::pod*>& pods_on(const cluster_facts& facts, const std::string& node) {
    static const std::vector<const kubernetes::pod*> none;
    const auto found = facts.on_node.find(node);
    return found == facts.on_node.end() ? none : found->second;
}

vgpualloc::dialect::node_reading read_node(const manifest_dialect& dialect, const kubernetes::node& of,
                                           const cluster_facts& facts) {
    const auto info = facts.device_infos.find(of.name);
    return dialect.read_node(of, info == facts.device_infos.end() ? manifest_dialect::device_info{} : info->second,
                             pods_on(facts, of.name));
}

/// Container by container, so that each has its own name and all errors are told and not the first alone.
void read_requests(const manifest_dialect& dialect, const kubernetes::pod& of, const validate_options& with,
                   object_report& to) {
    dialect_report report{.dialect = dialect.name, .requests = {}, .requests_unread = 0, .devices = {}};
    const auto read = [&](const kubernetes::pod& part, const std::string& container) {
        const auto request = dialect.read_pod(part);
        if (!request) {
            add_error(to, request.error());
            ++report.requests_unread;
            return;
        }
        for (const auto& each : request->containers) report.requests.push_back({container, each});
    };
    if (dialect.whole_pod) {
        read(of, {});
    } else {
        for (const kubernetes::container& in : of.containers) {
            kubernetes::pod part = of;
            part.containers = {in};
            read(part, in.name);
        }
    }
    for (const understood_request& each : report.requests) check_limits(dialect.name, each, with, to);
    to.dialects.push_back(std::move(report));
}

void check_assignment(const manifest_dialect& dialect, const manifest& from, const cluster_facts& facts,
                      object_report& to) {
    const auto node = facts.nodes.find(from.node_name);
    if (node == facts.nodes.end()) return;
    const auto devices = read_node(dialect, *node->second, facts).devices;
    for (const error& each : dialect.read_assignment(*from.pod, devices).problems) add_error(to, each);
}

void validate_pod(const manifest& from, const std::vector<manifest_dialect>& dialects, const cluster_facts& facts,
                  const validate_options& with, object_report& to) {
    std::set<std::string> speaking;
    for (const manifest_dialect& each : dialects) {
        if (!each.requests(*from.pod)) continue;
        speaking.insert(each.name);
        read_requests(each, *from.pod, with, to);
        check_assignment(each, from, facts, to);
        if (!each.scheduler.empty() && from.scheduler_name != each.scheduler) {
            add_error(to, {.code = error_code::mismatch,
                           .where = {},
                           .field = "spec.schedulerName",
                           .value = from.scheduler_name,
                           .expected = "'" + each.scheduler + "', which alone serves dialect " + each.name});
        }
    }
    for (error& each : resources_not_read(dialects, *from.pod)) add_error(to, std::move(each));
    if (speaking.empty()) to.notes.emplace_back("asks for no device");
    if (speaking.size() < 2) return;
    std::string names;
    for (const std::string& each : speaking) names += (names.empty() ? "" : ", ") + each;
    to.notes.push_back("several dialects in one pod: " + names + "; every one of them will want to serve it");
}

void validate_node(const manifest& from, const std::vector<manifest_dialect>& dialects, const cluster_facts& facts,
                   object_report& to) {
    for (const manifest_dialect& each : dialects) {
        auto reading = read_node(each, *from.node, facts);
        for (const error& problem : reading.problems) add_error(to, problem);
        if (reading.devices.empty()) continue;
        to.dialects.push_back(
            {.dialect = each.name, .requests = {}, .requests_unread = 0, .devices = std::move(reading.devices)});
    }
    if (to.dialects.empty()) to.notes.emplace_back("registers no device");
}

} // namespace

void add_error(object_report& to, error problem) {
    problem.where = problem.where.empty() ? to.place : to.place + ": " + problem.where;
    const auto same = [&problem](const error& each) { return each.message() == problem.message(); };
    if (std::ranges::none_of(to.errors, same)) to.errors.push_back(std::move(problem));
}

std::vector<object_report> validate(const std::vector<manifest>& objects, const validate_options& given) {
    validate_options with = given;
    with.mindcluster = options_for(given.mindcluster, objects);
    const auto dialects = manifest_dialects(with);
    const cluster_facts facts = facts_of(objects);
    std::vector<object_report> reports;
    if (!with.warnings.empty()) {
        object_report& told = reports.emplace_back();
        told.place = with.warnings.front().where;
        told.kind = "device configuration";
        for (const error& each : with.warnings) told.notes.push_back(each.message());
    }
    for (const manifest& each : objects) {
        object_report made{.place = each.place,
                           .kind = each.kind,
                           .ns = each.ns,
                           .name = each.name,
                           .replicas = each.replicas,
                           .cpu = each.cpu,
                           .memory = each.memory,
                           .is_pod = each.pod.has_value(),
                           .is_node = each.node.has_value(),
                           .dialects = {},
                           .notes = {},
                           .errors = each.problems};
        if (each.pod) validate_pod(each, dialects, facts, with, made);
        if (each.node) validate_node(each, dialects, facts, made);
        if (const auto config = each.data.find("device-config.yaml"); config != each.data.end()) {
            const auto read = configured(default_validate_options(), config->second, each.place);
            if (!read) {
                made.errors.push_back(read.error());
            } else {
                made.notes.emplace_back("device configuration: give it as --config to use its names");
                for (const error& warning : read->warnings) made.notes.push_back(warning.message());
            }
        }
        if (!each.pod && !each.node && each.data.empty()) made.notes.emplace_back("makes no pods");
        reports.push_back(std::move(made));
    }
    return reports;
}

} // namespace vgpusim
