// The reports of `validate` as JSON.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "request_json.hpp"
#include "vgpualloc/explain/validate.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::explaining {

using vgpuformats::document;

namespace {

/// The role is left out where it is the usual one.
document role_json(const container_role& from) {
    document object = document::map();
    if (!from.container.empty()) object["container"] = from.container;
    if (!from.role.empty() && from.role != "container") object["role"] = from.role;
    return object;
}

document request_json(const understood_request& from) {
    document object = role_json(from);
    add_request(from.request, object);
    return object;
}

document resources_json(const named_resources& from) {
    document object = role_json(from);
    object["resources"] = document::map_of(from.amounts);
    if (!from.claims.empty()) object["claims"] = document::list_of(from.claims);
    return object;
}

document unread_json(const unread_resource& from) {
    document object =
        document::map({{"container", from.container}, {"resource", from.resource}, {"amount", from.amount}});
    if (!from.ignored.empty()) object["ignored_by"] = from.ignored;
    return object;
}

document device_json(const device_registration& from) {
    return document::map({{"uuid", from.uuid},
                          {"model", from.model},
                          {"mode", from.mode},
                          {"memory_mib", from.memory.count()},
                          {"slots", from.slots},
                          {"healthy", from.healthy}});
}

document object_json(const object_report& from) {
    document object =
        document::map({{"place", from.place}, {"kind", from.kind}, {"namespace", from.ns}, {"name", from.name}});
    if (from.is_pod && from.one_per_node) object["pods_per_node"] = 1;
    if (from.is_pod && !from.one_per_node) object["pods"] = from.replicas;
    if (from.is_pod || from.is_node) {
        object["cpu_milli"] = from.cpu.count();
        object["memory_mib"] = from.memory_mib();
    }
    for (const named_resources& named : from.asks) object["asks"].push_back(resources_json(named));
    for (const unread_resource& unread : from.unread) object["not_read"].push_back(unread_json(unread));
    object["dialects"] = document::list();
    for (const dialect_report& understood : from.dialects) {
        document dialect = document::map({{"dialect", understood.dialect}});
        for (const auto& request : understood.requests) dialect["requests"].push_back(request_json(request));
        for (const auto& refused : understood.refused) dialect["refused"].push_back(role_json(refused));
        for (const auto& device : understood.devices) dialect["devices"].push_back(device_json(device));
        object["dialects"].push_back(std::move(dialect));
    }
    object["notes"] = document::list_of(from.notes);
    object["errors"] = document::list();
    for (const auto& problem : from.errors) object["errors"].push_back(error_json(problem));
    return object;
}

} // namespace

std::string validate_json(const std::vector<object_report>& reports, const std::vector<std::string>& not_considered) {
    document list = document::list();
    std::size_t errors = 0;
    for (const object_report& report : reports) {
        list.push_back(object_json(report));
        errors += report.errors.size();
    }
    document out = document::map(
        {{"objects", std::move(list)}, {"not_considered", document::list_of(not_considered)}, {"errors", errors}});
    return vgpuformats::print_json(out, 2) + "\n";
}

} // namespace vgpualloc::explaining
