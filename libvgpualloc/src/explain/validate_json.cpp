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
    json object;
    if (!from.container.empty()) object["container"] = from.container;
    add_request(from.request, object);
    return object;
}

json device_json(const device_registration& from) {
    return {{"uuid", from.uuid},   {"model", from.model},    {"mode", from.mode}, {"memory_mib", from.memory.count()},
            {"slots", from.slots}, {"healthy", from.healthy}};
}

json object_json(const object_report& from) {
    json object{{"place", from.place}, {"kind", from.kind}, {"namespace", from.ns}, {"name", from.name}};
    if (from.is_pod) object["pods"] = from.replicas;
    if (from.is_pod || from.is_node) {
        object["cpu_milli"] = from.cpu.count();
        object["memory_mib"] = from.memory.count();
    }
    object["dialects"] = json::array();
    for (const dialect_report& understood : from.dialects) {
        json dialect{{"dialect", understood.dialect}};
        for (const auto& request : understood.requests) dialect["requests"].push_back(request_json(request));
        for (const auto& device : understood.devices) dialect["devices"].push_back(device_json(device));
        object["dialects"].push_back(std::move(dialect));
    }
    object["notes"] = from.notes;
    object["errors"] = json::array();
    for (const auto& problem : from.errors) object["errors"].push_back(error_json(problem));
    return object;
}

} // namespace

std::string validate_json(const std::vector<object_report>& reports) {
    json list = json::array();
    std::size_t errors = 0;
    for (const object_report& report : reports) {
        list.push_back(object_json(report));
        errors += report.errors.size();
    }
    const json out{{"objects", std::move(list)}, {"errors", errors}};
    return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace vgpualloc::explaining
