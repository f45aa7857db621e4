// Which of many kept things was not used for longest, at the price of one store per use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vgpualloc {

/// What an item of a use_list derives from.
template <class T>
struct use_links {
    std::uint64_t last_use = 0;
    std::uint64_t listed_at = 0;
    T* newer = nullptr;
    T* older = nullptr;
};

/// A list with second chances: items stand in the order in which they were listed, and one that was used since then is
/// listed anew when its turn to go comes. Finding a victim costs O(1) on average.
template <class T>
class use_list {
public:
    void link(T& item, std::uint64_t now) noexcept {
        item.older = newest_;
        item.newer = nullptr;
        item.listed_at = now;
        if (newest_ != nullptr) newest_->newer = &item;
        newest_ = &item;
        if (oldest_ == nullptr) oldest_ = &item;
        ++size_;
    }
    void unlink(T& item) noexcept {
        (item.newer != nullptr ? item.newer->older : newest_) = item.older;
        (item.older != nullptr ? item.older->newer : oldest_) = item.newer;
        item.newer = nullptr;
        item.older = nullptr;
        --size_;
    }
    /// The item to drop next; null if all are in use at `now`.
    [[nodiscard]] T* victim(std::uint64_t now) noexcept {
        for (std::size_t looked = 0; looked <= 2 * size_ && oldest_ != nullptr; ++looked) {
            T& candidate = *oldest_;
            const bool in_use = candidate.last_use == now;
            if (!in_use && candidate.last_use <= candidate.listed_at) return &candidate;
            unlink(candidate);
            link(candidate, in_use ? now : candidate.last_use);
        }
        return nullptr;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    T* newest_ = nullptr;
    T* oldest_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace vgpualloc
