// The parts of the indexed path: interned states, memoised outcomes, the tree of scores, the drawn tie.
#include <algorithm>
#include <limits>

#include "support.hpp"

#include "alloc/draw.hpp"
#include "alloc/outcome_table.hpp"
#include "alloc/score_tree.hpp"
#include "alloc/state_table.hpp"
#include "vgpualloc/core/rng.hpp"

namespace vgpualloc {
namespace {

using namespace test;

device_state taken(std::int64_t memory, std::int64_t slots = 1) {
    return {.memory = mib{memory}, .cores = {}, .slots = memory == 0 ? 0 : slots, .layout = 0};
}

/// Two kinds of device and a table over them.
class state_table_test : public testing::Test {
protected:
    state_table_test() {
        owned.kind_of(gpu("A"));
        owned.kind_of(gpu("B", 1, "exclusive"));
    }
    [[nodiscard]] const device_view* device(std::uint32_t kind, std::int64_t memory) {
        return &states.device(kind, taken(memory), service_state::in_service);
    }
    [[nodiscard]] const device_config& config(std::vector<const device_view*> devices) {
        return states.config(devices);
    }

    [[nodiscard]] outcome_list ways(std::uint32_t shape, const device_config& on) {
        return outcomes.of(shape, on.id, on);
    }

    cluster owned;
    [[nodiscard]] std::uint32_t shape_of(const std::vector<device_request>& containers) {
        std::vector<std::uint32_t> numbers;
        for (const device_request& container : containers) numbers.push_back(parts.add(container));
        return outcomes.add(numbers);
    }

