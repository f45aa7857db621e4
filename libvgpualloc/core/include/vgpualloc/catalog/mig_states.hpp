// Every state that a MIG GPU can be in, as a number, with what it has room for and what each instance makes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/catalog/mig_layouts.hpp"

namespace vgpualloc {

/// The position of a state in a mig_states.
using mig_state_id = std::uint16_t;
inline constexpr mig_state_id no_mig_state = std::numeric_limits<mig_state_id>::max();

/// Tables over all legal sets of instances of one model, made once from its catalog entry. A place is a profile at one
/// of its starts; places are numbered as slots_of(model, mig_profile_set::all) lists them. A layout is a set of places,
/// one bit for each. States are numbered by ascending layout, the empty one first. Every look-up is O(1).
///
/// Sets, not masks of occupied slices: which instances may join depends on the engines that the others have (+me), too.
class mig_states {
public:
    static constexpr std::size_t places_max = 64;

    /// Empty if the model has more places than a word has bits, or more states than mig_state_id can number; today's
    /// largest has 26 and 2,319.
    [[nodiscard]] static std::optional<mig_states> make(const mig_model& model);

    [[nodiscard]] std::size_t size() const noexcept { return layouts_.size(); }
    [[nodiscard]] std::size_t place_count() const noexcept { return places_.size(); }
    [[nodiscard]] std::size_t profile_count() const noexcept { return first_.size() - 1; }
    [[nodiscard]] const mig_slot& place(std::size_t number) const noexcept { return places_[number]; }
    /// The place of a profile at one of its starts; place_count() if it has none there.
    [[nodiscard]] std::size_t place_of(const mig_slot& slot) const noexcept;
    /// The places of a profile are those from first_place(profile) up to first_place(profile + 1).
    [[nodiscard]] std::size_t first_place(std::size_t profile) const noexcept { return first_[profile]; }
    /// The places that share a unit with this one, itself among them, a bit each.
    [[nodiscard]] std::uint64_t overlapping(std::size_t place) const noexcept { return overlapping_[place]; }

    /// The state with this layout; no_mig_state if the GPU cannot be in it.
    [[nodiscard]] mig_state_id id_of(std::uint64_t layout) const noexcept;
    [[nodiscard]] std::uint64_t layout_of(mig_state_id state) const noexcept { return layouts_[state]; }

    /// The state with one more instance; no_mig_state if it does not fit.
    [[nodiscard]] mig_state_id next(mig_state_id state, std::size_t place) const noexcept {
        return next_[state * places_.size() + place];
    }
    /// The places of a profile that may be taken, a bit each.
    [[nodiscard]] std::uint64_t free_places(mig_state_id state, std::size_t profile) const noexcept {
        return rows_[state * profile_count() + profile].free_places;
    }
    /// How many instances of a profile fit beside what is there, one after the other.
    [[nodiscard]] std::int64_t further(mig_state_id state, std::size_t profile) const noexcept {
        return rows_[state * profile_count() + profile].further;
    }
    /// How many starts of a profile are free.
    [[nodiscard]] std::int64_t free_starts(mig_state_id state, std::size_t profile) const noexcept {
        return rows_[state * profile_count() + profile].starts;
    }
    /// The free starts of all profiles that requests by memory get (mig_profile_set::plain), together: the
    /// "configuration capability" of policy/mcc.hpp.
    [[nodiscard]] std::int64_t capability(mig_state_id state) const noexcept { return capability_[state]; }
    /// The free place of a profile after which capability() is largest, of equal ones the one that starts lowest;
    /// place_count() if none is free.
    [[nodiscard]] std::size_t best_place(mig_state_id state, std::size_t profile) const noexcept {
        return rows_[state * profile_count() + profile].best_place;
    }
    /// Placement units without an instance.
    [[nodiscard]] std::int64_t free_units(mig_state_id state) const noexcept { return free_units_[state]; }

private:
    struct profile_row {
        std::uint64_t free_places = 0;
        std::uint8_t starts = 0;
        std::uint8_t further = 0;
        std::uint8_t best_place = 0;
    };

    mig_states() = default;
    [[nodiscard]] bool enumerate(const mig_model& model);
    void list_overlaps(const mig_model& model);
    void index_layouts();
    void fill_rows(const mig_model& model);

    std::vector<mig_slot> places_;
    std::vector<std::size_t> first_;         ///< by profile, its first place; one more than there are profiles
    std::vector<std::uint64_t> overlapping_; ///< by place
    std::vector<std::uint64_t> layouts_;
    std::vector<mig_state_id> numbers_; ///< open addressing by layout; a power of two, at most half full
    std::vector<mig_state_id> next_;    ///< [state][place]
    std::vector<profile_row> rows_;     ///< [state][profile]
    std::vector<std::int16_t> capability_;
    std::vector<std::int16_t> free_units_;
};

} // namespace vgpualloc
