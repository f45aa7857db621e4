// What a container asks for, in words.
#include "request_words.hpp"

#include <vector>

#include <fmt/format.h>

namespace vgpualloc::explaining {

std::string request_words(const device_request& request) {
    const bool several = request.count != 1;
    const char* each_word = several ? " each" : "";
    const bool in_units = request.units > 1;
    std::string text = in_units ? fmt::format("{} units, of one device or several", request.units)
                                : fmt::format("{} {}", request.count, several ? "devices" : "device");
    if (request.memory_percent)
        text += fmt::format(", {} % of the memory{}", *request.memory_percent, several ? " of each" : "");
    else if (request.memory.count() > 0)
        text += fmt::format(", {} MiB{}", request.memory.count(), each_word);
    else if (request.profile.empty())
        text += in_units ? "" : ", all of the memory";
    if (request.cores.count() > 0 && !in_units) text += fmt::format(", cores {}", request.cores.count());
    const auto word = [&text](const char* name, const std::string& value) {
        if (!value.empty()) text += fmt::format(", {} {}", name, value);
    };
    const auto list = [&word](const char* name, const std::vector<std::string>& items) {
        std::string joined;
        for (const std::string& item : items) joined += (joined.empty() ? "" : "|") + item;
        word(name, joined);
    };
    if (request.mode.empty()) text += ", any mode";
    word("mode", request.mode);
    word("family", request.family);
    word("profile", request.profile);
    list("models", request.models);
    list("types", request.types_allowed);
    list("types not", request.types_denied);
    list("uuids", request.uuids_allowed);
    list("uuids not", request.uuids_denied);
    if (request.soft) text += ", limited in software";
    if (request.dvpp == dvpp_use::yes) text += ", dvpp yes";
    if (request.dvpp == dvpp_use::no) text += ", dvpp no";
    if (request.high_level) text += ", level high";
    return text;
}

} // namespace vgpualloc::explaining
