// GPUs in use over time, by the start and the end of jobs.
#include <algorithm>
#include <cstdint>
#include <map>

#include "vgpuops/import/imported_workload.hpp"

namespace vgpuops::importing {

namespace {

constexpr std::int64_t ticks_per_s = vgpualloc::ticks_per_second.count();
constexpr std::int64_t seconds_per_day = 24 * 3600;
constexpr std::int64_t days_per_week = 7;

/// The time that records cover, and into what it is divided. Seconds since 1970 began.
struct covered_time {
    std::int64_t first_s = 0; ///< of the first day or week
    std::int64_t length_s = seconds_per_day;
    std::int64_t count = 0; ///< of days or weeks
};

std::int64_t round_up(std::int64_t value, std::int64_t step) {
    const std::int64_t rest = (value % step + step) % step;
    return rest == 0 ? value : value + step - rest;
}

vgputraces::covered_span span_of(const std::vector<vgputraces::accounted_job>& jobs) {
    vgputraces::covered_span span{.begin = jobs.front().end, .end = jobs.front().start};
    for (const vgputraces::accounted_job& job : jobs) {
        span.begin = std::min(span.begin, job.end);
        span.end = std::max(span.end, job.start);
    }
    return span;
}

covered_time days_or_weeks_in(const vgputraces::covered_span& span) {
    constexpr std::int64_t weeks_of_days = 8;
    constexpr std::int64_t first_monday_s = 4 * seconds_per_day; // 1970-01-05
    covered_time result;
    const std::int64_t begin_s = round_up(span.begin.count(), ticks_per_s) / ticks_per_s;
    std::int64_t origin_s = 0;
    if (span.end - span.begin > ticks{weeks_of_days * days_per_week * seconds_per_day * ticks_per_s}) {
        result.length_s *= days_per_week;
        origin_s = first_monday_s;
    }
    result.first_s = round_up(begin_s - origin_s, result.length_s) + origin_s;
    result.count = std::max<std::int64_t>(0, (span.end.count() / ticks_per_s - result.first_s) / result.length_s);
    return result;
}

/// Adds up GPUs times the time that they were in use, without loss. `gpus` is at most gpus_max.
class use_sum {
public:
    static constexpr std::int64_t gpus_max = 1'000'000'000'000;

    void add(std::int64_t gpus, std::int64_t duration) {
        seconds_ += gpus * (duration / ticks_per_s);
        ticks_ += gpus * (duration % ticks_per_s);
        seconds_ += ticks_ / ticks_per_s;
        ticks_ %= ticks_per_s;
    }
    /// The mean over a time, to the nearest milli-GPU.
    [[nodiscard]] std::int64_t mean_milli(std::int64_t length_s) const {
        constexpr std::int64_t milli = 1000;
        const std::int64_t rest = seconds_ % length_s * milli + ticks_ * milli / ticks_per_s;
        return seconds_ / length_s * milli + (rest + length_s / 2) / length_s;
    }

private:
    std::int64_t seconds_ = 0; ///< GPU-seconds
    std::int64_t ticks_ = 0;   ///< and what of GPU-ticks is left
};

} // namespace

std::vector<vgputraces::usage_point> usage_of(const std::vector<vgputraces::accounted_job>& jobs,
                                              const std::optional<vgputraces::covered_span>& covered_span) {
    std::vector<vgputraces::usage_point> result;
    if (jobs.empty()) return result;
    const covered_time covered = days_or_weeks_in(covered_span.value_or(span_of(jobs)));
    std::map<std::int64_t, std::int64_t> changes; // of the number of GPUs, by time
    for (const vgputraces::accounted_job& job : jobs) {
        if (job.gpus == 0) continue;
        changes[job.start.count()] += job.gpus;
        if (!job.is_running) changes[job.end.count()] -= job.gpus;
    }
    auto next = changes.begin();
    std::int64_t gpus = 0;
    std::int64_t now = covered.first_s * ticks_per_s;
    for (; next != changes.end() && next->first <= now; ++next) gpus += next->second;
    for (std::int64_t i = 0; i < covered.count; ++i) {
        const std::int64_t end = now + covered.length_s * ticks_per_s;
        const std::int64_t middle = now + covered.length_s * ticks_per_s / 2;
        use_sum sum;
        while (now < end) {
            const std::int64_t until = next == changes.end() ? end : std::min(end, next->first);
            sum.add(std::min(gpus, use_sum::gpus_max), until - now);
            now = until;
            for (; next != changes.end() && next->first <= now; ++next) gpus += next->second;
        }
        result.push_back({.time = ticks{middle}, .used_milli = sum.mean_milli(covered.length_s)});
    }
    return result;
}

} // namespace vgpuops::importing
