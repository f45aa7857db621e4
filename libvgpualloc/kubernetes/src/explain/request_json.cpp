// Requests and errors in JSON.
#include "request_json.hpp"

namespace vgpualloc::explaining {

using vgpuformats::document;

void add_request(const device_request& request, document& to) {
    to["count"] = request.count;
    if (request.units > 1) to["units"] = request.units;
    if (request.memory_percent)
        to["memory_percent"] = *request.memory_percent;
    else if (request.memory.count() > 0)
        to["memory_mib"] = request.memory.count();
    if (request.cores.count() > 0) to["cores"] = request.cores.count();
    const auto add = [&to](const char* name, const std::string& text) {
        if (!text.empty()) to[name] = text;
    };
    const auto add_list = [&to](const char* name, const std::vector<std::string>& texts) {
        if (!texts.empty()) to[name] = document::list_of(texts);
    };
    add("family", request.family);
    add("mode", request.mode);
    add("profile", request.profile);
    add_list("models", request.models);
    add_list("types_allowed", request.types_allowed);
    add_list("types_denied", request.types_denied);
    add_list("uuids_allowed", request.uuids_allowed);
    add_list("uuids_denied", request.uuids_denied);
    if (request.soft) to["soft"] = true;
    if (request.dvpp != dvpp_use::unstated) {
        to["dvpp"] = request.dvpp == dvpp_use::yes ? "yes" : "no";
    }
    if (request.high_level) to["high_level"] = true;
    if (request.pair) to["pair"] = true;
}

document error_json(const error& from) {
    return document::map({{"where", from.where},
                          {"field", from.field},
                          {"value", from.value},
                          {"expected", from.reason()},
                          {"message", from.message()}});
}

} // namespace vgpualloc::explaining
