// Changes of a whole geometry group, against the nearest layout in the graph.
#include "vgpualloc/plan/mig_group_change.hpp"

#include <bit>
#include <string>

#include "brute_force.hpp"

namespace vgpualloc {
namespace {

using plan::change_group;
using plan::gpu_layouts;
using plan::mig_live_state;
using plan::mig_step_costs;
using test::legal_sets;
using test::model;

mig_group group_of(std::vector<mig_kind> kinds) { return {.name = "wanted", .kinds = std::move(kinds)}; }

/// Every layout of an A30 to every group that it can be cut in: the cost is that of the nearest layout of the group, by
/// relaxing single steps until nothing changes.
TEST(mig_group_change, costs_what_the_nearest_layout_of_the_group_costs) {
    const mig_model& gpu = model("A30-24GB");
    const auto states = gpu_layouts::make(gpu).value();
    const legal_sets sets{gpu};
    const mig_step_costs costs{.create = ticks{7}, .destroy = ticks{3}};
    for (std::size_t multiset = 0; multiset < states.multisets(); ++multiset) {
        mig_group group = group_of({});
        for (std::size_t profile = 0; profile < gpu.profiles.size(); ++profile) {
            group.kinds.push_back(
                {.name = gpu.profiles[profile].name, .memory = {}, .count = states.counts_of(multiset)[profile]});
        }
        std::map<std::uint64_t, std::int64_t> distance;
        for (const std::uint64_t set : sets.all()) {
            const auto number = states.find(set);
            distance[set] = states.multiset_of(number.value()) == multiset ? 0 : 1'000'000;
        }
        for (bool changed = true; changed;) {
            changed = false;
            for (auto& [set, cost] : distance) {
                for (std::size_t place = 0; place < sets.places(); ++place) {
                    const std::uint64_t next = set ^ (std::uint64_t{1} << place);
                    if (!sets.contain(next)) continue;
                    const std::int64_t through = distance[next] + (next > set ? 7 : 3);
                    changed = changed || through < cost;
                    cost = std::min(cost, through);
                }
            }
        }
        for (const auto& [set, cost] : distance) {
            const auto change = change_group(states, costs, {set, 0, 0}, group).value().value();
            ASSERT_EQ(change.cost, ticks{cost});
            const auto anew = change_group(states, costs, {set, 0, 0}, group, {.keep_equal = false}).value().value();
            ASSERT_EQ(anew.cost, ticks{3 * std::popcount(set) + 7 * std::popcount(anew.after)});
            ASSERT_EQ(anew.steps.size(), static_cast<std::size_t>(std::popcount(set) + std::popcount(anew.after)));
            std::uint64_t layout = set;
            for (const auto& step : change.steps) {
                layout ^= std::uint64_t{1} << sets.place_of({step.profile, step.start});
                ASSERT_TRUE(sets.contain(layout)) << "every step can be carried out";
            }
            ASSERT_EQ(layout, change.after);
        }
    }
}

TEST(mig_group_change, waits_for_the_last_pod) {
    const auto states = gpu_layouts::make(model("A100-40GB")).value();
    const mig_group sevenths = group_of({{.name = "1g.5gb", .memory = mib{4864}, .count = 7}});
    const auto three = states.place_of(
        {static_cast<std::size_t>(*find_profile(states.model(), "3g.20gb") - states.model().profiles.data()),
         mig_units{0}});
    const plan::mig_places bit = std::uint64_t{1} << three.value();
    EXPECT_FALSE(change_group(states, {}, {bit, bit, 0}, sevenths).value().has_value());
    const auto change = change_group(states, {}, {bit, 0, 0}, sevenths).value();
    ASSERT_TRUE(change.has_value());
    EXPECT_EQ(change->steps.size(), 8U);
    EXPECT_EQ(change->steps.front().kind, plan::mig_step_kind::destroy);
    EXPECT_EQ(change->cost, ticks{7'500'000});
}

TEST(mig_group_change, groups_that_no_gpu_has) {
    const auto states = gpu_layouts::make(model("A100-40GB")).value();
    const auto failure = [&](std::vector<mig_kind> kinds) {
        return change_group(states, {}, {}, group_of(std::move(kinds))).error();
    };
    EXPECT_EQ(failure({{.name = "9g.1gb", .memory = {}, .count = 1}}).code, error_code::unknown_name);
    EXPECT_EQ(failure({{.name = "1g.5gb", .memory = {}, .count = -1}}).code, error_code::out_of_range);
    const auto many =
        failure({{.name = "3g.20gb", .memory = {}, .count = 2}, {.name = "1g.5gb", .memory = {}, .count = 1}});
    EXPECT_EQ(many.message(),
              "group 'wanted': got '3g.20gb=2,1g.5gb=1', expected instances that A100-40GB can have at once");
    EXPECT_EQ(change_group(states, {}, {~plan::mig_places{0}, 0, 0}, group_of({})).error().field, "instances");
}

} // namespace
} // namespace vgpualloc
