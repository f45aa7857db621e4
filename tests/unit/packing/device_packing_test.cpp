// Packings of one device: by hand, and against every multiset that fits.
#include "vgpualloc/packing/device_packing.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "vgpualloc/core/rng.hpp"

namespace {

using namespace vgpualloc;

double worth_of(const device_pattern& pattern, const std::vector<double>& worth) {
    double sum = 0.0;
    for (const auto& [part, count] : pattern) sum += static_cast<double>(count) * worth[part];
    return sum;
}

/// The dearest of all multisets, found by looking at each.
double dearest_of_all(const device_packing& packing, const std::vector<double>& worth, std::int64_t most) {
    const std::vector<std::int64_t> limits(packing.parts(), most);
    double dearest = 0.0;
    const auto patterns = packing.enumerate(limits, 200'000).value();
    for (const device_pattern& pattern : patterns) dearest = std::max(dearest, worth_of(pattern, worth));
    return dearest;
}

knapsack_packing shares(const std::vector<std::int64_t>& milli) {
    std::vector<knapsack_packing::amounts> needs;
    for (const std::int64_t amount : milli) needs.push_back({amount});
    return knapsack_packing::make({1000}, needs).value();
}

TEST(device_packing, the_dearest_parts_that_fit) {
    const knapsack_packing packing = shares({500, 500, 300, 900});
    const auto best = packing.best(std::vector{5.0, 6.0, 3.5, 11.5});
    EXPECT_EQ(best.parts, (device_pattern{{.part = 1, .count = 2}}));
    EXPECT_DOUBLE_EQ(best.worth, 12.0);
    EXPECT_EQ(packing.step(0), 100);
    EXPECT_EQ(packing.rests(), 11U);
}

TEST(device_packing, what_is_worth_nothing_is_left_out) {
    const knapsack_packing packing = shares({500, 300});
    EXPECT_EQ(packing.best(std::vector{0.0, -1.0}).parts, device_pattern{});
    EXPECT_EQ(packing.best(std::vector{0.0, 1.0}).parts, (device_pattern{{.part = 1, .count = 3}}));
}

TEST(device_packing, a_rest_is_worth_what_fits_into_it) {
    const knapsack_packing packing = shares({500, 300});
    const auto rests = packing.worth_of_rests(std::vector{5.0, 2.0});
    EXPECT_DOUBLE_EQ(rests[packing.position_of({299})], 0.0);
    EXPECT_DOUBLE_EQ(rests[packing.position_of({300})], 2.0);
    EXPECT_DOUBLE_EQ(rests[packing.position_of({599})], 5.0);
    EXPECT_DOUBLE_EQ(rests[packing.position_of({800})], 7.0);
    EXPECT_DOUBLE_EQ(rests[packing.position_of({5000})], 10.0);
    EXPECT_DOUBLE_EQ(rests[packing.position_of({-5})], 0.0);
}

TEST(device_packing, memory_compute_and_slots_at_once) {
    const auto packing = knapsack_packing::make({16, 100, 3}, {{4, 10, 1}, {2, 50, 1}, {16, 0, 1}}).value();
    EXPECT_EQ(packing.best(std::vector{1.0, 0.9, 2.5}).parts, (device_pattern{{.part = 0, .count = 3}}));
    const auto best = packing.best(std::vector{1.0, 2.5, 2.5});
    EXPECT_EQ(best.parts, (device_pattern{{.part = 1, .count = 2}}));
    EXPECT_DOUBLE_EQ(best.worth, 5.0);
}

TEST(device_packing, is_the_dearest_of_all_multisets) {
    rng stream{20260101};
    for (int round = 0; round < 60; ++round) {
        const auto dimensions = 1 + stream.below(4);
        knapsack_packing::amounts capacity;
        for (std::uint64_t d = 0; d < dimensions; ++d) capacity.push_back(static_cast<std::int64_t>(stream.below(9)));
        std::vector<knapsack_packing::amounts> needs;
        std::vector<double> worth;
        for (int part = 0; part < 4; ++part) {
            knapsack_packing::amounts need;
            for (std::uint64_t d = 0; d < dimensions; ++d) need.push_back(static_cast<std::int64_t>(stream.below(4)));
            if (std::ranges::count(need, 0) == static_cast<std::ptrdiff_t>(need.size())) need.front() = 1;
            needs.push_back(need);
            worth.push_back(static_cast<double>(stream.below(20)) - 4.0);
        }
        const auto packing = knapsack_packing::make(capacity, needs).value();
        const auto best = packing.best(worth);
        EXPECT_DOUBLE_EQ(best.worth, worth_of(best.parts, worth));
        EXPECT_DOUBLE_EQ(best.worth, dearest_of_all(packing, worth, 9));
        EXPECT_DOUBLE_EQ(best.worth, packing.worth_of_rests(worth).back());
    }
}

TEST(device_packing, a_rest_is_worth_what_a_device_of_its_size_is) {
    rng stream{20261129};
    for (int round = 0; round < 40; ++round) {
        std::vector<knapsack_packing::amounts> needs{{1, 0}, {0, 1}}; // so that every step is one unit
        std::vector<double> worth{1.0, 0.0};
        for (int part = 0; part < 5; ++part) {
            const auto first = static_cast<std::int64_t>(1 + stream.below(4));
            needs.push_back({first, static_cast<std::int64_t>(stream.below(4))});
            worth.push_back(static_cast<double>(stream.below(12))); // many are as much as a smaller part
        }
        const std::vector<double> rests = knapsack_packing::make({7, 5}, needs).value().worth_of_rests(worth);
        for (std::int64_t first = 0; first <= 7; ++first) {
            for (std::int64_t second = 0; second <= 5; ++second) {
                const auto alone = knapsack_packing::make({first, second}, needs).value();
                EXPECT_DOUBLE_EQ(rests[static_cast<std::size_t>(first * 6 + second)], alone.best(worth).worth);
            }
        }
    }
}

TEST(device_packing, every_multiset_once) {
    const auto patterns = shares({500, 300}).enumerate(std::vector<std::int64_t>{9, 2}, 100).value();
    const std::set<device_pattern> distinct{patterns.begin(), patterns.end()};
    EXPECT_EQ(distinct.size(), patterns.size());
    EXPECT_EQ(distinct, (std::set<device_pattern>{{{0, 1}}, {{0, 2}}, {{1, 1}}, {{0, 1}, {1, 1}}, {{1, 2}}}));
    EXPECT_FALSE(shares({500, 300}).enumerate(std::vector<std::int64_t>{9, 2}, 4).has_value());
}

TEST(device_packing, refuses_what_is_no_packing) {
    EXPECT_FALSE(knapsack_packing::make({}, {}).has_value());
    EXPECT_FALSE(knapsack_packing::make({-1}, {}).has_value());
    EXPECT_FALSE(knapsack_packing::make({1}, {{0}}).has_value());
    EXPECT_FALSE(knapsack_packing::make({1}, {{1, 1}}).has_value());
    EXPECT_FALSE(knapsack_packing::make({1000}, {{1}}, 100).has_value());
    EXPECT_TRUE(knapsack_packing::make({1000}, {{10}}, 101).has_value());
}

} // namespace