    state_table states{owned};
    part_table parts;
    outcome_table outcomes{states, parts};
};
using outcome_table_test = state_table_test;

TEST_F(state_table_test, equal_states_of_equal_kinds_are_one_object) {
    EXPECT_EQ(device(0, 100), device(0, 100));
    EXPECT_NE(device(0, 100), device(0, 200));
    EXPECT_NE(device(0, 0), device(1, 0)) << "the kind is part of what is interned";
    EXPECT_NE(&states.device(0, taken(100, 2), service_state::in_service), device(0, 100));
    EXPECT_EQ(device(0, 2500)->used, milli_gpu{250});
    EXPECT_EQ(device(0, 2500)->spec, &owned.kinds[0]);
}

TEST_F(state_table_test, a_configuration_is_a_multiset) {
    const auto* a = device(0, 0);
    const auto* b = device(0, 5000);
    const auto* c = device(1, 0);
    const device_config& abc = config({a, b, c});
    EXPECT_EQ(&config({c, a, b}), &abc);
    EXPECT_NE(&config({a, b}), &abc);
    EXPECT_NE(&config({a, a, b}), &config({a, b, b}));
    EXPECT_EQ(abc.used, milli_gpu{500});
    EXPECT_EQ(abc.free, milli_gpu{2500});
    EXPECT_EQ(abc.devices_free_whole, 2);
    EXPECT_EQ(states.config_count(), 4U);
    EXPECT_EQ(&states.replace(config({a, a, b}), *a, *b), &config({a, b, b})) << "one of two equal devices";
    EXPECT_EQ(&states.replace(abc, *a, *device(0, 9000)), &config({b, c, device(0, 9000)})) << "moves to the end";
    EXPECT_EQ(&states.replace(config({b, c}), *c, *a), &config({a, b})) << "moves to the front";
    EXPECT_EQ(&states.replace(abc, *b, *b), &abc);
}

/// Found by property_core: a cluster whose first node has no devices.
TEST_F(state_table_test, the_empty_configuration_may_come_first) {
    const device_config& none = config({});
    EXPECT_EQ(none.total(), milli_gpu{0});
    EXPECT_TRUE(none.devices.empty());
    EXPECT_EQ(&config({}), &none);
}

TEST_F(state_table_test, many_states_keep_their_addresses_until_cleared) {
    std::vector<const device_view*> devices;
    std::vector<const device_config*> configs;
    for (std::int64_t i = 0; i < 3000; ++i) {
        devices.push_back(device(0, i));
        configs.push_back(&config(std::vector<const device_view*>(9, devices.back())));
    }
    for (std::int64_t i = 0; i < 3000; ++i) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_EQ(device(0, i), devices[at]);
        ASSERT_EQ(devices[at]->id, at);
        ASSERT_EQ(&config(std::vector<const device_view*>(9, devices[at])), configs[at]);
        ASSERT_EQ(configs[at]->devices[8], devices[at]);
    }
    EXPECT_EQ(states.config_count(), 3000U);
    states.clear();
    EXPECT_EQ(states.config_count(), 0U);
    EXPECT_EQ(device(0, 7)->id, 0U) << "ids begin anew";
}

TEST_F(outcome_table_test, lists_every_unlike_device_once_or_says_why_not) {
    const auto* idle = device(0, 0);
    const auto* half = device(0, 5000);
    const auto* full = device(0, 10000);
    const auto& mixed = config({idle, idle, half, full});
    const std::uint32_t small = shape_of({want(1, 4000)});
    EXPECT_EQ(shape_of({want(1, 4000)}), small);
    EXPECT_NE(shape_of({want(1, 4001)}), small);
    for (int ask = 0; ask < 2; ++ask) { // computed, then remembered
        const outcome_list list = ways(small, mixed);
        EXPECT_EQ(list.code, rejection_code::none);
        EXPECT_FALSE(list.stepwise);
        ASSERT_EQ(list.ways.size(), 2U) << "two idle devices are one way";
        EXPECT_EQ(list.ways[0].before, idle);
        EXPECT_EQ(list.ways[0].after, device(0, 4000));
        EXPECT_EQ(&outcomes.next_of(list.ways[0], mixed), &config({device(0, 4000), idle, half, full}));
        EXPECT_EQ(list.ways[1].before, half);
    }
    const auto code = [&](std::vector<device_request> containers, const device_config& on) {
        return ways(shape_of(containers), on).code;
    };
    EXPECT_EQ(code({want(5, 1)}, mixed), rejection_code::too_few_devices);
    EXPECT_EQ(code({want(1, 4000)}, config({full})), rejection_code::insufficient_device_memory);
    EXPECT_EQ(code({want(3, 1000)}, config({idle, idle, full, full})), rejection_code::too_few_devices)
        << "two of the four are full";
    EXPECT_EQ(code({want(1, 1000, 100)}, config({half, half, full})), rejection_code::device_in_use)
        << "the most frequent reason counts";
}

TEST_F(outcome_table_test, several_devices_are_one_way_if_there_is_no_choice) {
    const auto* idle = device(0, 0);
    const auto* half = device(0, 5000);
    const outcome_list whole = ways(shape_of({want(2, 10000)}), config({idle, half, idle, idle}));
    ASSERT_EQ(whole.ways.size(), 1U);
    EXPECT_EQ(whole.ways[0].before, nullptr);
    EXPECT_EQ(whole.ways[0].next, &config({device(0, 10000), device(0, 10000), idle, half}));
    const outcome_list choice = ways(shape_of({want(2, 1000)}), config({idle, half, idle}));
    EXPECT_TRUE(choice.stepwise);
    EXPECT_EQ(choice.code, rejection_code::none);
    EXPECT_TRUE(choice.ways.empty());
    const auto& any = config({idle, half});
    const outcome_list nothing = ways(outcomes.add({}), any);
    ASSERT_EQ(nothing.ways.size(), 1U);
    EXPECT_EQ(nothing.ways[0].next, &any) << "a pod without devices changes none";
}

/// What is made of the first 512 device states is remembered; those above are asked about each time.
TEST_F(outcome_table_test, states_above_those_that_are_remembered_have_the_same_ways) {
    for (std::int64_t memory = 0; memory < 600; ++memory) static_cast<void>(device(0, memory));
    const auto* above = device(0, 5000);
    const auto* full = device(0, 10000);
    ASSERT_GE(above->id, 512U);
    const auto* after = &states.device(0, taken(9000, 2), service_state::in_service);
    const outcome_list one = ways(shape_of({want(1, 4000)}), config({above, above, full}));
    ASSERT_EQ(one.ways.size(), 1U);
    EXPECT_EQ(one.ways[0].after, after);
    const outcome_list two = ways(shape_of({want(2, 4000)}), config({above, above, full}));
    ASSERT_EQ(two.ways.size(), 1U);
    EXPECT_EQ(two.ways[0].next, &config({after, after, full}));
    EXPECT_EQ(ways(shape_of({want(1, 4000)}), config({full})).code, rejection_code::insufficient_device_memory);
    EXPECT_EQ(ways(shape_of({want(2, 5001)}), config({above, above})).code, rejection_code::insufficient_device_memory);
}

TEST_F(outcome_table_test, clearing_forgets_outcomes_but_not_shapes) {
    const std::uint32_t shape = shape_of({want(1, 4000)});
    EXPECT_EQ(ways(shape, config({device(0, 9000)})).code, rejection_code::insufficient_device_memory);
    states.clear();
    outcomes.clear();
    parts.forget();
    EXPECT_EQ(shape_of({want(1, 4000)}), shape);
    const auto& idle = config({device(0, 0)}); // the same ids as before, another content
    EXPECT_EQ(ways(shape, idle).ways.size(), 1U);
}

class score_tree_test : public testing::TestWithParam<std::size_t> {};

/// Positions whose score is `score`, ascending.
std::vector<std::size_t> positions_of(const std::vector<double>& plain, double score) {
    std::vector<std::size_t> result;
    for (std::size_t p = 0; p < plain.size(); ++p) {
        if (plain[p] == score) result.push_back(p);
    }
    return result;
}

std::vector<std::size_t> visited_by(const score_tree& tree, double score) {
    std::vector<std::size_t> result;
    tree.for_each_equal(score, [&](std::size_t position) { result.push_back(position); });
    return result;
}

/// Against a plain vector, with few distinct scores so that ties are the rule.
TEST_P(score_tree_test, agrees_with_a_plain_search) {
    const std::size_t size = GetParam();
    score_tree tree{size};
    std::vector<double> plain(size, infeasible_score);
    tree.assign(size, [&](std::size_t) { return infeasible_score; });
    rng drawn{size};
    for (int i = 0; i < 3000; ++i) {
        const auto at = static_cast<std::size_t>(drawn.below(size));
        const double score = drawn.below(4) == 0 ? infeasible_score : static_cast<double>(drawn.below(5)) - 2.0;
        plain[at] = score;
        tree.set(at, score);
        const auto best = std::ranges::max_element(plain);
        ASSERT_EQ(tree.max(), *best);
        ASSERT_EQ(tree.at(at), score);
        ASSERT_EQ(tree.first_max(), static_cast<std::size_t>(best - plain.begin()));
        if (i % 16 == 0) {
            ASSERT_EQ(visited_by(tree, *best), positions_of(plain, *best));
            ASSERT_EQ(visited_by(tree, 1.0), positions_of(plain, 1.0));
        }
    }
    EXPECT_GE(tree.bytes(), size * sizeof(double));
    score_tree assigned{size};
    assigned.assign(size, [&](std::size_t position) { return plain[position]; });
    EXPECT_EQ(assigned.max(), tree.max());
    EXPECT_EQ(assigned.first_max(), tree.first_max());
}

INSTANTIATE_TEST_SUITE_P(all, score_tree_test, testing::Values(1U, 2U, 15U, 16U, 17U, 255U, 256U, 257U, 5000U));

TEST(score, a_refusal_is_a_score_below_every_other_and_carries_its_code) {
    for (std::size_t i = 1; i < rejection_code_count; ++i) {
        const auto code = static_cast<rejection_code>(i);
        EXPECT_FALSE(is_feasible(infeasible_because(code)));
        EXPECT_EQ(code_in(infeasible_because(code)), code);
        EXPECT_GT(infeasible_because(code), score_tree::lowest);
    }
    for (const double score : {-1e300, 0.0, 1e300}) {
        EXPECT_TRUE(is_feasible(score));
        EXPECT_EQ(code_in(score), rejection_code::none);
    }
}

TEST(score_tree, nothing_is_feasible_at_first) {
    EXPECT_EQ(score_tree{0}.max(), score_tree::lowest);
    EXPECT_EQ(score_tree{40}.max(), score_tree::lowest);
}

/// Gives prepared draws and remembers of how many each was asked.
class prepared final : public policy {
public:
    explicit prepared(std::vector<std::uint64_t> draws) : draws_{std::move(draws)} {}
    [[nodiscard]] std::string_view name() const noexcept override { return "prepared"; }
    [[nodiscard]] double node_score(const request_view&, const node_view&, const node_view&) override { return 0.0; }
    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view&) override {
        return 0.0;
    }
    [[nodiscard]] std::uint64_t draw(std::uint64_t count) override {
        counts.push_back(count);
        return counts.size() <= draws_.size() ? draws_[counts.size() - 1] : 1;
    }
    std::vector<std::uint64_t> counts;

private:
    std::vector<std::uint64_t> draws_;
};

TEST(draw_tied_node, draws_positions_until_one_is_tied_and_lists_them_after_64_misses) {
    const auto list = [](std::vector<std::size_t>& out) { out = {3, 5, 8}; };
    const auto tied = [](std::size_t i) { return i == 3 || i == 5 || i == 8; };
    prepared lucky{{0, 4, 8}};
    EXPECT_EQ(draw_tied_node(lucky, 9, tied, list), 8U);
    EXPECT_EQ(lucky.counts, (std::vector<std::uint64_t>{9, 9, 9}));
    prepared unlucky{{}}; // always 1, which is not tied, but names the second of the list
    EXPECT_EQ(draw_tied_node(unlucky, 9, tied, list), 5U);
    EXPECT_EQ(unlucky.counts.size(), 65U);
    EXPECT_EQ(unlucky.counts.back(), 3U);
}

} // namespace
} // namespace vgpualloc
