#include "pod_series.hpp"

#include <algorithm>

#include "time_text.hpp"

namespace vgputraces {

namespace {

void sort_once(std::vector<std::int64_t>& times) {
    if (!std::ranges::is_sorted(times)) std::ranges::sort(times);
    times.erase(std::unique(times.begin(), times.end()), times.end());
}

} // namespace

void sample_times::add(std::int64_t time_ms) {
    if (!runs_.empty()) {
        run& last = runs_.back();
        if (last.count == 1 && time_ms > last.first_ms) {
            last.step_ms = time_ms - last.first_ms;
            last.count = 2;
            return;
        }
        if (last.count > 1 && time_ms == last.first_ms + last.step_ms * last.count) {
            ++last.count;
            return;
        }
    }
    runs_.push_back({.first_ms = time_ms});
}

void sample_times::append_to(std::vector<std::int64_t>& times) const {
    for (const run& of : runs_) {
        for (std::int64_t i = 0; i < of.count; ++i) times.push_back(of.first_ms + i * of.step_ms);
    }
}

std::vector<std::int64_t> sample_times::sorted() const {
    std::vector<std::int64_t> times;
    append_to(times);
    sort_once(times);
    return times;
}

void pod_series::note(pod_time which, ticks value, std::int64_t time_ms) {
    std::vector<told_time>& values = times[static_cast<std::size_t>(which)];
    const auto same = std::ranges::find(values, value, &told_time::value);
    if (same == values.end()) {
        values.push_back({.value = value, .first_ms = time_ms, .last_ms = time_ms});
        return;
    }
    same->first_ms = std::min(same->first_ms, time_ms);
    same->last_ms = std::max(same->last_ms, time_ms);
}

std::vector<std::int64_t> pod_series::present() const {
    std::vector<std::int64_t> result;
    for (const sample_times* of : {&running, &ended, &others}) of->append_to(result);
    for (const auto& [key, amounts] : requests) {
        for (const requested_at& amount : amounts) amount.times.append_to(result);
    }
    sort_once(result);
    return result;
}

std::optional<ticks> pod_series::told(pod_time which, std::int64_t first_ms, std::int64_t last_ms) const {
    std::optional<told_time> latest;
    for (const told_time& of : times[static_cast<std::size_t>(which)]) {
        const bool is_within = of.first_ms <= last_ms && of.last_ms >= first_ms;
        if (is_within && (!latest || of.last_ms > latest->last_ms)) latest = of;
    }
    return latest ? std::optional{latest->value} : std::nullopt;
}

void sample_grid::add(std::int64_t time_ms) {
    constexpr std::size_t unsorted_max = std::size_t{1} << 20U;
    times_.push_back(time_ms);
    if (times_.size() - sorted_ > unsorted_max) sort();
}

void sample_grid::note_distance(std::int64_t distance_ms) {
    if (step_ms_ == 0 || distance_ms < step_ms_) step_ms_ = distance_ms;
}

void sample_grid::sort() {
    sort_once(times_);
    sorted_ = times_.size();
}

expected<void> sample_grid::finish() {
    sort();
    if (step_ms_ == 0) {
        return unexpected(bad_input(error_code::missing, "values", "no series has two samples",
                                    "a range of at least two steps, by which the step is known"));
    }
    for (const std::int64_t time : times_) {
        if ((time - times_.front()) % step_ms_ == 0) continue;
        return unexpected(bad_value(error_code::malformed, "values", utc_text(time),
                                    "a whole number of steps of " + seconds_text_of_ms(step_ms_) + " s after " +
                                        utc_text(times_.front()) +
                                        ": all queries need the same step, and starts that are whole steps apart"));
    }
    return {};
}

std::int64_t sample_grid::sampled_between_ms(std::int64_t from_ms, std::int64_t to_ms) const {
    const auto from = std::ranges::upper_bound(times_, from_ms);
    const auto to = std::ranges::lower_bound(times_, to_ms);
    return to > from ? (to - from) * step_ms_ : 0;
}

std::string utc_text(std::int64_t time_ms) {
    constexpr std::int64_t ms_per_s = 1000;
    const std::int64_t rest = time_ms % ms_per_s;
    return iso_text(ticks_of_ms(time_ms)) + (rest == 0 ? "" : "." + padded(rest, 3)) + "Z";
}

} // namespace vgputraces
