// Hash-consing: equal device states and equal multisets of them get one object and one id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "alloc/arena.hpp"
#include "model/id_set.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/view.hpp"

namespace vgpualloc {

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
