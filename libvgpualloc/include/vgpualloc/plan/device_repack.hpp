// Rearranging the instances of one MIG GPU so that one more fits: with the fewest moves, exactly, or the word that none
// do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/plan/mig_states.hpp"

namespace vgpualloc::plan {

/// An instance that a pod has.
struct held_instance {
    std::size_t place = 0; ///< of mig_states::places
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
[[nodiscard]] expected<std::optional<device_repack>> repack_device(const mig_states& states,
                                                                   const std::vector<held_instance>& instances,
                                                                   std::size_t profile,
                                                                   const repack_options& options = {});

/// Every instance of a set, by ascending place, free to move and weighing its memory units.
[[nodiscard]] std::vector<held_instance> held_by(const mig_states& states, mig_places layout);

/// A layout that a GPU can come to: the instances that it has, rearranged, and one of a wanted profile.
struct repack_target {
    mig_places layout = 0; ///< with the wanted instance
    std::size_t place = 0; ///< of the wanted instance
    std::int64_t moves = 0;
    std::int64_t units = 0; ///< memory units moved

    bool operator==(const repack_target&) const = default;
};

/// All of them for every layout and profile, where every instance may move and weighs its memory units: found when they
/// are first asked for and kept. Not for two threads at once. The states have to outlive it.
class repack_table {
public:
    explicit repack_table(const mig_states& states, const repack_options& options = {});

    /// The layouts that `layout` can come to with one more of `profile` in at most moves_max moves, each with the
    /// fewest moves and then the fewest units, ordered by moves, units, layout. Empty if there is none. `layout` is
    /// legal.
    [[nodiscard]] const std::vector<repack_target>& targets(mig_places layout, std::size_t profile);

    /// How `layout` comes to one of its targets. Instances are numbered as in held_by().
    [[nodiscard]] device_repack steps_to(mig_places layout, const repack_target& target);

private:
    /// A set of places that a layout's instances can have, and the last move to it.
    struct arrangement {
        std::size_t state = 0;
        std::int64_t moves = 0;
        std::int64_t units = 0;
        std::size_t before = 0; ///< position of the arrangement that it is made of
        std::size_t from = 0;
        std::size_t to = 0;
    };
    using arrangements = std::vector<arrangement>; ///< the layout itself first

    [[nodiscard]] const arrangements& arrangements_of(std::size_t state);
    [[nodiscard]] arrangements find_arrangements(std::size_t state) const;
    void add_reached(std::vector<repack_target>& found, mig_places layout, std::size_t profile);
    void add_any(std::vector<repack_target>& found, mig_places layout, std::size_t profile) const;

    const mig_states* states_;
    repack_options options_;
    std::map<std::size_t, arrangements> arrangements_;                                 ///< by state
    std::map<std::pair<mig_places, std::size_t>, std::vector<repack_target>> targets_; ///< by layout and profile
};

} // namespace vgpualloc::plan
