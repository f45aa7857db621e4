// When the events of a ledger's log happened: the ledger itself knows their order only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// The times of a ledger's events, kept once for all events of a moment.
class event_clock {
public:
    /// All events before number `next_event` that have no time yet happened at `now`, which never goes back.
    void note(std::uint64_t next_event, ticks now) {
        const std::uint64_t timed = moments_.empty() ? 0 : moments_.back().end;
        if (next_event == timed) return;
        if (!moments_.empty() && moments_.back().time == now) {
            moments_.back().end = next_event;
        } else {
            moments_.push_back({next_event, now});
        }
    }

    /// Reads the times of events in ascending order of their numbers.
    class reader {
    public:
        explicit reader(const event_clock& clock) noexcept : clock_{&clock} {}

        /// Events that were never noted happened at the last moment that was.
        [[nodiscard]] ticks time_of(std::uint64_t event) noexcept {
            const auto& moments = clock_->moments_;
            while (at_ + 1 < moments.size() && moments[at_].end <= event) ++at_;
            return moments.empty() ? ticks{} : moments[at_].time;
        }

    private:
        const event_clock* clock_;
        std::size_t at_ = 0;
    };

private:
    struct moment {
        std::uint64_t end = 0; ///< the number of the first event that happened later
        ticks time;
    };
    std::vector<moment> moments_;
};

} // namespace vgpusim
