// The devices of a group of nodes by their states: which states there are, and which node has one of a state first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "alloc/mirror.hpp"

namespace vgpualloc {

/// Follows one group of a mirror. A change of a node costs as much as devices of it changed, however many nodes share
/// their states.
class state_buckets {
public:
    /// Takes over what has changed in the group since the last call. `generation` is the mirror's id_generation().
    void follow(const node_group& group, std::uint64_t generation);

    /// Ids of the states that devices are in, each once, in no order.
    [[nodiscard]] std::span<const std::uint32_t> present() const noexcept { return present_; }
    [[nodiscard]] const device_view& device(std::uint32_t id) const noexcept { return *buckets_[id].device; }

    /// The first slot of the group with a device in that state for which `takes(slot)` holds; no_slot if there is none.
    /// Quick if the first slot is one.
    template <class Takes>
    [[nodiscard]] std::uint32_t first_slot(std::uint32_t id, Takes&& takes) {
        const std::uint32_t first = first_of(id);
        if (takes(first)) return first;
        for (std::uint32_t slot = first + 1; slot < seen_.size(); ++slot) {
            if (has(slot, id) && takes(slot)) return slot;
        }
        return no_slot;
    }

private:
    struct bucket {
        const device_view* device = nullptr;
        std::uint32_t devices = 0;        ///< how many are in this state
        std::uint32_t position = 0;       ///< in present_, while there are any
        std::vector<std::uint32_t> slots; ///< a heap, lowest first, with slots that have left
    };

    void build(const node_group& group);
    void read_slot(const node_group& group, std::uint32_t slot);
    void enter(const device_view& device, std::uint32_t slot);
    void leave(const device_view& device);
    [[nodiscard]] std::uint32_t first_of(std::uint32_t id);
    [[nodiscard]] bool has(std::uint32_t slot, std::uint32_t id) const noexcept;

    std::uint64_t generation_ = ~std::uint64_t{0};
    std::uint64_t changes_read_ = 0;
    std::vector<const device_config*> seen_; ///< by slot
    std::vector<bucket> buckets_;            ///< by device id
    std::vector<std::uint32_t> present_;
};

} // namespace vgpualloc
