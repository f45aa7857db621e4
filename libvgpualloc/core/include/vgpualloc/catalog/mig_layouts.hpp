// What a GPU can be cut into: legal sets of instances, and those that nothing can be added to.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpualloc/catalog/mig.hpp"

namespace vgpualloc {

/// An instance as a place on the grid.
struct mig_slot {
    std::size_t profile = 0; ///< position in mig_model::profiles
    mig_units start;

    bool operator==(const mig_slot&) const = default;
};

/// Instances on one GPU, by ascending start.
using mig_layout = std::vector<mig_slot>;

/// The units that an instance takes, a bit each.
[[nodiscard]] std::uint64_t units_at(const mig_profile& profile, mig_units start) noexcept;

/// Which profiles an enumeration draws from.
enum class mig_profile_set {
    core,  ///< kind core
    plain, ///< core and double_memory
    all,
};
[[nodiscard]] bool contains(mig_profile_set set, mig_profile_kind kind) noexcept;

/// Every place of the profiles in `set`, by profile and then start.
[[nodiscard]] std::vector<mig_slot> slots_of(const mig_model& model, mig_profile_set set);

/// Whether `slot` may join a legal `layout`: a start that the profile has, units that are free, and compute slices,
/// instances of the profile and engines within what the GPU has. A count of engines that is unknown does not bind.
[[nodiscard]] bool may_join(const mig_model& model, const mig_layout& layout, const mig_slot& slot);

/// Whether all of `layout` may exist at once; the order of its instances does not matter.
[[nodiscard]] bool is_legal(const mig_model& model, const mig_layout& layout);

struct mig_enumeration_options {
    mig_profile_set set = mig_profile_set::core;
    /// Legal layouts looked at before giving up. Today's largest model has 2,319; a file can name a grid with 2^64.
    std::int64_t layouts_max = 100'000;
};

struct mig_enumeration {
    std::vector<mig_layout> layouts;
    bool complete = true; ///< false if layouts_max ended it, so that layouts are missing
};

/// Every legal layout, the empty one first.
[[nodiscard]] mig_enumeration legal_layouts(const mig_model& model, const mig_enumeration_options& options = {});

/// The legal layouts to which no instance of the set can be added.
[[nodiscard]] mig_enumeration maximal_layouts(const mig_model& model, const mig_enumeration_options& options = {});

struct mig_layout_counts {
    std::int64_t legal = 0; ///< with the empty one
    std::int64_t maximal = 0;
    bool complete = true; ///< false if layouts_max ended it, so that there are more
};

/// How many there are, without keeping them.
[[nodiscard]] mig_layout_counts count_layouts(const mig_model& model, const mig_enumeration_options& options = {});

} // namespace vgpualloc
