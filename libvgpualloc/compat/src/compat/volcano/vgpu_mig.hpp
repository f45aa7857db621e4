// The MIG handler: which instance a request gets, how instances are named, what is in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu_cards.hpp"

namespace vgpualloc::compat::volcano::vgpu {

struct mig_pick {
    std::size_t group = 0;
    std::size_t kind = 0; ///< in the group, in the order of the configuration
    std::int64_t slot = 0;
    std::int64_t position = 0; ///< among all instances of the group
    std::int64_t memory = 0;   ///< MiB
};

/// What a request asks of an instance.
struct instance_wish {
    std::int64_t need = 0;  ///< memory in ledger units
    std::int64_t cores = 0; ///< percent of the card; only read with Q27 off
};

/// The instances that would do, upstream's choice first: group by group, the smaller kinds before the larger ones, of
/// each kind the lowest one that is free. At most `most` of them.
[[nodiscard]] std::vector<mig_pick> instances_for(const card_spec& card, const card_use& use, const instance_wish& wish,
                                                  std::size_t most, const settings& setup);

/// `uuid[group-position]`.
[[nodiscard]] std::string mig_id(const card_spec& card, const mig_pick& pick);

/// What the id handed out for `pick` stands for, as a reader of the id finds it: in the first group of that name.
[[nodiscard]] picked_mig described(const card_spec& card, const mig_pick& pick);

/// Group and position that an id names; nothing if it cannot be read.
struct mig_address {
    std::string_view group;
    std::int64_t position = 0;
};
[[nodiscard]] std::optional<mig_address> read_mig_id(std::string_view id, const settings& setup);

/// Puts the instance to use, or frees it; the memory (MiB) it stands for, 0 where the card does not know it. Nothing at
/// all if the address is of no instance (Q1d).
[[nodiscard]] std::optional<std::int64_t> use_instance(const card_spec& card, card_use& use, const mig_address& where);
[[nodiscard]] std::optional<std::int64_t> free_instance(const card_spec& card, card_use& use, const mig_address& where,
                                                        const settings& setup);

/// The same for a session's own booking, with Q1 off.
void use_slot(card_use& use, const mig_instance_kind& kind, std::int64_t slot);
void free_slot(card_use& use, const mig_instance_kind& kind, std::int64_t slot);

} // namespace vgpualloc::compat::volcano::vgpu
