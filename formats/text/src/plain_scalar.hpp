// What a YAML scalar without quotes means, as Kubernetes' tools read it (YAML 1.1 words for truth).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include "vgpuformats/document.hpp"

namespace vgpuformats {

struct plain_scalar {
    value_kind kind = value_kind::text;
    std::string text;
};

/// [+-] digits [. digits] [e [+-] digits], or 0x with digits.
[[nodiscard]] inline bool is_yaml_number(std::string_view text) {
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (text.starts_with("0x")) {
        return text.size() > 2 && text.find_first_not_of("0123456789abcdefABCDEF", 2) == text.npos;
    }
    const auto take_digits = [&text] {
        const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
        text.remove_prefix(digits);
        return digits;
    };
    std::size_t digits = take_digits();
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        digits += take_digits();
    }
    if (digits == 0) return false;
    if (!text.starts_with('e') && !text.starts_with('E')) return text.empty();
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    return take_digits() > 0 && text.empty();
}

[[nodiscard]] inline plain_scalar read_plain_scalar(const std::string& word) {
    static constexpr std::array<std::string_view, 11> yes{"true", "True", "TRUE", "yes", "Yes", "YES",
                                                          "on",   "On",   "ON",   "y",   "Y"};
    static constexpr std::array<std::string_view, 11> no{"false", "False", "FALSE", "no", "No", "NO",
                                                         "off",   "Off",   "OFF",   "n",  "N"};
    // What no double holds is a text to Go's YAML as well, and JSON has no such number.
    if (is_yaml_number(word) && std::isfinite(std::strtod(word.c_str(), nullptr))) return {value_kind::number, word};
    if (std::ranges::find(yes, word) != yes.end()) return {value_kind::boolean, "true"};
    if (std::ranges::find(no, word) != no.end()) return {value_kind::boolean, "false"};
    return {value_kind::text, word};
}

} // namespace vgpuformats
