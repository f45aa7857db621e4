// States by the instances that they have.
#include "vgpualloc/plan/gpu_layouts.hpp"

#include <algorithm>
#include <utility>

#include "vgpualloc/core/bits.hpp"

namespace vgpualloc::plan {

namespace {

using profile_counts = std::vector<std::int64_t>;

[[nodiscard]] std::optional<std::size_t> rank_of(const std::vector<profile_counts>& ascending,
                                                 const profile_counts& counts) {
    const auto position = std::ranges::lower_bound(ascending, counts);
    if (position == ascending.end() || *position != counts) return std::nullopt;
    return static_cast<std::size_t>(position - ascending.begin());
}

} // namespace

expected<gpu_layouts> gpu_layouts::make(const mig_model& model) {
    auto states = mig_states::make(model);
    if (states) return gpu_layouts{model, *std::move(states)};
    return unexpected(bad_value(error_code::unsupported, "starts", "",
                                "at most 64 places of all profiles, and fewer than 65,535 sets of instances")
                          .at("MIG model '" + model.name + "'"));
}

gpu_layouts::gpu_layouts(const mig_model& model, mig_states states) : model_{model}, states_{std::move(states)} {
    of_profile_.assign(model.profiles.size(), 0);
    for (std::size_t place = 0; place < states_.place_count(); ++place) {
        const mig_slot& slot = states_.place(place);
        of_profile_[slot.profile] |= bit_at(place);
        places_.push_back({.slot = slot, .size = model.profiles[slot.profile].size});
    }
    for (std::size_t state = 0; state < size(); ++state) {
        mig_places open = 0;
        for (std::size_t profile = 0; profile < model.profiles.size(); ++profile) {
            open |= states_.free_places(static_cast<mig_state_id>(state), profile);
        }
        joinable_.push_back(open);
        profile_counts counts(model.profiles.size(), 0);
        for_each_bit(layout(state), [&](std::size_t place) { ++counts[profile_of(place)]; });
        counts_.push_back(std::move(counts));
    }
    const auto by_state = counts_;
    std::ranges::sort(counts_);
    counts_.erase(std::ranges::unique(counts_).begin(), counts_.end());
    for (const auto& counts : by_state) multiset_of_.push_back(*rank_of(counts_, counts));
}

std::optional<std::size_t> gpu_layouts::find_multiset(const profile_counts& counts) const {
    return rank_of(counts_, counts);
}

std::optional<std::size_t> gpu_layouts::place_of(const mig_slot& slot) const noexcept {
    const std::size_t place = states_.place_of(slot);
    return place < places_.size() ? std::optional{place} : std::nullopt;
}

mig_layout gpu_layouts::slots(mig_places layout) const {
    mig_layout result;
    for_each_bit(layout, [&](std::size_t place) { result.push_back(places_[place].slot); });
    std::ranges::stable_sort(result, {}, &mig_slot::start);
    return result;
}

} // namespace vgpualloc::plan
