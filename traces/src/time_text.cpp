#include "time_text.hpp"

#include <chrono>

namespace vgputraces {

std::string padded(std::int64_t number, std::size_t digits) {
    std::string text = std::to_string(number);
    if (text.size() < digits) text.insert(0, digits - text.size(), '0');
    return text;
}

std::string iso_text(ticks time) {
    const std::chrono::sys_seconds second{std::chrono::seconds{time.count() / ticks_per_second.count()}};
    const std::chrono::sys_days day = std::chrono::floor<std::chrono::days>(second);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{second - day};
    return padded(static_cast<int>(date.year()), 4) + "-" + padded(static_cast<unsigned>(date.month()), 2) + "-" +
           padded(static_cast<unsigned>(date.day()), 2) + "T" + padded(clock.hours().count(), 2) + ":" +
           padded(clock.minutes().count(), 2) + ":" + padded(clock.seconds().count(), 2);
}

std::string seconds_text_of_ms(std::int64_t duration_ms) {
    constexpr std::int64_t ms_per_s = 1000;
    std::string text = std::to_string(duration_ms / ms_per_s);
    if (duration_ms % ms_per_s == 0) return text;
    text += "." + padded(duration_ms % ms_per_s, 3);
    while (text.ends_with('0')) text.pop_back();
    return text;
}

} // namespace vgputraces
