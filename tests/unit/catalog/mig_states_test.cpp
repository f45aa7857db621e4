// The tables over all states of a MIG GPU against the rules that they are made from, state by state.
#include "vgpualloc/catalog/mig_states.hpp"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "models.hpp"

namespace vgpualloc {
namespace {

using test::model;

class mig_states_of : public testing::TestWithParam<const char*> {};

mig_layout layout_at(const mig_states& states, std::uint64_t layout) {
    mig_layout result;
    for (std::size_t place = 0; place < states.place_count(); ++place) {
        if ((layout >> place & 1U) != 0) result.push_back(states.place(place));
    }
    return result;
}

/// Free starts of the profiles that requests by memory get, by the rules alone.
std::int64_t capability_by_trying(const mig_model& of, const mig_layout& layout) {
    const auto slots = slots_of(of, mig_profile_set::plain);
    return std::ranges::count_if(slots, [&](const mig_slot& slot) { return may_join(of, layout, slot); });
}

std::int64_t further_by_trying(const mig_model& of, const mig_layout& layout, std::size_t profile) {
    std::int64_t most = 0;
    for (const mig_units start : of.profiles[profile].starts) {
        const mig_slot slot{profile, start};
        if (!may_join(of, layout, slot)) continue;
        mig_layout with = layout;
        with.push_back(slot);
        most = std::max(most, 1 + further_by_trying(of, with, profile));
    }
    return most;
}

TEST_P(mig_states_of, are_those_that_the_rules_allow) {
    const mig_model& of = model(GetParam());
    const auto states = mig_states::make(of);
    ASSERT_TRUE(states.has_value());
    EXPECT_EQ(std::ssize(legal_layouts(of, {.set = mig_profile_set::all}).layouts),
              static_cast<std::ptrdiff_t>(states->size()));
    EXPECT_EQ(states->layout_of(0), 0U);
    for (std::size_t id = 0; id < states->size(); ++id) {
        const auto state = static_cast<mig_state_id>(id);
        ASSERT_EQ(states->id_of(states->layout_of(state)), state);
        ASSERT_TRUE(is_legal(of, layout_at(*states, states->layout_of(state))));
    }
    EXPECT_EQ(states->id_of(~std::uint64_t{0}), no_mig_state);
}

/// Every state and every profile: what fits, what it becomes, and the best start, against the rules.
TEST_P(mig_states_of, know_what_fits_and_the_best_start) {
    const mig_model& of = model(GetParam());
    const auto states = mig_states::make(of);
    ASSERT_TRUE(states.has_value());
    std::map<std::uint64_t, std::int64_t> capabilities;
    for (std::size_t id = 0; id < states->size(); ++id) {
        const std::uint64_t layout = states->layout_of(static_cast<mig_state_id>(id));
        capabilities[layout] = capability_by_trying(of, layout_at(*states, layout));
    }
    for (std::size_t id = 0; id < states->size(); ++id) {
        const auto state = static_cast<mig_state_id>(id);
        const std::uint64_t layout = states->layout_of(state);
        const mig_layout instances = layout_at(*states, layout);
        std::int64_t units = of.units.count();
        for (const mig_slot& instance : instances) units -= of.profiles[instance.profile].size.count();
        ASSERT_EQ(states->free_units(state), units);
        ASSERT_EQ(states->capability(state), capabilities.at(layout));
        for (std::size_t profile = 0; profile < states->profile_count(); ++profile) {
            std::size_t best = states->place_count();
            std::int64_t starts = 0;
            for (std::size_t place = states->first_place(profile); place < states->first_place(profile + 1); ++place) {
                const std::uint64_t with = layout | std::uint64_t{1} << place;
                const bool fits = may_join(of, instances, states->place(place));
                ASSERT_EQ(states->next(state, place) != no_mig_state, fits);
                ASSERT_EQ((states->free_places(state, profile) >> place & 1U) != 0, fits);
                if (!fits) continue;
                ++starts;
                ASSERT_EQ(states->layout_of(states->next(state, place)), with);
                const bool better = best == states->place_count() ||
                                    capabilities.at(with) > capabilities.at(layout | std::uint64_t{1} << best);
                if (better) best = place;
            }
            ASSERT_EQ(states->free_starts(state, profile), starts);
            ASSERT_EQ(states->best_place(state, profile), best);
            if (instances.size() % 3 == 0) { // trying all ways takes long
                ASSERT_EQ(states->further(state, profile), further_by_trying(of, instances, profile));
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(models, mig_states_of,
                         testing::Values("A100-40GB", "H100-80GB", "A30-24GB", "RTX-PRO-6000-96GB"));

TEST(mig_states, overlaps_are_of_units) {
    const auto states = mig_states::make(model("A30-24GB"));
    ASSERT_TRUE(states.has_value());
    for (std::size_t a = 0; a < states->place_count(); ++a) {
        for (std::size_t b = 0; b < states->place_count(); ++b) {
            const auto end = [&](std::size_t place) {
                const mig_slot& slot = states->place(place);
                return slot.start.count() + model("A30-24GB").profiles[slot.profile].size.count();
            };
            const bool apart = end(a) <= states->place(b).start.count() || end(b) <= states->place(a).start.count();
            EXPECT_EQ((states->overlapping(a) >> b & 1U) != 0, !apart);
        }
    }
}

TEST(mig_states, a_model_that_is_too_large_has_none) {
    mig_model wide = model("A100-40GB");
    wide.units = mig_units{64};
    wide.compute_slices = mig_compute{64};
    wide.engines = {};
    mig_profile& smallest = wide.profiles.front();
    smallest.starts.clear();
    for (std::int64_t start = 0; start < 20; ++start) smallest.starts.emplace_back(start);
    smallest.max_instances = 64;
    EXPECT_FALSE(mig_states::make(wide).has_value()) << "2^20 sets of the smallest alone";
    smallest.starts.clear();
    for (std::int64_t start = 0; start < 64; ++start) smallest.starts.emplace_back(start);
    EXPECT_FALSE(mig_states::make(wide).has_value()) << "more places than a word has bits";
}

} // namespace
} // namespace vgpualloc
