#include "vgpusim/study/cheapest_nodes.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "vgpualloc/core/rng.hpp"

namespace {

using vgpualloc::expected;
using vgpusim::find_cheapest;
using vgpusim::offered_kind;

using counts = std::span<const std::int64_t>;

/// Holds where one of some smallest purchases is contained.
class goal {
public:
    explicit goal(std::vector<std::vector<std::int64_t>> least) : least_{std::move(least)} {}

    [[nodiscard]] bool holds(counts nodes) const {
        return std::ranges::any_of(
            least_, [&](const auto& enough) { return std::ranges::equal(enough, nodes, std::less_equal{}); });
    }

private:
    std::vector<std::vector<std::int64_t>> least_;
};

std::optional<std::int64_t> cheapest_by_trying_all(const std::vector<offered_kind>& kinds, const goal& wanted) {
    std::optional<std::int64_t> cheapest;
    std::vector<std::int64_t> nodes(kinds.size(), 0);
    while (true) {
        std::int64_t price = 0;
        for (std::size_t i = 0; i < kinds.size(); ++i) price += nodes[i] * kinds[i].price;
        if (wanted.holds(nodes) && (!cheapest || price < *cheapest)) cheapest = price;
        std::size_t i = 0;
        while (i < kinds.size() && nodes[i] == kinds[i].most) nodes[i++] = 0;
        if (i == kinds.size()) return cheapest;
        ++nodes[i];
    }
}

TEST(cheapest_nodes, are_those_of_trying_all) {
    vgpualloc::rng draw{11};
    for (int round = 0; round < 400; ++round) {
        std::vector<offered_kind> kinds(1 + draw.below(3));
        for (offered_kind& kind : kinds) {
            kind = {.price = 1 + static_cast<std::int64_t>(draw.below(9)),
                    .most = static_cast<std::int64_t>(draw.below(7))};
        }
        std::vector<std::vector<std::int64_t>> least(draw.below(4));
        for (auto& enough : least) {
            for (std::size_t i = 0; i < kinds.size(); ++i) enough.push_back(static_cast<std::int64_t>(draw.below(8)));
        }
        const goal wanted{least};
        const auto search =
            find_cheapest(kinds, [&](counts nodes) { return expected<bool>{wanted.holds(nodes)}; }, 10'000);
        ASSERT_TRUE(search);
        ASSERT_TRUE(search->is_complete);
        const auto cheapest = cheapest_by_trying_all(kinds, wanted);
        ASSERT_EQ(search->best.has_value(), cheapest.has_value()) << "round " << round;
        if (!cheapest) continue;
        EXPECT_EQ(search->tries[*search->best].price, *cheapest) << "round " << round;
        EXPECT_EQ(search->below.has_value(), *cheapest > 0);
        if (!search->below) continue;
        EXPECT_FALSE(search->tries[*search->below].holds);
        EXPECT_LT(search->tries[*search->below].price, *cheapest);
    }
}

TEST(cheapest_nodes, are_corrected_where_less_turns_out_to_be_enough) {
    // Two of the second kind fail and one does not: no goal is expected to be so, but what is printed has been tried.
    const std::vector<std::vector<std::int64_t>> enough{{1, 9}, {0, 9}, {1, 7}, {1, 0}, {0, 1}};
    const auto holds = [&](counts nodes) {
        return expected<bool>{
            std::ranges::any_of(enough, [&](const auto& one) { return std::ranges::equal(one, nodes); })};
    };
    const auto search =
        find_cheapest(std::vector<offered_kind>{{.price = 4, .most = 1}, {.price = 3, .most = 9}}, holds, 100);
    ASSERT_TRUE(search);
    EXPECT_EQ(search->tries[*search->best].nodes, (std::vector<std::int64_t>{0, 1}));
    EXPECT_EQ(search->tries[*search->below].nodes, (std::vector<std::int64_t>{0, 0}));
}

TEST(cheapest_nodes, end_at_the_largest_number_of_tries) {
    const auto many = [](counts nodes) { return expected<bool>{nodes[0] >= 900}; };
    const auto search = find_cheapest(std::vector<offered_kind>{{.price = 1, .most = 1000}}, many, 3);
    ASSERT_TRUE(search);
    EXPECT_EQ(search->tries.size(), 3U);
    EXPECT_FALSE(search->is_complete);
    EXPECT_EQ(search->tries[*search->best].nodes, std::vector<std::int64_t>{1000});
}

TEST(cheapest_nodes, are_none_where_all_of_them_fail) {
    const auto never = [](counts) { return expected<bool>{false}; };
    const auto search =
        find_cheapest(std::vector<offered_kind>{{.price = 1, .most = 5}, {.price = 2, .most = 4}}, never, 9);
    ASSERT_TRUE(search);
    EXPECT_FALSE(search->best);
    ASSERT_EQ(search->tries.size(), 1U);
    EXPECT_EQ(search->tries.front().nodes, (std::vector<std::int64_t>{5, 4}));
}

} // namespace
