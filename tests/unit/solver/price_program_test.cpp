// Prices of rests: against a step table made by hand, in every mode, and learned.
#include "vgpualloc/plan/price_program.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "milli_gpus.hpp"
#include "vgpualloc/catalog/mig_layouts.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/mode/mig.hpp"
#include "vgpualloc/solver/highs.hpp"

namespace {

using namespace vgpualloc;
using namespace vgpualloc::plan;

pod_request share_of(std::int64_t milli, std::vector<std::string> models = {}, std::int64_t gpus = 1) {
    return test::milli_request(milli_cpu{4000}, gpus, milli, std::move(models));
}

cluster gpus_of(std::initializer_list<std::pair<const char*, std::int64_t>> models) {
    cluster nodes;
    for (const auto& [model, count] : models) {
        test::add_milli_node(nodes, model, milli_cpu{96000}, mib{1000}, count, model, *find_mode("hami_core").value());
    }
    return nodes;
}

std::int64_t worth_of_rest(const cluster& nodes, const price_table::device_prices& prices, std::int64_t used) {
    const auto spec = std::ranges::find_if(nodes.kinds, [&](const device_spec& kind) { return prices.is_of(kind); });
    auto worths = rest_worths::make(*spec, prices.parts).value();
    return worths.of({.memory = mib{used}, .cores = {}, .slots = used > 0 ? 1 : 0});
}

TEST(price_program, a_rest_that_no_popular_part_fits_is_worth_nothing) {
    // As many of 810 milli as there are GPUs, and a few of 190 that would fill them up: 190 milli are worth nothing,
    // because there are more such rests than parts, and a GPU what one of 810 is.
    const cluster nodes = gpus_of({{"A", 4}, {"B", 4}});
    const pod_request large = share_of(810);
    const pod_request small = share_of(190);
    const auto solver = solver::make_highs();
    const auto prices = solve_prices(nodes, weighted_pods{{&large, 9.0}, {&small, 1.0}}, *solver).value();
    ASSERT_EQ(prices.devices.size(), 2U);
    EXPECT_EQ(prices.devices[0].model, "A");
    EXPECT_EQ(prices.devices[1].model, "B");
    for (const auto& device : prices.devices) {
        EXPECT_EQ(device.idle, 810'000);
        EXPECT_EQ(device.premium, 0);
        EXPECT_EQ(worth_of_rest(nodes, device, 810), 0);
        EXPECT_EQ(worth_of_rest(nodes, device, 190), 810'000);
        EXPECT_EQ(worth_of_rest(nodes, device, 191), 0);
    }
    EXPECT_EQ(prices.cpu_per_gpu, 4000 * 10 * 1000 / (9 * 810 + 190));
}

TEST(price_program, a_model_that_pods_ask_for_by_name_has_a_premium) {
    const cluster nodes = gpus_of({{"A", 4}, {"B", 4}});
    const pod_request any = share_of(500);
    const pod_request named = share_of(500, {"A"});
    const auto solver = solver::make_highs();
    const auto scarce = solve_prices(nodes, weighted_pods{{&any, 1.0}, {&named, 3.0}}, *solver).value();
    ASSERT_EQ(scarce.devices.size(), 2U);
    EXPECT_EQ(scarce.devices[0].premium, 1000) << "three quarters of the demand for half of the GPUs";
    EXPECT_EQ(scarce.devices[1].premium, 0);
    const auto plenty = solve_prices(nodes, weighted_pods{{&any, 3.0}, {&named, 1.0}}, *solver).value();
    EXPECT_EQ(plenty.devices[0].premium, 0);
    EXPECT_EQ(scarce.devices[0].parts, scarce.devices[1].parts) << "what parts are worth says no name";
}

TEST(price_program, prices_instances_of_mig) {
    const auto mode = *modes::make_mig(**find_model(built_in_mig_catalog(), "A100-40GB"));
    cluster nodes;
    nodes.modes.push_back(mode);
    node host{.name = "n", .cpu = milli_cpu{96000}, .memory = bytes{1}, .pods_max = 100};
    const auto kind = nodes.kind_of(mode->adapted({.model = "A100-40GB", .memory = mib{1}, .mode = mode.get()}));
    for (const char* uuid : {"g0", "g1"}) host.devices.push_back({.uuid = uuid, .kind = kind});
    nodes.nodes.push_back(host);
    const auto wanting = [](const char* profile) {
        pod_request pod{.cpu = milli_cpu{1000}, .memory = bytes{0}, .containers = {}};
        pod.containers.push_back({.count = 1, .memory = {}, .cores = {}, .profile = profile});
        return pod;
    };
    // Instances that leave no rest are more than GPUs have room for by size only with a little more demand.
    const pod_request seven = wanting("7g.40gb");
    const pod_request four = wanting("4g.20gb");
    const pod_request three = wanting("3g.20gb");
    const pod_request one = wanting("1g.5gb");
    const auto solver = solver::make_highs();
    for (const weighted_pods& demand :
         {weighted_pods{{&four, 4.0}, {&one, 1.0}}, weighted_pods{{&four, 1.0}, {&three, 1.0}},
          weighted_pods{{&seven, 1.0}, {&four, 1.0}, {&three, 1.0}, {&one, 1.0}}}) {
        const auto prices = solve_prices(nodes, demand, *solver).value();
        ASSERT_EQ(prices.devices.size(), 1U);
        EXPECT_EQ(prices.devices[0].mode, "mig");
        EXPECT_GT(prices.devices[0].idle, 0);
        EXPECT_FALSE(prices.devices[0].parts.empty());
        auto worths = rest_worths::make(nodes.kinds[kind], prices.devices[0].parts).value();
        EXPECT_LE(worths.of({}), prices.devices[0].idle) << "the dual price of a GPU covers every way to fill it";
    }
}

TEST(price_program, prices_memory_and_compute_of_slices) {
    cluster nodes;
    node host{.name = "n", .cpu = milli_cpu{96000}, .memory = bytes{1}, .pods_max = 100};
    const auto kind = nodes.kind_of(
        {.model = "V100", .memory = mib{32768}, .cores = whole_compute, .slots = 10, .mode = *find_mode("hami_core")});
    for (const char* uuid : {"g0", "g1", "g2"}) host.devices.push_back({.uuid = uuid, .kind = kind});
    nodes.nodes.push_back(host);
    pod_request memory{.cpu = milli_cpu{1000}, .memory = bytes{0}, .containers = {}};
    pod_request compute = memory;
    memory.containers.push_back({.count = 1, .memory = mib{24576}, .cores = core_percent{25}});
    compute.containers.push_back({.count = 1, .memory = mib{8192}, .cores = core_percent{60}});
    const auto solver = solver::make_highs();
    const auto prices = solve_prices(nodes, weighted_pods{{&memory, 1.0}, {&compute, 1.0}}, *solver).value();
    ASSERT_EQ(prices.devices.size(), 1U);
    EXPECT_GT(prices.devices[0].idle, 0);
    auto worths = rest_worths::make(nodes.kinds[kind], prices.devices[0].parts).value();
    const auto rest = [&](std::int64_t mib_used, std::int64_t percent_used) {
        return worths.of({.memory = mib{mib_used}, .cores = core_percent{percent_used}, .slots = 1});
    };
    EXPECT_GT(rest(0, 0), 0);
    EXPECT_EQ(rest(30'000, 0), 0) << "no memory";
    EXPECT_EQ(rest(0, 90), 0) << "no compute";
    EXPECT_EQ(worths.of({.memory = mib{100}, .cores = {}, .slots = 10}), 0) << "no slot";
}

cluster eight_gpus_and_four_npus() {
    cluster nodes = gpus_of({{"A", 8}});
    node npus{.name = "npus", .cpu = milli_cpu{96000}, .memory = bytes{1}, .pods_max = 100};
    const auto kind = nodes.kind_of({.model = "910B4",
                                     .memory = mib{32768},
                                     .cores = core_percent{20},
                                     .slots = 7,
                                     .mode = *find_mode("exclusive")});
    for (const char* uuid : {"n0", "n1", "n2", "n3"}) npus.devices.push_back({.uuid = uuid, .kind = kind});
    nodes.nodes.push_back(npus);
    return nodes;
}

TEST(price_program, a_kind_that_is_asked_for_less_than_others_has_prices_too) {
    const cluster nodes = eight_gpus_and_four_npus();
    const pod_request share = share_of(470, {"A"});
    pod_request whole{.cpu = milli_cpu{1000}, .memory = bytes{0}, .containers = {}};
    whole.containers.push_back({.count = 1, .memory = {}, .cores = {}, .mode = "exclusive"});
    const auto solver = solver::make_highs();
    const auto prices = solve_prices(nodes, weighted_pods{{&share, 18.0}, {&whole, 3.0}}, *solver).value();
    ASSERT_EQ(prices.devices.size(), 2U);
    for (const auto& device : prices.devices) EXPECT_GT(device.idle, 0) << device.model;
}

TEST(price_program, what_makes_another_kind_scarce_says_nothing_of_one_that_is_scarce_already) {
    // Ten of 600 milli for eight GPUs, and six of 400 beside them: a GPU more would take one of 600, and a rest of 400
    // is worth nothing. With as much demand as makes the NPUs scarce too, no GPU would be left without 400.
    const cluster nodes = eight_gpus_and_four_npus();
    pod_request large = share_of(600);
    pod_request small = share_of(400);
    pod_request whole = share_of(1000);
    large.containers[0].mode = small.containers[0].mode = "hami_core";
    whole.containers[0].memory = {};
    whole.containers[0].mode = "exclusive";
    const auto solver = solver::make_highs();
    const auto prices =
        solve_prices(nodes, weighted_pods{{&large, 10.0}, {&small, 6.0}, {&whole, 3.0}}, *solver).value();
    ASSERT_EQ(prices.devices.size(), 2U);
    EXPECT_EQ(prices.devices[0].idle, 600'000);
    EXPECT_EQ(worth_of_rest(nodes, prices.devices[0], 600), 0);
    EXPECT_GT(prices.devices[1].idle, 0);
}

TEST(price_program, of_many_kinds_of_pods_the_most_wanted_are_priced) {
    const cluster nodes = gpus_of({{"A", 4}});
    std::vector<pod_request> pods;
    for (std::int64_t milli = 1; milli <= 300; ++milli) pods.push_back(share_of(milli));
    pods.push_back(share_of(600));
    weighted_pods demand;
    for (const pod_request& pod : pods) demand.emplace_back(&pod, &pod == &pods.back() ? 1e6 : 1.0);
    const auto solver = solver::make_highs();
    const auto prices = solve_prices(nodes, demand, *solver).value();
    ASSERT_EQ(prices.devices.size(), 1U);
    EXPECT_GT(prices.devices[0].idle, 0);
    EXPECT_LE(prices.devices[0].parts.size(), 64U);
    EXPECT_GT(worth_of_rest(nodes, prices.devices[0], 400), worth_of_rest(nodes, prices.devices[0], 401));
}

TEST(price_program, a_million_large_pods_overflow_nothing) {
    const cluster nodes = gpus_of({{"A", 4}});
    pod_request pod = share_of(500);
    pod.cpu = milli_cpu{10'000};
    const auto solver = solver::make_highs();
    EXPECT_EQ(solve_prices(nodes, weighted_pods{{&pod, 1e6}}, *solver).value().cpu_per_gpu, 20'000);
    pod.cpu = milli_cpu{std::int64_t{1} << 50U};
    EXPECT_EQ(solve_prices(nodes, weighted_pods{{&pod, 1e6}}, *solver).value().cpu_per_gpu, 1'000'000'000'000);
}

TEST(price_program, nothing_is_priced_where_nobody_wants_devices) {
    const cluster nodes = gpus_of({{"A", 1}});
    const pod_request none = test::milli_request(milli_cpu{1000}, 0, 0);
    const auto solver = solver::make_highs();
    EXPECT_EQ(solve_prices(nodes, weighted_pods{{&none, 1.0}}, *solver).value(), price_table{});
    EXPECT_EQ(solve_prices(nodes, weighted_pods{}, *solver).value(), price_table{});
    EXPECT_EQ(solve_prices({}, weighted_pods{{&none, 1.0}}, *solver).value(), price_table{});
}

TEST(price_program, learned_prices_become_those_of_the_demand_and_forget_an_older_one) {
    const cluster nodes = gpus_of({{"A", 4}});
    const pod_request first = share_of(600);
    const pod_request later = share_of(400);
    const auto solver = solver::make_highs();
    price_book book;
    price_learner learner{nodes, *solver, book, {.window_arrivals = 100, .every = 200}};
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(learner.note_arrival(first).has_value());
    EXPECT_EQ(learner.solutions(), 9) << "after 1, 2, 4, …, 128, and after 200";
    EXPECT_EQ(book.version, 9U);
    ASSERT_EQ(book.table.devices.size(), 1U);
    EXPECT_EQ(worth_of_rest(nodes, book.table.devices[0], 400), book.table.devices[0].idle);
    EXPECT_EQ(worth_of_rest(nodes, book.table.devices[0], 600), 0);
    for (int i = 0; i < 2000; ++i) ASSERT_TRUE(learner.note_arrival(later).has_value());
    EXPECT_GT(worth_of_rest(nodes, book.table.devices[0], 600), 0);
    EXPECT_EQ(learner.solutions(), 19);
}

} // namespace
