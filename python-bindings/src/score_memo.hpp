// Scores that were computed, by what they depend on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "vgpualloc/core/hash.hpp"

namespace vgpupython {

/// What a score depends on; ids are of states that the allocator has interned.
struct score_key {
    std::uint64_t request = 0;
    std::uint64_t states = std::numeric_limits<std::uint64_t>::max(); ///< the ids before and after
    std::int64_t cpu = 0;
    std::int64_t cpu_left = 0;
    bool operator==(const score_key&) const = default;
};

/// Open addressing: a decision looks up each of its scores.
class score_memo {
public:
    /// Null: not there.
    [[nodiscard]] const double* find(const score_key& key) const {
        if (slots_.empty()) return nullptr;
        const entry& slot = slots_[slot_of(key)];
        return is_free(slot) ? nullptr : &slot.score;
    }
    void put(const score_key& key, double score) {
        if (2 * (count_ + 1) > slots_.size()) grow();
        entry& slot = slots_[slot_of(key)];
        if (is_free(slot)) ++count_;
        slot = {.key = key, .score = score};
    }
    void clear() {
        slots_.clear();
        count_ = 0;
    }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }

private:
    struct entry {
        score_key key;
        double score = 0.0;
    };
    [[nodiscard]] static bool is_free(const entry& slot) { return slot.key.states == score_key{}.states; }

    /// Where the key is or goes.
    [[nodiscard]] std::size_t slot_of(const score_key& key) const {
        const std::uint64_t hash = vgpualloc::mix64(
            key.request * 0x9e3779b97f4a7c15ULL ^ key.states * 0xc2b2ae3d27d4eb4fULL ^
            static_cast<std::uint64_t>(key.cpu) * 0x165667b19e3779f9ULL ^ static_cast<std::uint64_t>(key.cpu_left));
        const std::size_t mask = slots_.size() - 1;
        std::size_t slot = hash & mask;
        while (!is_free(slots_[slot]) && slots_[slot].key != key) slot = (slot + 1) & mask;
        return slot;
    }
    void grow() {
        constexpr std::size_t first_size = 256;
        const auto before = std::exchange(slots_, std::vector<entry>(slots_.empty() ? first_size : 2 * slots_.size()));
        for (const entry& old : before) {
            if (!is_free(old)) slots_[slot_of(old.key)] = old;
        }
    }

    std::vector<entry> slots_; ///< a power of two, at most half full
    std::size_t count_ = 0;
};

} // namespace vgpupython
