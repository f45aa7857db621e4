// Legal instance sets, numbered by their words.
#include "vgpualloc/plan/mig_states.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "plan/place_bits.hpp"

namespace vgpualloc::plan {

namespace {

[[nodiscard]] error too_large(const mig_model& model, const char* what, std::string amount, std::string limit) {
    return {.code = error_code::unsupported,
            .where = "MIG model '" + model.name + "'",
            .field = what,
            .value = std::move(amount),
            .expected = "at most " + std::move(limit)};
}

[[nodiscard]] std::vector<std::int64_t> count_by_profile(const mig_states& states, mig_places layout) {
    std::vector<std::int64_t> counts(states.model().profiles.size(), 0);
    for_each_place(layout, [&](std::size_t place) { ++counts[states.profile_of(place)]; });
    return counts;
}

template <class T>
[[nodiscard]] std::optional<std::size_t> rank_of(const std::vector<T>& ascending, const T& value) {
    const auto position = std::ranges::lower_bound(ascending, value);
    if (position == ascending.end() || *position != value) return std::nullopt;
    return static_cast<std::size_t>(position - ascending.begin());
}

} // namespace

expected<mig_states> mig_states::make(const mig_model& model, std::int64_t states_max) {
    mig_states result;
    result.model_ = model;
    result.of_profile_.assign(model.profiles.size(), 0);
    const auto slots = slots_of(model, mig_profile_set::all);
    if (slots.size() > places_max) {
        return unexpected(
            too_large(model, "starts", std::to_string(slots.size()), "64 places of all profiles together"));
    }
    for (const mig_slot& slot : slots) {
        result.of_profile_[slot.profile] |= bit_at(result.places_.size());
        result.places_.push_back({.slot = slot, .size = model.profiles[slot.profile].size});
    }
    const auto legal = legal_layouts(model, {.set = mig_profile_set::all, .layouts_max = states_max});
    if (!legal.complete) {
        const std::string limit = std::to_string(states_max);
        return unexpected(too_large(model, "legal instance sets", "more than " + limit, limit));
    }
    for (const mig_layout& layout : legal.layouts) {
        mig_places bits = 0;
        for (const mig_slot& slot : layout) bits |= bit_at(result.place_of(slot).value_or(0));
        result.layouts_.push_back(bits);
    }
    std::ranges::sort(result.layouts_);
    const mig_places all = slots.size() == places_max ? ~mig_places{0} : bit_at(slots.size()) - 1;
    for (const mig_places layout : result.layouts_) {
        mig_places open = 0;
        for_each_place(all & ~layout, [&](std::size_t place) {
            if (result.find(layout | bit_at(place))) open |= bit_at(place);
        });
        result.joinable_.push_back(open);
        result.counts_.push_back(count_by_profile(result, layout));
    }
    const auto by_state = result.counts_;
    std::ranges::sort(result.counts_);
    result.counts_.erase(std::ranges::unique(result.counts_).begin(), result.counts_.end());
    for (const auto& counts : by_state) result.multiset_of_.push_back(*rank_of(result.counts_, counts));
    return result;
}

std::optional<std::size_t> mig_states::find(mig_places layout) const noexcept { return rank_of(layouts_, layout); }

std::optional<std::size_t> mig_states::find_multiset(const std::vector<std::int64_t>& counts) const {
    return rank_of(counts_, counts);
}

std::optional<std::size_t> mig_states::place_of(const mig_slot& slot) const noexcept {
    for (std::size_t i = 0; i < places_.size(); ++i) {
        if (places_[i].slot == slot) return i;
    }
    return std::nullopt;
}

mig_layout mig_states::slots(mig_places layout) const {
    mig_layout result;
    for_each_place(layout, [&](std::size_t place) { result.push_back(places_[place].slot); });
    std::ranges::stable_sort(result, {}, &mig_slot::start);
    return result;
}

} // namespace vgpualloc::plan
