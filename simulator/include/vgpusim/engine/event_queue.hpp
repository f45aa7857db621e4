// Future events in a total order: time, then class, then sequence number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// What happens, in the order in which events of one instant are handled: what frees capacity comes before what asks
/// for it, and a sample sees the instant when it is over. Arrivals are not queued: they lie in order as they are.
enum class event_class : std::uint8_t { finish, moved, cluster, node_added, crash, arrival, tidy, sample };

struct event {
    ticks time;
    event_class what = event_class::sample;
    std::uint32_t round = 0; ///< of a finish: which start of the pod it belongs to; of a move: which of its plan
    std::uint64_t sequence = 0;
    /// Of a finish the pod, of a move the number of its plan, of a change of the cluster the position in
    /// cluster_events, of an added node its index, of a crash the position in crashes.
    std::uint32_t subject = 0;

    [[nodiscard]] bool before(const event& other) const noexcept {
        if (time != other.time) return time < other.time;
        if (what != other.what) return what < other.what;
        return sequence < other.sequence;
    }
};

/// A binary heap, with the first event beside it where it is known: what an event leads to often happens next. Ties
/// cannot happen, because every event gets its own sequence number.
class event_queue {
public:
    void push(ticks time, event_class what, std::uint32_t subject, std::uint32_t round = 0) {
        event added{.time = time, .what = what, .round = round, .sequence = sequence_++, .subject = subject};
        if (first_known_) {
            if (added.before(first_)) std::swap(added, first_);
        } else if (heap_.empty() || added.before(heap_.front())) {
            first_ = added;
            first_known_ = true;
            return;
        }
        heap_.push_back(added);
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return heap_.size() + (first_known_ ? 1 : 0); }
    /// The first event; the queue is not empty.
    [[nodiscard]] const event& next() const noexcept { return first_known_ ? first_ : heap_.front(); }
    /// Takes the first event; the queue is not empty.
    [[nodiscard]] event pop() {
        if (first_known_) {
            first_known_ = false;
            return first_;
        }
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const event first = heap_.back();
        heap_.pop_back();
        return first;
    }

private:
    [[nodiscard]] static bool later(const event& a, const event& b) noexcept { return b.before(a); }

    std::vector<event> heap_;
    event first_; ///< before all in heap_, if known
    bool first_known_ = false;
    std::uint64_t sequence_ = 0;
};

} // namespace vgpusim
