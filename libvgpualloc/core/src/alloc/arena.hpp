// Room for many small things that go all at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace vgpualloc {

/// Gives out room in blocks that stay where they are. rewind() takes all of it back and keeps the blocks, so that what
/// is filled and emptied over and over again takes its memory from the system once.
template <class T, std::size_t block_size>
class arena {
    static_assert(std::is_trivially_destructible_v<T>, "what is in the arena goes without being told");

public:
    /// `count` neighbours, with whatever was there before. Valid until rewind().
    [[nodiscard]] T* room_for(std::size_t count) {
        while (block_ < blocks_.size() && fill_ + count > blocks_[block_].size) {
            ++block_;
            fill_ = 0;
        }
        if (block_ == blocks_.size()) {
            const std::size_t size = std::max(count, block_size);
            blocks_.push_back({.items = std::make_unique<T[]>(size), .size = size});
        }
        T* const room = blocks_[block_].items.get() + fill_;
        fill_ += count;
        return room;
    }
    void rewind() noexcept {
        block_ = 0;
        fill_ = 0;
    }

private:
    struct block {
        std::unique_ptr<T[]> items;
        std::size_t size = 0;
    };
    std::vector<block> blocks_;
    std::size_t block_ = 0; ///< the one being filled
    std::size_t fill_ = 0;
};

} // namespace vgpualloc
