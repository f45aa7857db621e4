// Names in messages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace vgpuformats {

/// All names, `between` them.
template <class Range, class NameOf = std::identity>
[[nodiscard]] std::string joined(const Range& all, NameOf name_of = {}, std::string_view between = ", ") {
    std::string list;
    for (const auto& item : all) {
        if (!list.empty()) list += between;
        list += std::invoke(name_of, item);
    }
    return list;
}

/// The first of names that may be thousands, and how many more there are; "none" if there are none.
template <class Item, class NameOf = std::identity>
[[nodiscard]] std::string some_of(const std::vector<Item>& all, NameOf name_of = {}) {
    constexpr std::size_t names_max = 20;
    std::string list;
    for (std::size_t i = 0; i < std::min(all.size(), names_max); ++i) {
        list += (i == 0 ? "" : ", ") + std::invoke(name_of, all[i]);
    }
    if (all.size() > names_max) list += " and " + std::to_string(all.size() - names_max) + " more";
    return list.empty() ? "none" : list;
}

/// An argument of a command line as a shell reads it back.
[[nodiscard]] inline std::string shell_word(std::string_view argument) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
    if (!argument.empty() && argument.find_first_not_of(plain) == std::string_view::npos) return std::string{argument};
    std::string result = "'";
    for (const char letter : argument) result += letter == '\'' ? std::string{"'\\''"} : std::string{letter};
    return result + "'";
}

} // namespace vgpuformats
