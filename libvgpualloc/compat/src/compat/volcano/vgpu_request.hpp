// What a pod asks of vGPU cards, and which cards it would have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu_cards.hpp"

namespace vgpualloc::compat::volcano::vgpu {

/// A container's request.
struct record {
    bool requests = true;   ///< false only with Q4 off: a container that asks for none keeps its place
    std::int64_t count = 0; ///< of cards; 32 bits, as the rest
    std::int64_t memory = 0;
    std::int64_t percentage = 0; ///< of the card's memory; unset_percentage = `memory` counts
    std::int64_t cores = 0;
};
inline constexpr std::int64_t unset_percentage = 101;

/// Does some regular container name the count or the memory?
[[nodiscard]] bool asks_for_vgpu(const pod& pending, const device_config& config);

/// One record per container that asks, in order.
[[nodiscard]] std::vector<record> records_of(const pod& pending, const settings& setup);

/// Memory that a record needs of a card.
[[nodiscard]] std::int64_t needed_memory(const record& wish, const card_spec& card);

/// namespace/group of the pod group that the pod belongs to, empty if to none.
[[nodiscard]] std::string pod_group_of(const pod& pending);

/// Which cards the pod's annotations permit. Refers to the pod.
class card_wishes {
public:
    card_wishes(const pod& pending, const settings& setup);

    [[nodiscard]] bool has_uuids() const noexcept { return !use_uuids_.empty() || !avoid_uuids_.empty(); }
    [[nodiscard]] bool permit_uuid(const std::string& uuid) const;
    [[nodiscard]] bool permit_type(const std::string& type) const;
    /// Does the card hold a pod of the group from which this pod keeps apart?
    [[nodiscard]] bool conflict(const pod_map& on_card) const;

    /// Upstream's text when no card of the node has a permitted uuid.
    [[nodiscard]] std::string no_uuid_error(const std::string& node_name) const;

private:
    const pod* pending_;
    bool q24_;
    std::vector<std::string_view> use_uuids_;
    std::vector<std::string_view> avoid_uuids_;
    std::string spread_group_; ///< empty = no spread
};

} // namespace vgpualloc::compat::volcano::vgpu
