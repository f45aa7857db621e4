// What both generators draw with: weights, shares, names, times of arrival.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/core/rng.hpp"
#include "vgputraces/generator.hpp"

namespace vgputraces {

/// A number from 0 to the number of weights - 1, each as often as its weight says.
class lottery {
public:
    explicit lottery(const std::vector<std::int64_t>& weights) : ends_(weights.size()) {
        std::partial_sum(weights.begin(), weights.end(), ends_.begin());
    }
    [[nodiscard]] std::size_t draw(vgpualloc::rng& stream) const {
        const auto ticket = static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(ends_.back())));
        return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), ticket) - ends_.begin());
    }

private:
    std::vector<std::int64_t> ends_; ///< ends_[i]: first ticket after those of i
};

/// Largest remainder (Hamilton): floors first, then one more each for the largest fractions, ties to the first kind.
[[nodiscard]] std::vector<std::int64_t> apportion(const std::vector<std::int64_t>& shares, std::int64_t total);

/// How much of a list is in memory while it is written.
inline constexpr std::size_t piece_bytes = std::size_t{1} << 20U;

/// `<prefix>-<what>-<digits>`, as many digits as the last index has and at least four, so that names sort by index.
class namer {
public:
    namer(std::string what, std::size_t total) : what_{std::move(what)} {
        digits_ = std::max<std::size_t>(4, std::to_string(total > 0 ? total - 1 : 0).size());
    }
    [[nodiscard]] std::string name(const std::string& prefix, std::size_t index) const {
        const std::string number = std::to_string(index);
        return prefix + what_ + std::string(digits_ - number.size(), '0') + number;
    }

private:
    std::string what_;
    std::size_t digits_ = 0;
};

/// The seconds that a share `probability` of the pods do not exceed.
[[nodiscard]] double quantile_s(const duration_quantiles& points, double probability);

/// Gives the time of each pod in turn.
class arrival_clock {
public:
    arrival_clock(const arrival_model& model, const vgpualloc::rng& root)
        : model_{&model}, gaps_{root.fork("arrivals")} {
        if (!model.hourly_weights) return;
        const auto& weights = *model.hourly_weights;
        weight_sum_ = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
    }

    [[nodiscard]] ticks next();

private:
    const arrival_model* model_;
    vgpualloc::rng gaps_;
    ticks now_;
    std::int64_t weight_sum_ = 0; ///< 0 = no hourly weights
    bool first_ = true;
};

} // namespace vgputraces
