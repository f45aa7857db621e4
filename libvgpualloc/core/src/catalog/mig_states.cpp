// Enumerating the states of a MIG GPU.
#include "vgpualloc/catalog/mig_states.hpp"

#include <algorithm>
#include <bit>

#include "vgpualloc/core/bits.hpp"
#include "vgpualloc/core/hash.hpp"

namespace vgpualloc {

std::optional<mig_states> mig_states::make(const mig_model& model) {
    mig_states result;
    if (!result.enumerate(model)) return std::nullopt;
    result.index_layouts();
    result.fill_rows(model);
    return result;
}

bool mig_states::enumerate(const mig_model& model) {
    places_ = slots_of(model, mig_profile_set::all);
    if (places_.size() > places_max) return false;
    for (const mig_profile& profile : model.profiles) {
        first_.push_back(first_.empty() ? 0 : first_.back());
        if (first_.size() > 1) first_.back() += (&profile - 1)->starts.size();
    }
    first_.push_back(places_.size());
    list_overlaps(model);
    const auto legal = legal_layouts(model, {.set = mig_profile_set::all, .layouts_max = no_mig_state});
    if (!legal.complete) return false;
    for (const mig_layout& instances : legal.layouts) {
        std::uint64_t layout = 0;
        for (const mig_slot& instance : instances) layout |= bit_at(place_of(instance));
        layouts_.push_back(layout);
    }
    std::ranges::sort(layouts_);
    return true;
}

void mig_states::list_overlaps(const mig_model& model) {
    std::vector<std::uint64_t> units;
    for (const mig_slot& place : places_) units.push_back(units_at(model.profiles[place.profile], place.start));
    for (std::size_t a = 0; a < places_.size(); ++a) {
        overlapping_.push_back(0);
        for (std::size_t b = 0; b < places_.size(); ++b) {
            if ((units[a] & units[b]) != 0) overlapping_[a] |= bit_at(b);
        }
    }
}

std::size_t mig_states::place_of(const mig_slot& slot) const noexcept {
    if (slot.profile >= profile_count()) return place_count();
    std::size_t place = first_[slot.profile];
    while (place < first_[slot.profile + 1] && places_[place].start != slot.start) ++place;
    return place < first_[slot.profile + 1] ? place : place_count();
}

void mig_states::index_layouts() {
    numbers_.assign(std::bit_ceil(layouts_.size() * 2), no_mig_state);
    for (std::size_t id = 0; id < layouts_.size(); ++id) {
        std::size_t at = mix64(layouts_[id]) & (numbers_.size() - 1);
        while (numbers_[at] != no_mig_state) at = (at + 1) & (numbers_.size() - 1);
        numbers_[at] = static_cast<mig_state_id>(id);
    }
}

mig_state_id mig_states::id_of(std::uint64_t layout) const noexcept {
    for (std::size_t at = mix64(layout) & (numbers_.size() - 1);; at = (at + 1) & (numbers_.size() - 1)) {
        const mig_state_id id = numbers_[at];
        if (id == no_mig_state || layouts_[id] == layout) return id;
    }
}

/// States with more instances have larger numbers, so going down every next state is filled already.
void mig_states::fill_rows(const mig_model& model) {
    next_.assign(size() * place_count(), no_mig_state);
    rows_.assign(size() * profile_count(), {});
    capability_.assign(size(), 0);
    free_units_.assign(size(), static_cast<std::int16_t>(model.units.count()));
    for (std::size_t state = size(); state-- > 0;) {
        for_each_bit(layouts_[state], [&](std::size_t taken) {
            const std::int64_t units = model.profiles[places_[taken].profile].size.count();
            free_units_[state] = static_cast<std::int16_t>(free_units_[state] - units);
        });
        for (std::size_t p = 0; p < profile_count(); ++p) {
            profile_row& row = rows_[state * profile_count() + p];
            row.best_place = static_cast<std::uint8_t>(place_count());
            for (std::size_t place = first_[p]; place < first_[p + 1]; ++place) {
                if ((layouts_[state] & bit_at(place)) != 0) continue;
                const mig_state_id after = id_of(layouts_[state] | bit_at(place));
                if (after == no_mig_state) continue;
                next_[state * place_count() + place] = after;
                row.free_places |= bit_at(place);
                ++row.starts;
                row.further = std::max(row.further, static_cast<std::uint8_t>(1 + further(after, p)));
                const bool better =
                    row.best_place == place_count() ||
                    capability_[after] > capability_[next(static_cast<mig_state_id>(state), row.best_place)];
                if (better) row.best_place = static_cast<std::uint8_t>(place);
            }
            if (contains(mig_profile_set::plain, model.profiles[p].kind)) {
                capability_[state] = static_cast<std::int16_t>(capability_[state] + row.starts);
            }
        }
    }
}

} // namespace vgpualloc
