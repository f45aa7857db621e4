// Legal and maximal layouts: counts known from the literature and by hand, and every limit that binds.
#include "vgpualloc/catalog/mig_layouts.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "example.hpp"
#include "models.hpp"
#include "requirements.hpp"

namespace vgpualloc {
namespace {

using test::covers;
using test::model;

mig_slot slot(const mig_model& of, std::string_view profile, std::int64_t start) {
    const mig_profile* known = *find_profile(of, profile);
    return {static_cast<std::size_t>(known - of.profiles.data()), mig_units{start}};
}

/// A profile of `size` units and as many compute slices, with instances side by side from unit 0.
mig_profile sized(std::string name, std::int64_t size, std::int64_t instances) {
    mig_profile result;
    result.name = std::move(name);
    result.compute_slices = mig_compute{size};
    result.size = mig_units{size};
    result.max_instances = instances;
    for (std::int64_t i = 0; i < instances; ++i) result.starts.emplace_back(i * size);
    return result;
}

struct counts {
    std::size_t legal;
    std::size_t maximal;
    bool operator==(const counts&) const = default;
};

counts count(const mig_model& of, mig_profile_set set) {
    const auto legal = legal_layouts(of, {.set = set});
    const auto maximal = maximal_layouts(of, {.set = set});
    const auto counted = count_layouts(of, {.set = set});
    EXPECT_TRUE(legal.complete && maximal.complete && counted.complete);
    EXPECT_EQ(counted.legal, std::ssize(legal.layouts));
    EXPECT_EQ(counted.maximal, std::ssize(maximal.layouts));
    return {legal.layouts.size(), maximal.layouts.size()};
}

TEST(mig_layouts, an_a100_has_19_maximal_ones) {
    covers({"R052"});
    // Left half 27 states (5x5 pairs, 3g, 4g), right half 11 (5x2, 3g), and 7g: 27*11+1 and 6*3+1.
    EXPECT_EQ(count(model("A100-40GB"), mig_profile_set::core), (counts{298, 19}));
    EXPECT_EQ(count(model("A100-40GB"), mig_profile_set::plain), (counts{723, 78}));
    EXPECT_EQ(count(model("A100-40GB"), mig_profile_set::all), (counts{2319, 239}));
}

TEST(mig_layouts, other_grids) {
    EXPECT_EQ(count(model("A30-24GB"), mig_profile_set::core), (counts{26, 5}));
    EXPECT_EQ(count(model("A30-24GB"), mig_profile_set::all), (counts{76, 17}));
    EXPECT_EQ(count(model("RTX-PRO-6000-96GB"), mig_profile_set::core), (counts{26, 5}));
    EXPECT_EQ(count(model("RTX-PRO-6000-96GB"), mig_profile_set::all), (counts{717, 302}));
    // Two halves, each empty or a 1g, and the 2g; of all kinds as far as engines and counts of instances go.
    EXPECT_EQ(count(model("RTX-PRO-5000-48GB"), mig_profile_set::core), (counts{5, 2}));
    EXPECT_EQ(count(model("RTX-PRO-4500-32GB"), mig_profile_set::core), (counts{5, 2}));
    // 1g with 2g, each there or not, and the 3g; of all kinds three 1g, two 2g and two 3g: 4 * 3 + 2.
    EXPECT_EQ(count(model("THOR-IGPU"), mig_profile_set::core), (counts{5, 2}));
    EXPECT_EQ(count(model("THOR-IGPU"), mig_profile_set::all), (counts{14, 8}));
}

TEST(mig_layouts, each_is_legal_distinct_and_in_order) {
    const mig_model& a100 = model("A100-40GB");
    const auto layouts = legal_layouts(a100, {.set = mig_profile_set::all}).layouts;
    EXPECT_TRUE(layouts.front().empty());
    for (std::size_t i = 0; i < layouts.size(); ++i) {
        EXPECT_TRUE(is_legal(a100, layouts[i]));
        EXPECT_TRUE(std::ranges::is_sorted(layouts[i], {}, &mig_slot::start));
        for (std::size_t j = 0; j < i; ++j) ASSERT_NE(layouts[i], layouts[j]);
    }
    const auto slots = slots_of(a100, mig_profile_set::core);
    for (const mig_layout& layout : maximal_layouts(a100).layouts) {
        for (const mig_slot& other : slots) EXPECT_FALSE(may_join(a100, layout, other));
    }
}

TEST(mig_layouts, starts_matter) {
    // The placements left after one instance (core profiles; an empty GPU has 14).
    const mig_model& a100 = model("A100-40GB");
    const auto left = [&a100](std::string_view profile, std::int64_t start) {
        const auto slots = slots_of(a100, mig_profile_set::core);
        const mig_layout taken{slot(a100, profile, start)};
        return std::ranges::count_if(slots, [&](const mig_slot& slot) { return may_join(a100, taken, slot); });
    };
    EXPECT_EQ(slots_of(a100, mig_profile_set::core).size(), 14U);
    EXPECT_EQ(left("1g.5gb", 0), 9);
    EXPECT_EQ(left("1g.5gb", 5), 10);
    EXPECT_EQ(left("1g.5gb", 6), 11);
    EXPECT_EQ(left("2g.10gb", 0), 8);
    EXPECT_EQ(left("2g.10gb", 4), 9);
    EXPECT_EQ(left("3g.20gb", 0), 5);
    EXPECT_EQ(left("3g.20gb", 4), 8);
    EXPECT_EQ(left("4g.20gb", 0), 5);
}

TEST(may_join, minds_starts_and_overlap) {
    const mig_model& a100 = model("A100-40GB");
    EXPECT_TRUE(may_join(a100, {slot(a100, "4g.20gb", 0)}, slot(a100, "3g.20gb", 4)));
    EXPECT_FALSE(may_join(a100, {slot(a100, "4g.20gb", 0)}, slot(a100, "3g.20gb", 0)));
    EXPECT_FALSE(may_join(a100, {slot(a100, "7g.40gb", 0)}, slot(a100, "1g.5gb", 6)));
    EXPECT_FALSE(may_join(a100, {}, slot(a100, "2g.10gb", 5)));
    EXPECT_FALSE(may_join(a100, {}, slot(a100, "2g.10gb", 6))); // free units, but no 2g starts there
    EXPECT_FALSE(may_join(a100, {}, {a100.profiles.size(), mig_units{0}}));
    EXPECT_TRUE(is_legal(a100, {slot(a100, "3g.20gb", 4), slot(a100, "3g.20gb", 0)}));
    EXPECT_FALSE(is_legal(a100, {slot(a100, "1g.5gb", 0), slot(a100, "2g.10gb", 0)}));
}

TEST(may_join, minds_media_engines) {
    const mig_model& a30 = model("A30-24GB");
    EXPECT_FALSE(may_join(a30, {slot(a30, "1g.6gb+me", 0)}, slot(a30, "2g.12gb+me", 2))); // one JPEG, one OFA
    EXPECT_TRUE(may_join(a30, {slot(a30, "1g.6gb+me", 0)}, slot(a30, "2g.12gb", 2)));
    const mig_model& rtx = model("RTX-PRO-6000-96GB");
    EXPECT_FALSE(may_join(rtx, {slot(rtx, "1g.24gb+me.all", 0)}, slot(rtx, "1g.24gb", 3)));
    EXPECT_TRUE(may_join(rtx, {slot(rtx, "1g.24gb+me.all", 0)}, slot(rtx, "1g.24gb-me", 3)));
}

TEST(may_join, minds_instances_and_compute_where_engines_are_unknown) {
    const mig_model& h20 = model("H20-96GB");
    EXPECT_FALSE(may_join(h20, {slot(h20, "1g.12gb+me", 0)}, slot(h20, "1g.12gb+me", 1)));
    mig_model cut = model("A100-40GB");
    cut.engines = {};
    const mig_layout six{slot(cut, "3g.20gb", 0), slot(cut, "3g.20gb", 4)};
    EXPECT_TRUE(is_legal(cut, six));
    cut.compute_slices = mig_compute{5};
    EXPECT_FALSE(is_legal(cut, six));
}

TEST(mig_layouts, stop_at_the_budget_and_say_so) {
    // A grid of 64 single units has 2^64 legal sets.
    mig_model wide;
    wide.units = mig_units_max;
    wide.compute_slices = mig_compute{64};
    wide.profiles = {sized("1g", 1, 64)};
    const auto enumeration = legal_layouts(wide, {.layouts_max = 1000});
    EXPECT_FALSE(enumeration.complete);
    EXPECT_EQ(enumeration.layouts.size(), 1000U);
    EXPECT_FALSE(maximal_layouts(wide, {.layouts_max = 10}).complete);
    EXPECT_FALSE(count_layouts(wide).complete);
    EXPECT_EQ(count_layouts(wide).legal, mig_enumeration_options{}.layouts_max);
    // A profile as wide as the widest grid.
    wide.profiles = {sized("64g", 64, 1)};
    EXPECT_EQ(legal_layouts(wide).layouts.size(), 2U);
    EXPECT_EQ(maximal_layouts(wide).layouts.size(), 1U);
    wide.profiles.push_back(sized("1g", 1, 64));
    EXPECT_FALSE(may_join(wide, {slot(wide, "64g", 0)}, slot(wide, "1g", 63)));
    EXPECT_FALSE(may_join(wide, {slot(wide, "1g", 63)}, slot(wide, "64g", 0)));
    wide.profiles.pop_back();
    // Exactly enough is enough.
    EXPECT_TRUE(legal_layouts(wide, {.layouts_max = 2}).complete);
    EXPECT_FALSE(legal_layouts(wide, {.layouts_max = 1}).complete);
}

} // namespace
} // namespace vgpualloc
