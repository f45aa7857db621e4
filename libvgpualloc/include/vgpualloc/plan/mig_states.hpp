// The legal instance sets of a MIG model, numbered: the vertices of its graph, and what may join each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/catalog/mig_layouts.hpp"
#include "vgpualloc/core/expected.hpp"

namespace vgpualloc::plan {

/// Places of a model as bits: place i is slots_of(model, all)[i], profiles in the model's order and starts ascending.
/// It is how mode mig writes device_state::layout, so a device's layout can be handed in as it is.
using mig_places = std::uint64_t;

/// Where an instance of one profile may be, and the units that it takes from its start on.
struct mig_place {
    mig_slot slot;
    mig_units size;
};

/// All legal sets of instances of one model. A set is a mig_places; its number is its rank among them, ascending, so
/// the empty GPU is number 0. What is legal stays legal when an instance goes.
class mig_states {
public:
    static constexpr std::size_t places_max = 64;

    /// Errors: unsupported, if the model has more than places_max places or more than `states_max` legal sets (today's
    /// largest has 2,319).
    [[nodiscard]] static expected<mig_states> make(const mig_model& model, std::int64_t states_max = 100'000);

    [[nodiscard]] const mig_model& model() const noexcept { return model_; }
    [[nodiscard]] const std::vector<mig_place>& places() const noexcept { return places_; }
    [[nodiscard]] mig_places places_of(std::size_t profile) const noexcept { return of_profile_[profile]; }
    [[nodiscard]] std::size_t profile_of(std::size_t place) const noexcept { return places_[place].slot.profile; }

    [[nodiscard]] std::size_t size() const noexcept { return layouts_.size(); }
    [[nodiscard]] mig_places layout(std::size_t state) const noexcept { return layouts_[state]; }
    /// The number of a set, or none if it is not legal.
    [[nodiscard]] std::optional<std::size_t> find(mig_places layout) const noexcept;
    /// The places that an instance may be added at, in a legal set of this number.
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
    mig_model model_;
    std::vector<mig_place> places_;
    std::vector<mig_places> of_profile_; ///< by profile
    std::vector<mig_places> layouts_;    ///< ascending
    std::vector<mig_places> joinable_;
    std::vector<std::size_t> multiset_of_;
    std::vector<std::vector<std::int64_t>> counts_; ///< by multiset, ascending
};

} // namespace vgpualloc::plan
