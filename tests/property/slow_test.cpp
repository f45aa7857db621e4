// The slow tier: large worlds that cross every border of the indexes. Nodes come until there are twice as many, so that
// slots and ids outgrow their tables; states are interned anew, indexes dropped and requests forgotten all the time.
#include "side_by_side.hpp"

#include <algorithm>

namespace vgpualloc::property {
namespace {

constexpr world_kind large_world{
    .names = true, .nodes_max = 300, .devices_max = 8, .requests_max = 40, .operations_max = 2'000, .large = true};

/// How far the worlds of one property went, so that it is not about nothing.
struct borders {
    std::size_t nodes = 0;
    std::size_t pods = 0;       ///< live at the end
    std::uint64_t renewals = 0; ///< of ids
    bool full_of_requests = false;
};

borders expect_same_decisions(const policy_choice& choice, allocator_options options) {
    borders crossed;
    hold("fast path = reference", [&] {
        // Of full size from the first one on; a smaller one belongs to the fast tier.
        const world in = *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, worlds(large_world)));
        side_by_side both{choice, in, options, in.owned.nodes.size() / 2};
        for (const operation& what : in.operations) both.apply(what);
        for (const pod_request& request : in.requests) both.compare_answers(request);
        both.check();
        RC_ASSERT(both.decider().request_count() <= options.requests_max);
        crossed.nodes = std::max(crossed.nodes, both.book().nodes().nodes.size());
        crossed.pods = std::max(crossed.pods, both.book().live_count());
        crossed.renewals = std::max(crossed.renewals, both.decider().id_generation());
        crossed.full_of_requests = crossed.full_of_requests || both.decider().request_count() == options.requests_max;
    });
    EXPECT_GT(crossed.nodes, 200U);
    EXPECT_GT(crossed.pods, 100U);
    return crossed;
}

class slow_property : public testing::TestWithParam<policy_choice> {};

TEST_P(slow_property, decides_like_the_reference_in_a_large_world) {
    const borders crossed = expect_same_decisions(GetParam(), {.interned = {.configs_max = 300, .devices_max = 300},
                                                               .index_bytes_max = std::size_t{1} << 16,
                                                               .requests_max = 12});
    EXPECT_GT(crossed.renewals, 2U) << "states were interned anew";
    EXPECT_TRUE(crossed.full_of_requests) << "requests were forgotten";
}

TEST(slow_tier, decides_like_the_reference_in_a_large_world_with_room_for_everything) {
    expect_same_decisions({.node = "fgd", .device = "binpack"}, {});
}

INSTANTIATE_TEST_SUITE_P(some, slow_property,
                         testing::Values(policy_choice{.node = "binpack", .device = "binpack"},
                                         policy_choice{.node = "fgd", .device = "fgd"},
                                         policy_choice{.node = "random", .device = "spread"},
                                         policy_choice{.node = "weighted:best_fit=1,fgd=2", .device = "worst_fit"}),
                         test_name);

} // namespace
} // namespace vgpualloc::property
