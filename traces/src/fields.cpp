#include "fields.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "vgpualloc/core/utf8.hpp"

namespace vgputraces {

namespace {

tl::unexpected<field_failure> failed(std::string_view text, error_code code, std::string expectation) {
    if (text.empty())
        return tl::make_unexpected(field_failure{error_code::missing, "missing; expected " + expectation});
    return tl::make_unexpected(field_failure{code, std::move(expectation)});
}

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

} // namespace

field_value<std::int64_t> parse_whole(std::string_view text, std::int64_t min, std::int64_t max) {
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = end == text.data() + text.size() && failure != std::errc::invalid_argument;
    if (is_number && failure == std::errc{} && value >= min && value <= max) return value;
    return failed(text, is_number ? error_code::out_of_range : error_code::malformed,
                  "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
}

field_value<std::int64_t> parse_decimal(std::string_view text, std::int64_t scale, std::int64_t max,
                                        std::string_view unit) {
    const std::string expectation = "a number of " + std::string{unit} + " from 0 to " + std::to_string(max);
    const bool is_negative = text.starts_with('-');
    const std::string_view amount = text.substr(is_negative ? 1 : 0);
    const std::size_t point = std::min(amount.find('.'), amount.size());
    const std::string_view whole_digits = amount.substr(0, point);
    const std::string_view fraction_digits = amount.substr(std::min(point + 1, amount.size()));
    const bool is_number = !whole_digits.empty() && !amount.ends_with('.') &&
                           std::ranges::all_of(whole_digits, is_digit) &&
                           std::ranges::all_of(fraction_digits, is_digit);
    if (!is_number) return failed(text, error_code::malformed, expectation);
    std::int64_t whole = 0;
    const auto [end, failure] = std::from_chars(whole_digits.data(), whole_digits.data() + whole_digits.size(), whole);
    if (is_negative || failure != std::errc{} || whole > max) {
        return failed(text, error_code::out_of_range, expectation);
    }
    std::int64_t fraction = 0;
    std::int64_t step = scale;
    std::size_t position = 0;
    for (; step > 1 && position < fraction_digits.size(); ++position) {
        step /= 10;
        fraction += step * (fraction_digits[position] - '0');
    }
    if (position < fraction_digits.size() && fraction_digits[position] >= '5') ++fraction;
    const std::int64_t result = whole * scale + fraction;
    if (result > max * scale) return failed(text, error_code::out_of_range, expectation);
    return result;
}

field_value<ticks> parse_seconds(std::string_view text) {
    const auto count = parse_decimal(text, ticks_per_second.count(), seconds_max, "seconds");
    if (!count) return tl::make_unexpected(count.error());
    return ticks{*count};
}

field_value<ticks> parse_local_time(std::string_view text) {
    constexpr std::string_view shape = "dddd-dd-dd dd:dd:dd";
    constexpr const char* expectation = "a date and time that exist, as 2017-10-09 07:01:55";
    const auto fits = [](char place, char c) { return place == 'd' ? is_digit(c) : place == c; };
    if (text.size() < shape.size() || !std::equal(shape.begin(), shape.end(), text.begin(), fits)) {
        return failed(text, error_code::malformed, expectation);
    }
    const auto part = [text](std::size_t first, std::size_t digits) {
        int value = 0;
        for (const char c : text.substr(first, digits)) value = value * 10 + (c - '0');
        return value;
    };
    std::int64_t fraction = 0;
    if (text.size() > shape.size()) {
        const auto parsed =
            parse_decimal("0" + std::string{text.substr(shape.size())}, ticks_per_second.count(), 1, "seconds");
        if (text[shape.size()] != '.' || !parsed) return failed(text, error_code::malformed, expectation);
        fraction = *parsed;
    }
    const std::chrono::year_month_day date{std::chrono::year{part(0, 4)},
                                           std::chrono::month{static_cast<unsigned>(part(5, 2))},
                                           std::chrono::day{static_cast<unsigned>(part(8, 2))}};
    const int hour = part(11, 2);
    const int minute = part(14, 2);
    const int second = part(17, 2);
    if (!date.ok() || hour > 23 || minute > 59 || second > 59) {
        return failed(text, error_code::out_of_range, expectation);
    }
    const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
    const std::int64_t seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    return ticks{seconds * ticks_per_second.count() + fraction};
}

namespace {

/// The offset of a zone as "+01:00".
std::optional<std::chrono::minutes> zone_offset(std::string_view zone) {
    constexpr std::string_view shape = "sdd:dd";
    const auto fits = [](char place, char c) {
        return place == 's' ? c == '+' || c == '-' : place == 'd' ? is_digit(c) : place == c;
    };
    if (zone.size() != shape.size() || !std::equal(shape.begin(), shape.end(), zone.begin(), fits)) return std::nullopt;
    const int hours = (zone[1] - '0') * 10 + (zone[2] - '0');
    const int minutes = (zone[4] - '0') * 10 + (zone[5] - '0');
    constexpr int hours_max = 23;
    constexpr int minutes_max = 59;
    if (hours > hours_max || minutes > minutes_max) return std::nullopt;
    return std::chrono::minutes{(zone[0] == '-' ? -1 : 1) * (hours * 60 + minutes)};
}

} // namespace

field_value<ticks> parse_iso_time(std::string_view text) {
    constexpr std::size_t date_size = std::string_view{"2026-11-25"}.size();
    constexpr std::size_t minute_size = std::string_view{"2026-11-25T13:00"}.size();
    constexpr std::size_t zone_size = std::string_view{"+01:00"}.size();
    const auto refuse = [&](error_code code) {
        return failed(text, code, "a date or time of ISO 8601 that exists, as 2026-11-25 or 2026-11-25T13:00:00Z");
    };
    std::string local{text};
    std::int64_t offset_minutes = 0;
    if (local.size() > date_size) {
        if (local[date_size] != 'T' && local[date_size] != ' ') return refuse(error_code::malformed);
        local[date_size] = ' ';
        if (local.ends_with('Z')) {
            local.pop_back();
        } else if (local.size() >= minute_size + zone_size) {
            if (const auto offset = zone_offset(std::string_view{local}.substr(local.size() - zone_size))) {
                offset_minutes = offset->count();
                local.resize(local.size() - zone_size);
            }
        }
    }
    if (local.size() == date_size) local += " 00:00";
    if (local.size() == minute_size) local += ":00";
    const auto time = parse_local_time(local);
    if (!time) return refuse(text.empty() ? error_code::missing : time.error().code);
    return *time - ticks{offset_minutes * 60 * ticks_per_second.count()};
}

bool is_printable_text(std::string_view text) noexcept {
    bool is_ascii = true;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) return false;
        is_ascii = is_ascii && byte < 0x80;
    }
    return is_ascii || vgpualloc::first_not_utf8(text) == std::string_view::npos;
}

bool is_table_text(std::string_view text) noexcept {
    return is_printable_text(text) && text.find_first_of(",\"") == std::string_view::npos;
}

} // namespace vgputraces
