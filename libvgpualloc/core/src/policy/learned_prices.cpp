// What was learned, in words.
#include "vgpualloc/policy/learned_prices.hpp"

#include <string>

namespace vgpualloc {

namespace {

/// 460 as "0.46".
std::string decimal_of(std::int64_t milli) {
    std::string digits = std::to_string(milli % 1000);
    digits.insert(0, 3 - digits.size(), '0');
    digits.erase(digits.find_last_not_of('0') + 1);
    return std::to_string(milli / 1000) + (digits.empty() ? "" : "." + digits);
}

} // namespace

std::string words_of(const bid_class& of) {
    constexpr std::int64_t whole = 1000;
    const std::string times = of.devices == 1 ? "" : std::to_string(of.devices) + " x ";
    const device_request& wanted = of.request;
    const std::string models =
        wanted.models.empty() ? "" : " of " + wanted.models.front() + (wanted.models.size() > 1 ? " and others" : "");
    if (!wanted.profile.empty()) return times + wanted.profile + models;
    const std::string device = wanted.family.empty() || wanted.family == "NVIDIA" ? "GPU" : wanted.family;
    const std::int64_t milli = of.milli / of.devices;
    if (milli < whole) return times + decimal_of(milli) + " of a " + device + models;
    return of.devices == 1 ? "a whole " + device + models
                           : std::to_string(of.devices) + " whole " + device + "s" + models;
}

} // namespace vgpualloc
