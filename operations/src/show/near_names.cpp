// Distances of names.
#include "near_names.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace vgpuops::show {

namespace {

/// How many letters have to be changed, added or left out (Levenshtein).
std::size_t letters_apart(std::string_view left, std::string_view right) {
    std::vector<std::size_t> above(right.size() + 1);
    std::iota(above.begin(), above.end(), std::size_t{0});
    for (std::size_t i = 0; i < left.size(); ++i) {
        std::vector<std::size_t> row{i + 1};
        for (std::size_t j = 0; j < right.size(); ++j) {
            const std::size_t changed = above[j] + (left[i] == right[j] ? 0U : 1U);
            row.push_back(std::min({changed, above[j + 1] + 1, row[j] + 1}));
        }
        above = std::move(row);
    }
    return above.back();
}

} // namespace

std::vector<std::string> near_names(const std::string& wanted, const std::vector<std::string>& names,
                                    std::size_t names_max) {
    std::vector<std::pair<std::size_t, std::string>> ranked;
    for (const std::string& name : names) {
        // A name without namespace is as near as the part after the namespace is.
        const bool is_short = wanted.find('/') == std::string::npos;
        const std::string_view compared = is_short ? std::string_view{name}.substr(name.find('/') + 1) : name;
        ranked.emplace_back(letters_apart(wanted, compared), name);
    }
    const std::size_t count = std::min(names_max, ranked.size());
    std::ranges::partial_sort(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(count));
    std::vector<std::string> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(std::move(ranked[i].second));
    return result;
}

} // namespace vgpuops::show
