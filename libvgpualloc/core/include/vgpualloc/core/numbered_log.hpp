// A sequence that grows at its end and is cut at its front, whose elements keep their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace vgpualloc {

/// The first number from `first` on whose lowest 32 bits are these: how a number is kept where 2^32 elements are never
/// there at once.
[[nodiscard]] constexpr std::uint64_t number_of_low(std::uint64_t first, std::uint32_t low) noexcept {
    return first + static_cast<std::uint32_t>(low - static_cast<std::uint32_t>(first));
}

/// Elements are numbered from 0 in the order of push_back(). Cutting the front costs as much as is cut, on average.
template <class T>
class numbered_log {
public:
    void push_back(T item) { items_.push_back(std::move(item)); }
    void reserve(std::size_t count) { items_.reserve(count); }

    /// Drops the elements below `number`, which is at most next().
    void drop_below(std::uint64_t number) {
        if (number <= first()) return;
        gone_ = static_cast<std::size_t>(number - base_);
        if (gone_ * 2 < items_.size()) return;
        items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(gone_));
        base_ = number;
        gone_ = 0;
    }

    [[nodiscard]] std::span<const T> items() const noexcept { return {items_.data() + gone_, items_.size() - gone_}; }
    [[nodiscard]] std::uint64_t first() const noexcept { return base_ + gone_; }        ///< number of items()[0]
    [[nodiscard]] std::uint64_t next() const noexcept { return base_ + items_.size(); } ///< of what comes next
    [[nodiscard]] T& operator[](std::uint64_t number) noexcept {
        return items_[static_cast<std::size_t>(number - base_)];
    }
    [[nodiscard]] const T& operator[](std::uint64_t number) const noexcept {
        return items_[static_cast<std::size_t>(number - base_)];
    }

private:
    std::vector<T> items_;
    std::uint64_t base_ = 0; ///< number of items_[0]
    std::size_t gone_ = 0;   ///< how many at the front are dropped
};

} // namespace vgpualloc
