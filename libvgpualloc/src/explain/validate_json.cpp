// The reports of `validate` as JSON.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "request_json.hpp"
#include "vgpualloc/explain/validate.hpp"

namespace vgpualloc::explaining {

namespace {

using json = nlohmann::ordered_json;

json request_json(const understood_request& from) {
    json made;
    if (!from.container.empty()) made["container"] = from.container;
    add_request(from.request, made);
    return made;
}

json device_json(const device_registration& from) {
    return {{"uuid", from.uuid},   {"model", from.model},    {"mode", from.mode}, {"memory_mib", from.memory.count()},
            {"slots", from.slots}, {"healthy", from.healthy}};
}

json object_json(const object_report& from) {
    json made{{"place", from.place}, {"kind", from.kind}, {"namespace", from.ns}, {"name", from.name}};
    if (from.is_pod) made["pods"] = from.replicas;
    if (from.is_pod || from.is_node) {
        made["cpu_milli"] = from.cpu.count();
        made["memory_mib"] = from.memory.count();
    }
    made["dialects"] = json::array();
    for (const dialect_report& each : from.dialects) {
        json dialect{{"dialect", each.dialect}};
        for (const auto& request : each.requests) dialect["requests"].push_back(request_json(request));
        for (const auto& device : each.devices) dialect["devices"].push_back(device_json(device));
        made["dialects"].push_back(std::move(dialect));
    }
    made["notes"] = from.notes;
    made["errors"] = json::array();
    for (const auto& each : from.errors) made["errors"].push_back(error_json(each));
    return made;
}

} // namespace

std::string validate_json(const std::vector<object_report>& reports) {
    json list = json::array();
    std::size_t errors = 0;
    for (const object_report& each : reports) {
        list.push_back(object_json(each));
        errors += each.errors.size();
    }
    const json out{{"objects", std::move(list)}, {"errors", errors}};
    return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace vgpualloc::explaining
