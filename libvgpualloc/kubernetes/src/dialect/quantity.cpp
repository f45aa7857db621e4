// Kubernetes quantities, as k8s.io/apimachinery/pkg/api/resource spells them.
#include "vgpualloc/dialect/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <system_error>

namespace vgpualloc::kubernetes {
namespace {

__extension__ using wide = unsigned __int128;
constexpr wide wide_max = ~wide{0};
constexpr wide value_max = static_cast<wide>(std::numeric_limits<std::int64_t>::max());

/// digits * 2^twos * 5^fives: powers of ten and of 1024 alike.
struct scaled_number {
    wide digits = 0;
    int twos = 0;
    int fives = 0;
};

struct suffix {
    std::string_view text;
    int tens = 0;
    int twos = 0;
};
constexpr std::array<suffix, 16> suffixes{{{"", 0, 0},
                                           {"n", -9, 0},
                                           {"u", -6, 0},
                                           {"m", -3, 0},
                                           {"k", 3, 0},
                                           {"M", 6, 0},
                                           {"G", 9, 0},
                                           {"T", 12, 0},
                                           {"P", 15, 0},
                                           {"E", 18, 0},
                                           {"Ki", 0, 10},
                                           {"Mi", 0, 20},
                                           {"Gi", 0, 30},
                                           {"Ti", 0, 40},
                                           {"Pi", 0, 50},
                                           {"Ei", 0, 60}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The suffix's powers; none for an unknown one or an exponent that no amount has.
std::optional<suffix> suffix_of(std::string_view text) {
    const auto known = std::ranges::find(suffixes, text, &suffix::text);
    if (known != suffixes.end()) return *known;
    if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E')) return std::nullopt;
    text.remove_prefix(text[1] == '+' ? 2 : 1);
    int exponent = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, exponent);
    constexpr int exponent_max = 30;
    if (failure != std::errc{} || stop != end || exponent < -exponent_max || exponent > exponent_max) {
        return std::nullopt;
    }
    return suffix{.text = {}, .tens = exponent, .twos = 0};
}

constexpr std::int64_t digits_max = 30; // no amount needs more, and so many fit in 128 bits

/// None: no quantity. Of at most digits_max digits.
std::optional<scaled_number> parse_number(std::string_view text) {
    scaled_number number;
    bool digits = false;
    int decimals = 0;
    bool point = false;
    std::size_t at = 0;
    for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
        if (text[at] == '.') {
            point = true;
            continue;
        }
        number.digits = number.digits * 10 + static_cast<unsigned>(text[at] - '0');
        digits = true;
        if (point) ++decimals;
    }
    const auto scale = suffix_of(text.substr(at));
    if (!digits || !scale) return std::nullopt;
    number.fives = scale->tens - decimals;
    number.twos = number.fives + scale->twos;
    return number;
}

void multiply(wide& value, unsigned factor, int times) {
    for (; times > 0; --times) value = value > wide_max / factor ? wide_max : value * factor;
}
/// Returns whether something was cut off.
bool divide(wide& value, unsigned divisor, int times) {
    bool rest = false;
    for (; times < 0; ++times) {
        rest = rest || value % divisor != 0;
        value /= divisor;
    }
    return rest;
}

} // namespace

expected<std::int64_t> parse_quantity(std::string_view text, quantity_unit unit, rounding rest) {
    const auto bad = [text](error_code code, const char* expected_text) {
        return unexpected(bad_value(code, "", text, expected_text));
    };
    if (std::ranges::count_if(text, is_digit) > digits_max) {
        return bad(error_code::out_of_range, "a quantity of at most 30 digits");
    }
    const bool negative = text.starts_with('-');
    auto number = parse_number(negative || text.starts_with('+') ? text.substr(1) : text);
    if (!number) return bad(error_code::malformed, "a quantity like 100m, 1Gi, 1e3 or 3000");
    if (negative && number->digits != 0) return bad(error_code::out_of_range, "0 or more");
    if (unit == quantity_unit::thousandth) {
        number->twos += 3;
        number->fives += 3;
    }
    wide value = number->digits;
    multiply(value, 5, number->fives);
    multiply(value, 2, number->twos);
    if (value == wide_max) return bad(error_code::out_of_range, "less than 2^63");
    const bool cut_fives = divide(value, 5, number->fives);
    const bool cut = divide(value, 2, number->twos) || cut_fives;
    if (cut && rest == rounding::refuse) return bad(error_code::out_of_range, "a whole number");
    if (cut && rest == rounding::up) ++value;
    if (value > value_max) return bad(error_code::out_of_range, "less than 2^63");
    return static_cast<std::int64_t>(value);
}

} // namespace vgpualloc::kubernetes
