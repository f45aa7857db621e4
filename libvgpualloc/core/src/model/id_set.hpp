// Numbers of things that differ, found again by a hash of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "vgpualloc/model/view.hpp"

namespace vgpualloc {

/// Open-addressing set of dense ids, compared by the caller. Keeps 32 bits of each hash beside the id.
class id_set {
public:
    /// The id for which `equal(id)` holds among those inserted under `hash`, or the id that `make()` gives, inserted.
    template <class Equal, class Make>
    std::uint32_t find_or_insert(std::uint64_t hash, Equal&& equal, Make&& make) {
        if ((used_ + 1) * 2 > slots_.size()) grow();
        const auto tag = static_cast<std::uint32_t>(hash >> 32);
        for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
            slot& here = slots_[i];
            if (here.id == not_interned) {
                here = {.tag = tag, .low = static_cast<std::uint32_t>(hash), .id = make()};
                ++used_;
                return here.id;
            }
            if (here.tag == tag && equal(here.id)) return here.id;
        }
    }
    /// Keeps its room.
    void clear() noexcept {
        std::ranges::fill(slots_, slot{});
        used_ = 0;
    }

private:
    struct slot {
        std::uint32_t tag = 0;
        std::uint32_t low = 0;
        std::uint32_t id = not_interned;
    };
    void grow() {
        std::vector<slot> wider(slots_.empty() ? 64 : slots_.size() * 2);
        mask_ = wider.size() - 1;
        for (const slot& old : slots_) {
            if (old.id == not_interned) continue;
            std::size_t i = old.low & mask_;
            while (wider[i].id != not_interned) i = (i + 1) & mask_;
            wider[i] = old;
        }
        slots_ = std::move(wider);
    }

    std::vector<slot> slots_;
    std::size_t used_ = 0;
    std::size_t mask_ = 0;
};

} // namespace vgpualloc
