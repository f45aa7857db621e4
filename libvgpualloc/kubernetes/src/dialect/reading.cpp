// Problems of several devices of one node that are the same.
#include "vgpualloc/dialect/reading.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace vgpualloc::dialects {

namespace {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Whether the number that follows is a device's: other numbers are parts of names.
bool counts_devices(std::string_view before) {
    constexpr std::array<std::string_view, 5> words{"[", "card ", "device ", "GPU ", "NPU "};
    return std::ranges::any_of(words, [before](std::string_view word) { return before.ends_with(word); });
}

/// A text taken apart: what is between its numbers of devices, and these.
struct numbered_text {
    std::vector<std::string> pieces{1};
    std::vector<std::string> numbers;
};

numbered_text taken_apart(const std::string& text) {
    numbered_text result;
    bool in_number = false;
    for (const char c : text) {
        const bool goes_on = in_number && is_digit(c);
        const bool begins = !goes_on && is_digit(c) && counts_devices(result.pieces.back());
        if (begins) {
            result.numbers.emplace_back();
            result.pieces.emplace_back();
        }
        in_number = goes_on || begins;
        (in_number ? result.numbers.back() : result.pieces.back()) += c;
    }
    return result;
}

std::string put_together(const numbered_text& text) {
    std::string result = text.pieces[0];
    for (std::size_t i = 0; i < text.numbers.size(); ++i) result += text.numbers[i] + text.pieces[i + 1];
    return result;
}

/// Problems that are the same but for the numbers in their place.
struct alike {
    numbered_text place; ///< of the first
    std::vector<error> problems;
    std::vector<std::vector<std::string>> numbers; ///< of each
};

/// The only number of the places that is not the same in all of them.
std::optional<std::size_t> differing_number(const alike& group) {
    std::optional<std::size_t> position;
    for (std::size_t i = 0; i < group.numbers[0].size(); ++i) {
        const auto is_same = [&](const auto& numbers) { return numbers[i] == group.numbers[0][i]; };
        if (std::ranges::all_of(group.numbers, is_same)) continue;
        if (position) return std::nullopt;
        position = i;
    }
    return position;
}

error joined(alike group, std::size_t position) {
    constexpr std::size_t numbers_max = 20;
    std::string& list = group.place.numbers[position];
    const std::size_t count = group.numbers.size();
    for (std::size_t i = 1; i < std::min(count, numbers_max); ++i) list += ", " + group.numbers[i][position];
    if (count > numbers_max) list += " and " + std::to_string(count - numbers_max) + " more";
    const std::string place = put_together(group.place);
    error result = std::move(group.problems.front());
    const auto end = place.find('\n');
    result.where = place.substr(0, end);
    result.field = place.substr(end + 1);
    return result;
}

} // namespace

std::vector<error> joined_by_device(std::vector<error> problems) {
    using cause = std::tuple<error_code, std::vector<std::string>, std::string, std::string>;
    std::map<cause, std::size_t> known;
    std::vector<alike> groups;
    for (error& problem : problems) {
        numbered_text place = taken_apart(problem.where + '\n' + problem.field);
        const auto [entry, is_new] =
            known.try_emplace({problem.code, place.pieces, problem.value, problem.reason()}, groups.size());
        if (is_new) groups.push_back({.place = place, .problems = {}, .numbers = {}});
        alike& group = groups[entry->second];
        group.numbers.push_back(std::move(place.numbers));
        group.problems.push_back(std::move(problem));
    }
    std::vector<error> result;
    for (alike& group : groups) {
        if (const auto position = differing_number(group)) {
            result.push_back(joined(std::move(group), *position));
            continue;
        }
        for (error& problem : group.problems) result.push_back(std::move(problem));
    }
    return result;
}

} // namespace vgpualloc::dialects
