#include "draws.hpp"

namespace vgputraces {

std::vector<std::int64_t> apportion(const std::vector<std::int64_t>& shares, std::int64_t total) {
    __extension__ using wide = __int128;
    std::int64_t sum = 0;
    for (const std::int64_t share : shares) sum += share;
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> remainders;
    std::int64_t missing = total;
    for (const std::int64_t share : shares) {
        const wide scaled = static_cast<wide>(share) * total;
        counts.push_back(static_cast<std::int64_t>(scaled / sum));
        remainders.push_back(static_cast<std::int64_t>(scaled % sum));
        missing -= counts.back();
    }
    std::vector<std::size_t> order(shares.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return remainders[a] != remainders[b] ? remainders[a] > remainders[b] : a < b;
    });
    for (std::size_t i = 0; missing > 0; ++i, --missing) ++counts[order[i]];
    return counts;
}

double quantile_s(const duration_quantiles& points, double probability) {
    const auto after = std::find_if(points.begin() + 1, points.end() - 1,
                                    [&](const quantile_point& point) { return probability < point.probability; });
    const auto& from = *(after - 1);
    const double share = (probability - from.probability) / (after->probability - from.probability);
    return from.seconds + (after->seconds - from.seconds) * share;
}

namespace {

constexpr std::int64_t ticks_per_hour = 3600 * ticks_per_second.count();
constexpr std::int64_t ticks_per_day = 24 * ticks_per_hour;

/// The time `gap` after `now` on a clock that runs, in each hour of the day, as fast as the hour's weight says, and
/// takes a day for a day. This is the exact inverse of the cumulative rate, where thinning would have to draw and drop
/// candidates all through the quiet hours.
ticks after_gap(ticks now, ticks gap, const std::array<std::int64_t, 24>& weights, std::int64_t weight_sum) {
    __extension__ using wide = __int128;
    std::int64_t at = now.count() + gap.count() / ticks_per_day * ticks_per_day;
    wide left = static_cast<wide>(gap.count() % ticks_per_day) * weight_sum;
    while (true) {
        const wide speed =
            static_cast<wide>(24) * weights[static_cast<std::size_t>(at % ticks_per_day / ticks_per_hour)];
        const std::int64_t hour_rest = ticks_per_hour - at % ticks_per_hour;
        if (left < hour_rest * speed) return ticks{at + static_cast<std::int64_t>(left / speed)};
        left -= hour_rest * speed;
        at += hour_rest;
    }
}

} // namespace

ticks arrival_clock::next() {
    if (model_->process == arrival_process::poisson) {
        const double exact = gaps_.exponential() * static_cast<double>(model_->interval.count());
        const ticks gap{static_cast<std::int64_t>(exact + 0.5)};
        now_ = weight_sum_ > 0 ? after_gap(now_, gap, *model_->hourly_weights, weight_sum_) : now_ + gap;
    } else if (model_->process == arrival_process::fixed && !std::exchange(first_, false)) {
        now_ += model_->interval;
    }
    return now_;
}

} // namespace vgputraces
