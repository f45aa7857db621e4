// Rearranging the instances of one MIG GPU so that one more fits: with the fewest moves, exactly, or the word that none
// do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/plan/gpu_layouts.hpp"
#include "vgpualloc/plan/mig_transition.hpp"

namespace vgpualloc::plan {

/// An instance that a pod has.
struct held_instance {
    std::size_t place = 0; ///< of gpu_layouts::places
    bool may_move = true;
    std::int64_t weight = 0; ///< what moving it once weighs beside being a move: memory units, for one

    bool operator==(const held_instance&) const = default;
};

/// One pod's instance changes its place. With both places it is one move, and its two instances exist at the same time
/// while the pod is copied; with `from` alone the pod stops and waits on the host, with `to` alone one that waits goes
/// on.
struct instance_move {
    std::size_t instance = 0; ///< position in the list that was handed in
    std::optional<std::size_t> from;
    std::optional<std::size_t> to;

    bool operator==(const instance_move&) const = default;
};

struct device_repack {
    std::vector<instance_move> steps; ///< in the order in which they can be carried out
    std::int64_t moves = 0;           ///< a pod that goes through a spare place is moved twice
    std::int64_t weight = 0;          ///< of all moves
    std::size_t place = 0;            ///< of the instance that was wanted
    mig_places layout = 0;            ///< afterwards, with it

    bool operator==(const device_repack&) const = default;
};

struct repack_options {
    std::int64_t moves_max = 3; ///< 0 to 16; each one more takes about ten times as long
    /// Whether pods may wait on the host while others take their places. Then every pod is moved at most once and any
    /// arrangement can be reached; without it a cycle needs a spare place.
    bool may_wait = false;

    bool operator==(const repack_options&) const = default;
};

/// The arrangement that admits an instance of `profile` with the fewest moves, among those the smallest weight of
/// moves, then the one that leaves the most further places, then the layout that is the lowest number; or none if there
/// is none with so few moves. Where pods may wait, one does only when no other step is possible. Errors: mismatch, if
/// the instances cannot exist together; out_of_range for a place, a profile, a negative weight or moves_max.
[[nodiscard]] expected<std::optional<device_repack>> repack_device(const gpu_layouts& states,
                                                                   const std::vector<held_instance>& instances,
                                                                   std::size_t profile,
                                                                   const repack_options& options = {});

/// Every instance of a set, by ascending place, free to move and weighing its memory units.
[[nodiscard]] std::vector<held_instance> held_by(const gpu_layouts& states, mig_places layout);

/// A repack of pods on a live GPU as steps that a driver can carry out: instances without a pod go where they are in
/// the way of one that is created, those that overlap it first; instances that pods have left stay until then.
/// `instances` are what the repack was asked with, and what `live.busy` has.
[[nodiscard]] mig_transition steps_of(const mig_transitions& costs, const mig_live_state& live,
                                      const std::vector<held_instance>& instances, const device_repack& repack);

} // namespace vgpualloc::plan
