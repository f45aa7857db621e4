// Hash-consing: equal device states and equal multisets of them get one object and one id.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "alloc/arena.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/model/cluster.hpp"
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

/// The states of one cluster's devices. Pointers stay valid until clear(), which keeps all room for the states to come:
/// a table that is filled to its bound over and over again must not leave holes in the heap each time.
class state_table {
public:
    explicit state_table(const cluster& owned) : cluster_{&owned} {}

    VGA_HOT [[nodiscard]] const device_view& device(std::uint32_t kind, const device_state& state,
                                                    service_state service);
    /// What `before` becomes when it is in another state.
    VGA_HOT [[nodiscard]] const device_view& device(const device_view& before, const device_state& state) {
        return device(before.kind, state, before.service);
    }

    /// The configuration with these devices, in whatever order they are given.
    [[nodiscard]] const device_config& config(std::span<const device_view* const> devices);

    /// `config` with one of its `before` replaced by `after`.
    VGA_HOT [[nodiscard]] const device_config& replace(const device_config& config, const device_view& before,
                                                       const device_view& after);

    [[nodiscard]] std::size_t device_count() const noexcept { return devices_.size(); }
    [[nodiscard]] std::size_t config_count() const noexcept { return configs_.size(); }
    void clear();

private:
    VGA_HOT [[nodiscard]] const device_config& intern_sorted(std::span<const device_view* const> devices,
                                                             std::uint64_t hash);

    const cluster* cluster_;
    std::vector<const device_view*> devices_; ///< by id
    std::vector<const device_config*> configs_;
    id_set device_ids_;
    id_set config_ids_;
    std::vector<std::uint64_t> hashes_; ///< by configuration id
    arena<device_view, 256> device_room_;
    arena<device_config, 1024> config_room_;
    arena<const device_view*, std::size_t{1} << 14U> pointer_room_; ///< device_config::devices
    std::vector<const device_view*> sorted_;
};

} // namespace vgpualloc
