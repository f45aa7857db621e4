// What columns are made with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "vgpufacade/columns.hpp"

namespace vgpufacade {

/// A real number that is not there.
inline constexpr double not_there = std::numeric_limits<double>::quiet_NaN();

/// The unit that the last words of a name say.
inline std::string unit_of(std::string_view name) {
    constexpr std::pair<std::string_view, std::string_view> units[] = {{"cpu_milli", "milli-CPU"},
                                                                       {"_milli", "milli-GPU"},
                                                                       {"_mib", "MiB"},
                                                                       {"_kwh", "kWh"},
                                                                       {"_w", "W"},
                                                                       {"_gpu_s", "GPU s"},
                                                                       {"_s", "s"},
                                                                       {"_ns", "ns"},
                                                                       {"_us", "us"},
                                                                       {"_pct", "%"}};
    for (const auto& [ending, unit] : units) {
        if (name.ends_with(ending)) return std::string{unit};
    }
    return "";
}

/// Numbers texts in the order in which they first occur.
class text_coder {
public:
    explicit text_coder(std::size_t rows) { column_.codes.reserve(rows); }

    void add(const std::string& text) {
        if (!column_.codes.empty()) { // most are like the one before
            const std::int32_t last = column_.codes.back();
            if (column_.dictionary[static_cast<std::size_t>(last)] == text) return column_.codes.push_back(last);
        }
        const auto [entry, is_new] = codes_.try_emplace(text, static_cast<std::int32_t>(column_.dictionary.size()));
        if (is_new) column_.dictionary.push_back(text);
        column_.codes.push_back(entry->second);
    }
    /// A text that none before is like.
    void add_unique(std::string text) {
        column_.codes.push_back(static_cast<std::int32_t>(column_.dictionary.size()));
        column_.dictionary.push_back(std::move(text));
    }
    [[nodiscard]] coded_column take() { return std::move(column_); }

private:
    coded_column column_;
    std::unordered_map<std::string, std::int32_t> codes_; // only looked up, never walked
};

} // namespace vgpufacade
