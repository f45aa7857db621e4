// The vGPU cards of one node: what the node registered and what is booked on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/compat/volcano/config.hpp"
#include "vgpualloc/compat/volcano/device.hpp"
#include "vgpualloc/compat/volcano/quirks.hpp"

namespace vgpualloc::compat::volcano::vgpu {

/// What all of this reads besides node and pod.
struct settings {
    const device_config* config = nullptr;
    const plugin_options* options = nullptr;

    [[nodiscard]] bool has(quirk which) const noexcept { return options->quirks.has(which); }
    /// The memory of a MIG instance (MiB) as the ledger counts it.
    [[nodiscard]] std::int64_t in_ledger_units(std::int64_t mebibytes) const noexcept {
        return config->gpu_memory_factor > 1 ? mebibytes / config->gpu_memory_factor : mebibytes;
    }
};

struct card_spec {
    std::int64_t index = 0; ///< position among the pieces of the registration
    std::string uuid;
    std::int64_t memory = 0;
    std::int64_t number = 0; ///< how many may share it
    std::string type;
    bool health = false;
    bool mig = false;                               ///< its own mode
    bool mps = false;                               ///< registered as such; Q30: hami-core all the same
    std::vector<mig_group> const* groups = nullptr; ///< of a card registered as MIG whose type is known
    /// By group and kind: the share of the card's compute that an instance has. Only read with Q27 off.
    std::vector<std::vector<std::int64_t>> compute;
};

struct node_spec {
    std::string name;
    bool mig = false;             ///< Q6: the mode of the last card
    std::vector<card_spec> cards; ///< by index
};

/// An instance that a bound pod has. Only with quirks off is anything read from these.
struct held_instance {
    std::int64_t group = 0;
    std::string kind;
    std::int64_t slot = 0;
    bool operator==(const held_instance&) const = default;
};

/// Selection changes these; a filter works on a copy.
struct card_use {
    std::int64_t num = 0;
    std::int64_t memory = 0;
    std::int64_t cores = 0;
    std::int64_t group = -1; ///< MIG group chosen, -1 = none
    std::vector<mig_usage> usage;
    // Only with Q1 or Q1e off, when a session's booking decides the group:
    std::int64_t settled_group = -1; ///< as the bound pods have it
    std::int64_t open_bookings = 0;  ///< the session's
    // Only read with Q1 or Q1a off, where history has given an instance out twice:
    std::vector<held_instance> held; ///< one per bound use, in the order of binding
};

struct pod_share {
    std::int64_t memory = 0;
    std::int64_t cores = 0;
    std::string pod_group; ///< namespace/group, empty = none
};
using pod_map = std::map<std::string, pod_share>; ///< by uid

struct node_ledger {
    std::shared_ptr<const node_spec> spec;
    std::vector<card_use> uses; ///< as spec->cards
    std::vector<pod_map> pods;  ///< as spec->cards
};

/// Does the MIG handler serve this card? Q6: the node's mode decides for all its cards.
[[nodiscard]] inline bool is_served_as_mig(const node_spec& node, const card_spec& card,
                                           const settings& setup) noexcept {
    return setup.has(quirk::q6) ? node.mig : card.mig;
}

/// The cores that a booking counts on a card. Q27: those asked for, beside the instance. Off: of a MIG card none, as an
/// instance has the compute that it has.
[[nodiscard]] inline std::int64_t charged_cores(const node_spec& node, const card_spec& card, std::int64_t cores,
                                                const settings& setup) noexcept {
    return !setup.has(quirk::q27) && is_served_as_mig(node, card, setup) ? 0 : cores;
}

/// Does the card's MPS server serve it? Q30: upstream knows no such mode.
[[nodiscard]] inline bool is_served_as_mps(const node_spec& node, const card_spec& card,
                                           const settings& setup) noexcept {
    return !setup.has(quirk::q30) && card.mps && !is_served_as_mig(node, card, setup);
}
inline constexpr std::int64_t mps_clients_max = 48; ///< of one GPU

/// The sharing modes' names.
inline constexpr const char* hami_core_mode = "hami-core";
inline constexpr const char* mig_mode = "mig";
inline constexpr const char* mps_mode = "mps";
[[nodiscard]] inline const char* mode_name(bool mig) noexcept { return mig ? mig_mode : hami_core_mode; }
/// What a pod that asks for the card's mode calls it.
[[nodiscard]] inline const char* mode_name(const card_spec& card, const settings& setup) noexcept {
    return card.mps && !setup.has(quirk::q30) ? mps_mode : mode_name(card.mig);
}
/// The same of the node's mode. Q6: the last card's.
[[nodiscard]] inline const char* mode_name(const node_spec& node, const settings& setup) noexcept {
    return mode_name(node.cards.back(), setup);
}

/// Is a device id of an annotation about this card? Q22: the uuid is looked for anywhere in the id, so a card whose
/// uuid is part of another's takes that one's devices as well.
[[nodiscard]] bool is_id_of(const std::string& id, const card_spec& card, const settings& setup);

/// The cards that a node registered; nothing if upstream makes no device object of them.
[[nodiscard]] std::optional<node_spec> read_registration(const node& where, const device_config& config);

} // namespace vgpualloc::compat::volcano::vgpu
