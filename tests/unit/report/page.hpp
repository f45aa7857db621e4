// What the tests of the report read from a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace vgpureport_test {

/// The data that the page's scripts draw; parsing it also shows that no NaN or broken string got in.
inline nlohmann::json data_of(const std::string& page) {
    constexpr std::string_view open = "id=\"report-data\">";
    const auto begin = page.find(open) + open.size();
    return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

inline std::vector<std::int64_t> sums(const nlohmann::json& differences) {
    auto values = differences.get<std::vector<std::int64_t>>();
    std::partial_sum(values.begin(), values.end(), values.begin());
    return values;
}

/// The numbers of `changes`, read as docs/report.md says.
inline std::vector<std::uint64_t> numbers_of(const std::string& text) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::vector<std::uint64_t> numbers;
    std::uint64_t number = 0;
    unsigned shift = 0;
    for (const char c : text) {
        const std::uint64_t digit = digits.find(c);
        number += (digit % 32) << shift;
        shift += 5;
        if (digit >= 32) continue;
        numbers.push_back(number);
        number = 0;
        shift = 0;
    }
    return numbers;
}

/// What every cell looks like at every moment: [slices, closed, used, first, length, label, …].
inline std::vector<std::vector<nlohmann::json>> moments_of(const nlohmann::json& history, std::size_t cells) {
    const auto numbers = numbers_of(history["changes"].get<std::string>());
    std::vector<std::vector<nlohmann::json>> moments;
    std::vector<nlohmann::json> now(cells, history["looks"][0]);
    for (std::size_t at = 0; at < numbers.size();) {
        const std::size_t end = at + 1 + 2 * numbers[at];
        std::size_t cell = 0;
        for (++at; at < end; at += 2) {
            cell += numbers[at];
            now.at(cell) = history["looks"].at(numbers[at + 1]);
        }
        moments.push_back(now);
    }
    return moments;
}

/// The milli-GPU in use of every cell at a moment.
inline std::vector<std::int64_t> used_at(const nlohmann::json& history, std::size_t cells, std::size_t moment) {
    std::vector<std::int64_t> used;
    const auto moments = moments_of(history, cells);
    for (const auto& look : moments.at(moment)) used.push_back(look[2]);
    return used;
}

} // namespace vgpureport_test
