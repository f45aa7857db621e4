// Jobs of one class that wait, in the order of their turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// Finds the first job whose estimate is short enough in logarithmic time: a tree of minima over all jobs that ever
/// waited here, in which those that do not wait now count as endless. A job that comes back has its old place.
class waiting_line {
public:
    struct entry {
        std::uint64_t turn = 0; ///< order of arrival over all lines
        std::uint32_t job = 0;
    };

    [[nodiscard]] bool empty() const noexcept { return waiting_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return waiting_; }

    /// A job with a turn after all that were ever added.
    void add(entry added, ticks estimate) {
        if (entries_.size() == leaves_) widen();
        entries_.push_back(added);
        set(entries_.size() - 1, key_of(estimate));
        ++waiting_;
    }
    /// A job that was added before and has been removed since.
    void restore(std::uint64_t turn, ticks estimate) {
        std::size_t low = 0;
        std::size_t high = entries_.size();
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (entries_[middle].turn < turn) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        set(low, key_of(estimate));
        ++waiting_;
    }
    void remove(std::size_t position) {
        set(position, absent);
        --waiting_;
    }

    /// The position of the first job, from `from` on, with an estimate of at most `limit`; none if there is none.
    [[nodiscard]] std::optional<std::size_t> first(ticks limit = ticks::max(), std::size_t from = 0) const noexcept {
        if (waiting_ == 0 || from >= entries_.size()) return std::nullopt;
        const std::int64_t highest = key_of(limit);
        // Up from the leaf until a tree to the right holds one, then down to its first.
        std::size_t at = leaves_ + from;
        while (least_[at] > highest) {
            while ((at & 1U) == 1) at >>= 1U; // the last of its parent: go on with what follows that
            if (at == 0) return std::nullopt;
            ++at;
        }
        while (at < leaves_) {
            at *= 2;
            if (least_[at] > highest) ++at;
        }
        return at - leaves_;
    }
    [[nodiscard]] const entry& at(std::size_t position) const noexcept { return entries_[position]; }

private:
    static constexpr std::int64_t absent = std::numeric_limits<std::int64_t>::max();

    /// A job that never ends waits too.
    [[nodiscard]] static std::int64_t key_of(ticks estimate) noexcept {
        return estimate.count() == absent ? absent - 1 : estimate.count();
    }
    void set(std::size_t position, std::int64_t key) noexcept {
        std::size_t at = leaves_ + position;
        least_[at] = key;
        for (at /= 2; at > 0; at /= 2) {
            const std::int64_t less = least_[2 * at] < least_[2 * at + 1] ? least_[2 * at] : least_[2 * at + 1];
            if (least_[at] == less) return;
            least_[at] = less;
        }
    }
    void widen() {
        const std::vector<std::int64_t> before = std::move(least_);
        const std::size_t size = leaves_;
        leaves_ = size == 0 ? 16 : 2 * size;
        least_.assign(2 * leaves_, absent);
        for (std::size_t i = 0; i < size; ++i) least_[leaves_ + i] = before[size + i];
        for (std::size_t at = leaves_; --at > 0;) {
            least_[at] = least_[2 * at] < least_[2 * at + 1] ? least_[2 * at] : least_[2 * at + 1];
        }
    }

    std::vector<entry> entries_;
    std::vector<std::int64_t> least_; ///< a binary tree of minima, its root at 1 and its leaves from leaves_ on
    std::size_t leaves_ = 0;
    std::size_t waiting_ = 0;
};

} // namespace vgpusim
