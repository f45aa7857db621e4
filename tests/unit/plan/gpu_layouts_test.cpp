// Legal instance sets by number, against the catalog's own rules.
#include "vgpualloc/plan/gpu_layouts.hpp"

#include <bit>

#include <gtest/gtest.h>

#include "brute_force.hpp"

namespace vgpualloc {
namespace {

using plan::gpu_layouts;
using test::legal_sets;
using test::model;

TEST(gpu_layouts, are_as_many_as_the_catalog_enumerates) {
    for (const auto& [name, sets, multisets] :
         {std::tuple{"A100-40GB", 2319U, 128U}, std::tuple{"H100-80GB", 2319U, 128U}, std::tuple{"A30-24GB", 76U, 20U},
          std::tuple{"RTX-PRO-6000-96GB", 717U, 115U}}) {
        const auto states = gpu_layouts::make(model(name));
        ASSERT_TRUE(states.has_value());
        EXPECT_EQ(states->size(), sets) << name;
        EXPECT_EQ(states->multisets(), multisets) << name;
    }
}

TEST(gpu_layouts, what_may_join_is_what_the_catalog_says) {
    for (const char* name : {"A30-24GB", "A100-40GB", "RTX-PRO-6000-96GB"}) {
        const mig_model& gpu = model(name);
        const auto states = gpu_layouts::make(gpu).value();
        const legal_sets sets{gpu};
        ASSERT_EQ(states.size(), sets.all().size());
        std::size_t number = 0;
        for (const std::uint64_t set : sets.all()) { // ascending, as the numbers are
            ASSERT_EQ(states.layout(number), set);
            ASSERT_EQ(states.find(set), number);
            for (std::size_t place = 0; place < sets.places(); ++place) {
                const bool joins = !legal_sets::has(set, place) && sets.contain(legal_sets::with(set, place));
                ASSERT_EQ(legal_sets::has(states.joinable(number), place), joins);
            }
            std::int64_t instances = 0;
            for (const std::int64_t count : states.counts_of(states.multiset_of(number))) instances += count;
            ASSERT_EQ(instances, std::popcount(set));
            ASSERT_EQ(states.find_multiset(states.counts_of(states.multiset_of(number))), states.multiset_of(number));
            ++number;
        }
    }
}

TEST(gpu_layouts, slots_and_places) {
    const auto states = gpu_layouts::make(model("A100-40GB")).value();
    const std::size_t three =
        static_cast<std::size_t>(*find_profile(states.model(), "3g.20gb") - &states.model().profiles[0]);
    const auto high = states.place_of({three, mig_units{4}});
    ASSERT_TRUE(high.has_value());
    EXPECT_EQ(states.profile_of(*high), three);
    EXPECT_EQ(states.places()[*high].size, mig_units{4});
    EXPECT_EQ(std::popcount(states.places_of(three)), 2);
    EXPECT_FALSE(states.place_of({three, mig_units{2}}).has_value()) << "no start of a 3g";
    const auto low = states.place_of({three, mig_units{0}});
    const plan::mig_places both = (std::uint64_t{1} << *low) | (std::uint64_t{1} << *high);
    EXPECT_EQ(states.slots(both), (mig_layout{{three, mig_units{0}}, {three, mig_units{4}}}));
    EXPECT_FALSE(states.find(~plan::mig_places{0}).has_value());
    EXPECT_FALSE(states.find_multiset({9, 9}).has_value());
}

TEST(gpu_layouts, models_that_are_too_large_are_refused) {
    mig_model wide = model("A100-40GB");
    for (int i = 0; i < 6; ++i) wide.profiles.push_back(wide.profiles.front());
    EXPECT_EQ(gpu_layouts::make(wide).error().code, error_code::unsupported);
}

} // namespace
} // namespace vgpualloc
