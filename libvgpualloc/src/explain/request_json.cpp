// Requests and errors in JSON.
#include "request_json.hpp"

namespace vgpualloc::explaining {

void add_request(const device_request& request, nlohmann::ordered_json& to) {
    to["count"] = request.count;
    if (request.memory_percent)
        to["memory_percent"] = *request.memory_percent;
    else if (request.memory.count() > 0)
        to["memory_mib"] = request.memory.count();
    if (request.cores.count() > 0) to["cores"] = request.cores.count();
    const auto add = [&to](const char* name, const auto& value) {
        if (!value.empty()) to[name] = value;
    };
    add("family", request.family);
    add("mode", request.mode);
    add("profile", request.profile);
    add("models", request.models);
    add("types_allowed", request.types_allowed);
    add("types_denied", request.types_denied);
    add("uuids_allowed", request.uuids_allowed);
    add("uuids_denied", request.uuids_denied);
    if (request.soft) to["soft"] = true;
    if (request.dvpp != dvpp_use::unstated) {
        to["dvpp"] = request.dvpp == dvpp_use::yes ? "yes" : "no";
    }
    if (request.high_level) to["high_level"] = true;
}

nlohmann::ordered_json error_json(const error& from) {
    return {{"where", from.where},
            {"field", from.field},
            {"value", from.value},
            {"expected", from.expected},
            {"message", from.message()}};
}

} // namespace vgpualloc::explaining
