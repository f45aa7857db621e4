// Future events in a total order: time, then class, then sequence number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "vgpualloc/core/units.hpp"

namespace vgpusim {

/// What happens, in the order in which events of one instant are handled: what frees capacity comes before what asks
/// for it, and a sample sees the instant when it is over.
enum class event_class : std::uint8_t { finish, arrival, attempt, start, sample };

struct event {
    vgpualloc::ticks time;
    event_class what = event_class::sample;
    std::uint64_t sequence = 0;
    std::uint32_t pod = 0; ///< position in simulation_input::pods; unused by samples

    [[nodiscard]] bool before(const event& other) const noexcept {
        if (time != other.time) return time < other.time;
        if (what != other.what) return what < other.what;
        return sequence < other.sequence;
    }
};

/// A binary heap; ties cannot happen, because every event gets its own sequence number.
class event_queue {
public:
    void push(vgpualloc::ticks time, event_class what, std::uint32_t pod) {
        heap_.push_back({.time = time, .what = what, .sequence = sequence_++, .pod = pod});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
    /// Takes the first event; the queue is not empty.
    [[nodiscard]] event pop() {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const event first = heap_.back();
        heap_.pop_back();
        return first;
    }

private:
    [[nodiscard]] static bool later(const event& a, const event& b) noexcept { return b.before(a); }

    std::vector<event> heap_;
    std::uint64_t sequence_ = 0;
};

} // namespace vgpusim
