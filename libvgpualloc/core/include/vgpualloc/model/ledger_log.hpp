// What happens to a ledger, as values: bookings, changes of nodes, and the events that name them in order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/core/rare_list.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/peer_rules.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc {

/// One booking of one pod or claim. An owner that was rolled back or released may be booked again, under a new booking.
struct booking {
    owner_id owner;
    milli_cpu cpu{};                 ///< of a pod; a claim has none
    bytes memory{};                  ///< likewise
    placement where{};               ///< of a pod: what it has besides what its claims have
    std::vector<std::string> tags{}; ///< of pod_request::tags: what other pods may avoid
    rare_list<claim_id> claims{};    ///< of a pod: whose devices it uses too; they are live and on its node
    shared_peers peers{};            ///< of pod_request::peers
    bool operator==(const booking&) const = default;
};

/// Of a pod with such a request.
[[nodiscard]] inline booking booking_for(pod_id owner, const pod_request& request, placement where = {}) {
    return {.owner = owner,
            .cpu = request.cpu,
            .memory = request.memory,
            .where = std::move(where),
            .tags = request.tags,
            .peers = request.peers};
}

/// The place of a booking in the ledger's table. Places are used again after a checkpoint, with another generation.
struct booking_id {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    bool operator==(const booking_id&) const = default;
};

enum class ledger_event_kind : std::uint8_t {
    reserve,
    commit,
    rollback,
    release,
    adopt, ///< a reserve and commit of what runs already, whether it fits or not
    node_added,
    node_changed, ///< what a node is: its devices, capacity, labels, taints, whether it takes pods
    node_removed,
    service_changed, ///< whether one device is in service
    trial_begun,
    trial_kept,
    trial_undone,
};

/// Whether the event books what its booking says, or gives it back; the others do neither. The booking is a pod's or a
/// claim's.
[[nodiscard]] constexpr bool books(ledger_event_kind kind) noexcept {
    return kind == ledger_event_kind::reserve || kind == ledger_event_kind::adopt;
}
[[nodiscard]] constexpr bool gives_back(ledger_event_kind kind) noexcept {
    return kind == ledger_event_kind::rollback || kind == ledger_event_kind::release;
}
[[nodiscard]] constexpr bool is_of_booking(ledger_event_kind kind) noexcept { return kind <= ledger_event_kind::adopt; }
[[nodiscard]] constexpr bool is_of_node(ledger_event_kind kind) noexcept {
    return kind >= ledger_event_kind::node_added && kind <= ledger_event_kind::service_changed;
}

struct ledger_event {
    ledger_event_kind kind;
    bool undone = false; ///< a trial took it back later
    bool undoes = false; ///< it takes back an event of a trial
    /// Of a booking: its slot. Of a node: the lowest 32 bits of the change's number.
    std::uint32_t subject = 0;
    bool operator==(const ledger_event&) const = default;
};

/// One change of a node.
struct node_change {
    node_index where;
    std::optional<node> described{};       ///< of node_added and node_changed: what the node was said to be
    device_index device{};                 ///< of service_changed
    service_state service{};               ///< of service_changed
    std::vector<std::uint32_t> replaced{}; ///< bookings that name devices by indices which the change made void
};

/// A ledger's log, or an edited copy of one.
struct ledger_log {
    std::span<const ledger_event> events;
    std::span<const booking> bookings;      ///< by slot
    std::span<const node_change> changes{}; ///< the first one has number `first_change`
    std::uint64_t first_change = 0;
};

} // namespace vgpualloc
