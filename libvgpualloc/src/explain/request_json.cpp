// Requests and errors in JSON.
#include "request_json.hpp"

namespace vgpualloc::explaining {

void add_request(const device_request& asked, nlohmann::ordered_json& to) {
    to["count"] = asked.count;
    if (asked.memory_percent)
        to["memory_percent"] = *asked.memory_percent;
    else if (asked.memory.count() > 0)
        to["memory_mib"] = asked.memory.count();
    if (asked.cores.count() > 0) to["cores"] = asked.cores.count();
    const auto add = [&to](const char* name, const auto& value) {
        if (!value.empty()) to[name] = value;
    };
    add("family", asked.family);
    add("mode", asked.mode);
    add("profile", asked.profile);
    add("models", asked.models);
    add("types_allowed", asked.types_allowed);
    add("types_denied", asked.types_denied);
    add("uuids_allowed", asked.uuids_allowed);
    add("uuids_denied", asked.uuids_denied);
    if (asked.soft) to["soft"] = true;
    if (asked.dvpp != dvpp_use::unstated) {
        to["dvpp"] = asked.dvpp == dvpp_use::yes ? "yes" : "no";
    }
    if (asked.high_level) to["high_level"] = true;
}

nlohmann::ordered_json error_json(const error& from) {
    return {{"where", from.where},
            {"field", from.field},
            {"value", from.value},
            {"expected", from.expected},
            {"message", from.message()}};
}

} // namespace vgpualloc::explaining
