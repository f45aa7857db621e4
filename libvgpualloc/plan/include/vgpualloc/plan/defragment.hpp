// Defragmentation across GPUs and nodes: which running pods go elsewhere so that a blocked one fits, or so that devices
// become empty.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/plan/move_plan.hpp"

namespace vgpualloc::plan {

/// A live pod that may move, and what it asked for: it may take whatever its request allows elsewhere, but for parts
/// that fall shorter of the request (sharing_mode::compromise) than what it has.
struct movable_pod {
    pod_id pod;
    const pod_request* request = nullptr; ///< not null; equal requests may share an object
};

/// What a move is taken to cost. Both figures are assumptions, measured nowhere: a container that starts again within
/// five seconds, and device memory that is copied over a network of 20 Gbit/s.
struct move_costs {
    ticks downtime_per_move{5'000'000};
    ticks copy_per_mib{400};
};

struct move_budget {
    std::int64_t moves_max = 3;
    ticks downtime_max = ticks::max(); ///< the sum over devices of the time that their pods are down
    /// What a search may do, counted in questions to devices and in steps of its walk, so that its outcome does not
    /// depend on how fast a machine is.
    std::int64_t steps_max = 400'000;
    stop_signal stop{}; ///< once it is raised, a search ends as at its last step
};

/// What a plan costs. A pod is down while it is copied and while it starts again, and each device of which it has a
/// part counts that time: two devices for one second are two device-seconds.
struct plan_cost {
    ticks copy;     ///< the time for which something is copied, if moves follow each other
    ticks downtime; ///< device-time

    bool operator==(const plan_cost&) const = default;
};

/// The cost of moving one pod that has that place: it copies what its parts hold, wherever it goes.
[[nodiscard]] plan_cost cost_of_move(const cluster& nodes, const placement& from, const move_costs& costs);
[[nodiscard]] plan_cost cost_of_moves(const cluster& nodes, const move_plan& planned, const move_costs& costs);

struct found_room {
    move_plan planned;
    plan_cost cost;
    /// Whether no plan has fewer moves; false where the search for those came to its limit, or was not made because
    /// it would be of more than exact_moves_max moves.
    bool fewest_moves = false;
    std::int64_t steps = 0; ///< of the search

    bool operator==(const found_room&) const = default;
};

/// Plans of at most so many moves are searched for exhaustively, with pods that make room for pods that make room;
/// beyond that, all pods that leave go directly to places that are free.
inline constexpr std::int64_t exact_moves_max = 3;

enum class no_room_reason : std::uint8_t {
    none_within_moves, ///< proved: there is no plan with so many moves
    over_downtime,     ///< proved as well: with so many moves all plans cost more downtime than is allowed
    not_found,         ///< more moves are allowed than are searched for exhaustively, and nothing was found
    step_limit,        ///< the search came to its limit
};

/// "none_within_moves", …
[[nodiscard]] std::string_view to_string(no_room_reason reason) noexcept;

/// Why there is no plan.
struct no_room {
    no_room_reason reason = no_room_reason::none_within_moves;
    std::int64_t moves_ruled_out = 0; ///< there is provably no plan with so many moves or fewer
    std::int64_t steps = 0;

    bool operator==(const no_room&) const = default;
};

/// The moves after which `blocked` fits: as few as possible, and of those the ones with the least downtime that the
/// search meets. Nothing is moved if it fits as it is. Where fewer moves are possible only through a search beyond
/// move_budget::steps_max, the plan says so (found_room::fewest_moves).
///
/// A pod has its old place and the new one while it is copied, with all that it asks of the host, so a move needs both
/// to be free. Host rules, CPU, memory and the limit of pods count, and devices that are not in service, or that hold
/// more than they have, take and give nothing. Pods that are not committed or that are not among `movable` stay.
/// The sharing mode decides which devices are suitable, so every mode is planned for alike. An amount that
/// depends on the node (device_request::memory_of_first) is that of the first device of the family.
///
/// Of several destinations a pod gets the device that it leaves least room on. Requests pass check_request(). The
/// ledger outlives nothing of the answer.
[[nodiscard]] expected<found_room, no_room> find_room(const ledger& book, const pod_request& blocked,
                                                      std::span<const movable_pod> movable,
                                                      const move_budget& budget = {}, const move_costs& costs = {});

/// What consolidate() empties: devices, or all devices of a node at once.
enum class emptied_unit : std::uint8_t { device, node };

/// What says that fewer units cannot be left in use.
enum class units_bound : std::uint8_t {
    amounts, ///< the sums of what pods ask for, and the units with pods that stay
    lp,      ///< a linear program (consolidation_bound.hpp), which says more
};

/// "amounts", "lp"
[[nodiscard]] std::string_view to_string(units_bound bound) noexcept;

struct consolidation {
    move_plan planned; ///< `where` is empty: no pod waits
    plan_cost cost;
    std::int64_t used = 0;     ///< devices, or nodes, that had pods with devices
    std::int64_t used_min = 0; ///< no moves leave fewer in use
    units_bound used_min_by = units_bound::amounts;
    std::int64_t emptied = 0; ///< of these, those that have none after the moves
    std::int64_t steps = 0;
    bool step_limit = false; ///< more might have been found

    bool operator==(const consolidation&) const = default;
};

/// Moves that empty as many devices (or nodes) as the budget allows: pods of a unit go to other units that are in use
/// already, matched by min-cost flow. A device's pods go to devices in use; a node's also to idle devices of nodes in
/// use. Units are emptied greedily, in passes until nothing more is, those with the fewest pods or those with the least
/// in use first, whichever empties more; a pod moves once.
///
/// Where that leaves more than used_min, all pods that may move are packed anew by first fit decreasing, in many
/// orders, into units in use and into idle nodes that have more devices, and as few units as possible are packed anew
/// for what the best of them needs. If moves within the budget lead there and more is emptied, that is the plan. Its
/// pods go through spare places, also on idle nodes, where they stand in each other's way: at most three, and one that
/// had arrived comes back after each. More may be possible.
///
/// `used_min_by_lp`, if any, is asked only where the bound by amounts is not reached: what least_units_by_lp() says of
/// the same pods and units, 0 where that is not known.
[[nodiscard]] consolidation consolidate(const ledger& book, std::span<const movable_pod> movable, emptied_unit unit,
                                        const move_budget& budget = {}, const move_costs& costs = {},
                                        const std::function<std::int64_t()>& used_min_by_lp = {});

/// Carries out the moves one after the other on the ledger, each as a reservation of the new place beside the old one,
/// the release of the old one, and the booking of the pod at the new place; at the end `blocked`, if any, is reserved
/// at move_plan::where. Then `look`, if any, sees the ledger. Everything is undone at the end (model/trial.hpp).
/// `spare` is a pod that is not live and stands for the copy. What could not be booked is refused with the ledger's
/// reason. This is what a plan has to pass.
[[nodiscard]] ledger::result try_moves(ledger& book, const move_plan& planned, const booking* blocked, pod_id spare,
                                       const std::function<void(const ledger&)>& look = {});

} // namespace vgpualloc::plan
