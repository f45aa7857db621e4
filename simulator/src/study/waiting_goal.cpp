#include "vgpusim/study/waiting_goal.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace vgpusim {

namespace {

struct time_unit {
    char letter;
    std::int64_t seconds;
};
constexpr std::array time_units{time_unit{'s', 1}, time_unit{'m', 60}, time_unit{'h', 3600}, time_unit{'d', 86'400}};
constexpr std::int64_t limit_s_max = 1'000'000'000;

/// The next word of a text, which loses it.
std::string_view take_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    return word;
}

std::optional<int> percent_of(std::string_view measure) {
    if (measure == "mean") return 0;
    if (measure == "max") return 100;
    if (measure.empty() || measure.front() != 'p') return std::nullopt;
    int percent = 0;
    const auto parsed = std::from_chars(measure.data() + 1, measure.data() + measure.size(), percent);
    if (measure.size() > 1 && measure[1] == '0') return std::nullopt;
    const bool is_whole = parsed.ec == std::errc{} && parsed.ptr == measure.data() + measure.size();
    return is_whole && percent >= 1 && percent <= 99 ? std::optional{percent} : std::nullopt;
}

std::optional<ticks> time_of(std::string_view text) {
    if (text.empty() || text.front() == '-') return std::nullopt;
    const auto unit = std::ranges::find(time_units, text.back(), &time_unit::letter);
    if (unit == time_units.end()) return std::nullopt;
    double amount = 0.0;
    const char* const end = text.data() + text.size() - 1;
    const auto parsed = std::from_chars(text.data(), end, amount, std::chars_format::fixed);
    const double seconds = amount * static_cast<double>(unit->seconds);
    if (parsed.ec != std::errc{} || parsed.ptr != end || !(seconds >= 0.0 && seconds <= limit_s_max)) {
        return std::nullopt;
    }
    return ticks{std::llround(seconds * static_cast<double>(ticks_per_second.count()))};
}

} // namespace

expected<waiting_goal> read_goal(std::string_view text) {
    const auto refuse = [&] {
        return unexpected(bad_value(error_code::malformed, "", std::string{text},
                                    "as 'p95 wait <= 30m': mean, p1 to p99 or max; a time in s, m, h or d")
                              .at("--goal"));
    };
    std::string_view rest = text;
    const std::string_view measure = take_word(rest);
    const std::string_view subject = take_word(rest);
    const std::string_view relation = take_word(rest);
    const std::string_view limit = take_word(rest);
    const auto percent = percent_of(measure);
    const auto time = time_of(limit);
    if (!percent || subject != "wait" || relation != "<=" || !time || !take_word(rest).empty()) return refuse();
    return waiting_goal{.text = fmt::format("{} wait <= {}", measure, limit),
                        .measure = std::string{measure},
                        .percent = *percent,
                        .limit = *time};
}

std::optional<ticks> measure_of(const waiting_goal& goal, std::vector<ticks> waits, std::size_t endless) {
    const std::size_t pods = waits.size() + endless;
    if (pods == 0) return ticks{};
    if (goal.percent == 0) {
        if (endless > 0) return std::nullopt;
        wide_integer sum = 0;
        for (const ticks wait : waits) sum += wait.count();
        return ticks{static_cast<std::int64_t>(sum / static_cast<std::int64_t>(pods))};
    }
    const std::size_t rank = std::max<std::size_t>((pods * static_cast<std::size_t>(goal.percent) + 99) / 100, 1);
    if (rank > waits.size()) return std::nullopt;
    const auto at = waits.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::ranges::nth_element(waits, at);
    return *at;
}

} // namespace vgpusim
