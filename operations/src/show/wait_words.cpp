#include "vgpuops/show/wait_words.hpp"

#include <array>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace vgpuops::show {

namespace {

struct named_unit {
    std::string_view name;
    std::int64_t seconds;
};
constexpr std::array named_units{named_unit{"s", 1}, named_unit{"min", 60}, named_unit{"h", 3600},
                                 named_unit{"d", 86'400}};

} // namespace

std::string wait_words(vgpualloc::ticks wait) {
    const double seconds = static_cast<double>(wait.count()) / static_cast<double>(vgpualloc::ticks_per_second.count());
    const named_unit* unit = named_units.data();
    for (const named_unit& larger : named_units) {
        if (seconds >= 2.0 * static_cast<double>(larger.seconds)) unit = &larger;
    }
    std::string amount = fmt::format("{:.1f}", seconds / static_cast<double>(unit->seconds));
    if (amount.ends_with(".0")) amount.resize(amount.size() - 2);
    return fmt::format("{} {}", amount, unit->name);
}

} // namespace vgpuops::show
