// What a container asks for, in words.
#include "request_words.hpp"

#include <vector>

#include <fmt/format.h>

namespace vgpualloc::explaining {

std::string request_words(const device_request& asked) {
    const bool several = asked.count != 1;
    const char* each = several ? " each" : "";
    std::string text = fmt::format("{} {}", asked.count, several ? "devices" : "device");
    if (asked.memory_percent)
        text += fmt::format(", {} % of the memory{}", *asked.memory_percent, several ? " of each" : "");
    else if (asked.memory.count() > 0)
        text += fmt::format(", {} MiB{}", asked.memory.count(), each);
    else
        text += ", all of the memory";
    if (asked.cores.count() > 0) text += fmt::format(", cores {}", asked.cores.count());
    const auto word = [&text](const char* name, const std::string& value) {
        if (!value.empty()) text += fmt::format(", {} {}", name, value);
    };
    const auto list = [&word](const char* name, const std::vector<std::string>& of) {
        std::string joined;
        for (const std::string& item : of) joined += (joined.empty() ? "" : "|") + item;
        word(name, joined);
    };
    if (asked.mode.empty()) text += ", any mode";
    word("mode", asked.mode);
    word("family", asked.family);
    word("profile", asked.profile);
    list("models", asked.models);
    list("types", asked.types_allowed);
    list("types not", asked.types_denied);
    list("uuids", asked.uuids_allowed);
    list("uuids not", asked.uuids_denied);
    if (asked.soft) text += ", limited in software";
    if (asked.dvpp == dvpp_use::yes) text += ", dvpp yes";
    if (asked.dvpp == dvpp_use::no) text += ", dvpp no";
    if (asked.high_level) text += ", level high";
    return text;
}

} // namespace vgpualloc::explaining
