// What plans for one MIG GPU need of its states beside the tables of the catalog: sizes of places, and which states
// have the same instances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/catalog/mig_layouts.hpp"
#include "vgpualloc/catalog/mig_states.hpp"
#include "vgpualloc/core/expected.hpp"

namespace vgpualloc::plan {

/// Places of a model as bits, numbered as in mig_states. It is how mode mig writes device_state::layout, so a device's
/// layout can be handed in as it is.
using mig_places = std::uint64_t;

/// Where an instance of one profile may be, and the units that it takes from its start on.
struct mig_place {
    mig_slot slot;
    mig_units size;
};

/// All legal sets of instances of one model, numbered as in mig_states: the vertices of the model's graph.
class gpu_layouts {
public:
    /// Error unsupported, if mig_states has no tables for the model.
    [[nodiscard]] static expected<gpu_layouts> make(const mig_model& model);

    [[nodiscard]] const mig_model& model() const noexcept { return model_; }
    [[nodiscard]] const std::vector<mig_place>& places() const noexcept { return places_; }
    [[nodiscard]] mig_places places_of(std::size_t profile) const noexcept { return of_profile_[profile]; }
    [[nodiscard]] std::size_t profile_of(std::size_t place) const noexcept { return places_[place].slot.profile; }
    /// The places that share a unit with this one, itself among them.
    [[nodiscard]] mig_places overlapping(std::size_t place) const noexcept { return states_.overlapping(place); }

    [[nodiscard]] std::size_t size() const noexcept { return states_.size(); }
    [[nodiscard]] mig_places layout(std::size_t state) const noexcept {
        return states_.layout_of(static_cast<mig_state_id>(state));
    }
    /// The number of a set, or none if it is not legal.
    [[nodiscard]] std::optional<std::size_t> find(mig_places layout) const noexcept {
        const mig_state_id state = states_.id_of(layout);
        return state == no_mig_state ? std::nullopt : std::optional<std::size_t>{state};
    }
    /// The places that an instance may be added at.
    [[nodiscard]] mig_places joinable(std::size_t state) const noexcept { return joinable_[state]; }

    /// Sets with as many instances of every profile have the same multiset number, below multisets().
    [[nodiscard]] std::size_t multiset_of(std::size_t state) const noexcept { return multiset_of_[state]; }
    [[nodiscard]] std::size_t multisets() const noexcept { return counts_.size(); }
    /// Instances by profile.
    [[nodiscard]] const std::vector<std::int64_t>& counts_of(std::size_t multiset) const noexcept {
        return counts_[multiset];
    }
    /// The multiset with these counts by profile, or none if no legal set has it.
    [[nodiscard]] std::optional<std::size_t> find_multiset(const std::vector<std::int64_t>& counts) const;

    /// The place of a slot, or none if the model has no such place.
    [[nodiscard]] std::optional<std::size_t> place_of(const mig_slot& slot) const noexcept;
    /// A set as slots, by ascending start.
    [[nodiscard]] mig_layout slots(mig_places layout) const;

private:
    gpu_layouts(const mig_model& model, mig_states states);

    mig_model model_;
    mig_states states_;
    std::vector<mig_place> places_;
    std::vector<mig_places> of_profile_; ///< by profile
    std::vector<mig_places> joinable_;   ///< by state
    std::vector<std::size_t> multiset_of_;
    std::vector<std::vector<std::int64_t>> counts_; ///< by multiset, ascending
};

} // namespace vgpualloc::plan
