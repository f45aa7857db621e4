#include "vgpusim/discipline/free_profile.hpp"

#include <algorithm>

namespace vgpusim {

namespace {

/// The end of a span; for ever if the sum is beyond all times.
ticks end_of(ticks from, ticks duration) noexcept {
    return duration >= ticks::max() - std::max(from, ticks{0}) ? ticks::max() : from + duration;
}

} // namespace

std::size_t free_profile::step_at(ticks time) const noexcept {
    const auto after = std::ranges::upper_bound(steps_, time, {}, &step::from);
    return after == steps_.begin() ? 0 : static_cast<std::size_t>(after - steps_.begin()) - 1;
}

ticks free_profile::find(std::int64_t units, ticks duration, ticks earliest) const noexcept {
    ticks begin = earliest;
    for (std::size_t i = step_at(earliest); i < steps_.size(); ++i) {
        if (steps_[i].free < units) {
            if (i + 1 == steps_.size()) return ticks::max();
            begin = std::max(earliest, steps_[i + 1].from);
        } else if (i + 1 < steps_.size() && steps_[i + 1].from >= end_of(begin, duration)) {
            return begin;
        }
    }
    return begin;
}

std::int64_t free_profile::least(ticks from, ticks duration) const noexcept {
    const ticks end = end_of(from, duration);
    std::int64_t least = steps_[step_at(from)].free;
    for (std::size_t i = step_at(from) + 1; i < steps_.size() && steps_[i].from < end; ++i) {
        least = std::min(least, steps_[i].free);
    }
    return least;
}

/// The step that begins at `time`, made if there is none.
std::size_t free_profile::split(ticks time) {
    const std::size_t i = step_at(time);
    if (steps_[i].from >= time) return i;
    steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(i) + 1, {.from = time, .free = steps_[i].free});
    return i + 1;
}

void free_profile::take(std::int64_t units, ticks from, ticks duration) {
    const ticks end = end_of(from, duration);
    if (end <= from) return;
    const std::size_t first = split(from);
    const std::size_t last = end == ticks::max() ? steps_.size() : split(end);
    for (std::size_t i = first; i < last; ++i) steps_[i].free -= units;
}

void free_profile::forget_before(ticks now) {
    const auto current = static_cast<std::ptrdiff_t>(step_at(now));
    steps_.erase(steps_.begin(), steps_.begin() + current);
}

void free_profile::append_times(std::vector<ticks>& times) const {
    for (std::size_t i = 1; i < steps_.size(); ++i) {
        if (steps_[i].free > steps_[i - 1].free) times.push_back(steps_[i].from);
    }
}

} // namespace vgpusim
