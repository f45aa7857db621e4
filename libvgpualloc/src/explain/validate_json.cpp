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

document request_json(const understood_request& from) {
    document object;
    if (!from.container.empty()) object["container"] = from.container;
    add_request(from.request, object);
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
    if (from.is_pod) object["pods"] = from.replicas;
    if (from.is_pod || from.is_node) {
        object["cpu_milli"] = from.cpu.count();
        object["memory_mib"] = from.memory_mib();
    }
    object["dialects"] = document::list();
    for (const dialect_report& understood : from.dialects) {
        document dialect = document::map({{"dialect", understood.dialect}});
        for (const auto& request : understood.requests) dialect["requests"].push_back(request_json(request));
        for (const auto& device : understood.devices) dialect["devices"].push_back(device_json(device));
        object["dialects"].push_back(std::move(dialect));
    }
    object["notes"] = document::list_of(from.notes);
    object["errors"] = document::list();
    for (const auto& problem : from.errors) object["errors"].push_back(error_json(problem));
    return object;
}

} // namespace

std::string validate_json(const std::vector<object_report>& reports) {
    document list = document::list();
    std::size_t errors = 0;
    for (const object_report& report : reports) {
        list.push_back(object_json(report));
        errors += report.errors.size();
    }
    return vgpuformats::print_json(document::map({{"objects", std::move(list)}, {"errors", errors}}), 2) + "\n";
}

} // namespace vgpualloc::explaining
