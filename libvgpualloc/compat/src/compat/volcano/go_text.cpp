// Go's readers of numbers and lists.
#include "go_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <system_error>
#include <utility>

namespace vgpualloc::compat::volcano::go_text {

namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

struct read_integer {
    std::int64_t value = 0;
    bool is_number = false;
    bool fits = false;
};

read_integer read(std::string_view text) {
    // from_chars takes '-' but no '+'.
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
    read_integer result;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), result.value);
    result.is_number = failure != std::errc::invalid_argument && end == text.data() + text.size();
    result.fits = result.is_number && failure == std::errc{};
    if (result.is_number && !result.fits) {
        result.value = text.starts_with('-') ? std::numeric_limits<std::int64_t>::min() : largest;
    }
    return result;
}

/// The powers of ten and of two that a quantity's suffix stands for.
struct scale {
    std::int64_t tens = 0;
    std::int64_t twos = 0;
};

std::optional<scale> scale_of(std::string_view suffix) {
    static constexpr std::array<std::pair<std::string_view, scale>, 16> known{{
        {"", {0, 0}},
        {"n", {-9, 0}},
        {"u", {-6, 0}},
        {"m", {-3, 0}},
        {"k", {3, 0}},
        {"M", {6, 0}},
        {"G", {9, 0}},
        {"T", {12, 0}},
        {"P", {15, 0}},
        {"E", {18, 0}},
        {"Ki", {0, 10}},
        {"Mi", {0, 20}},
        {"Gi", {0, 30}},
        {"Ti", {0, 40}},
        {"Pi", {0, 50}},
        {"Ei", {0, 60}},
    }};
    const auto* const unit = std::ranges::find(known, suffix, &std::pair<std::string_view, scale>::first);
    if (unit != known.end()) return unit->second;
    if (!suffix.starts_with('e') && !suffix.starts_with('E')) return std::nullopt;
    const auto exponent = atoi(suffix.substr(1));
    if (!exponent || *exponent < -100 || *exponent > 100) return std::nullopt;
    return scale{.tens = *exponent, .twos = 0};
}

std::int64_t times(std::int64_t value, std::int64_t factor, std::int64_t repeat) {
    for (; repeat > 0 && value != 0; --repeat) {
        if (value > largest / factor) return largest;
        value *= factor;
    }
    return value;
}

} // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    while (true) {
        const std::size_t end = text.find(separator);
        pieces.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return pieces;
        text.remove_prefix(end + 1);
    }
}

std::optional<std::int64_t> atoi(std::string_view text) {
    const read_integer result = read(text);
    return result.fits ? std::optional{result.value} : std::nullopt;
}

std::int64_t parse_int32(std::string_view text) {
    const read_integer result = read(text);
    if (!result.is_number) return 0;
    return std::clamp<std::int64_t>(result.value, std::numeric_limits<std::int32_t>::min(),
                                    std::numeric_limits<std::int32_t>::max());
}

std::optional<std::int64_t> quantity_value(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    std::int64_t digits = 0;
    std::int64_t fraction = 0;
    bool any = false;
    bool point = false;
    std::size_t at = 0;
    for (; at < text.size(); ++at) {
        const char letter = text[at];
        if (letter == '.' && !point) {
            point = true;
        } else if (letter >= '0' && letter <= '9') {
            any = true;
            if (digits > (largest - 9) / 10) { // more digits than fit: those of a fraction cannot count any more
                if (point) continue;
                return negative ? -largest : largest;
            }
            digits = digits * 10 + (letter - '0');
            if (point) ++fraction;
        } else {
            break;
        }
    }
    const auto suffix = scale_of(text.substr(at));
    if (!any || !suffix) return std::nullopt;
    const std::int64_t tens = suffix->tens - fraction;
    std::int64_t value = times(digits, 2, suffix->twos);
    if (tens >= 0) {
        value = times(value, 10, tens);
    } else {
        bool rest = false;
        for (std::int64_t i = tens; i < 0 && value != 0; ++i) {
            rest = rest || value % 10 != 0;
            value /= 10;
        }
        if (rest) ++value;
    }
    return negative ? -value : value;
}

} // namespace vgpualloc::compat::volcano::go_text
