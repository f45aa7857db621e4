// Bounds on means over a run: when there are any, and that runs stay within them.
#include "vgpusim/bound/steady.hpp"

#include <gtest/gtest.h>

#include "tiny_cluster.hpp"
#include "vgpusim/study/solver.hpp"

namespace {

using vgpusim::run_config;
using vgpusim::steady_figures;

/// Pods of three shapes, more of them than the nodes hold.
vgpusim::loaded_input crowded() {
    std::vector<vgputraces::openb_pod> pods;
    for (int i = 0; i < 120; ++i) {
        const std::string name = "p" + std::to_string(1000 + i);
        auto pod = i % 4 == 0 ? vgpusim_test::whole(name, 2) : vgpusim_test::share(name, i % 4 == 1 ? 700 : 400);
        pods.push_back(vgpusim_test::at(std::move(pod), i, i + 4 + i * 7 % 11));
    }
    vgpusim::loaded_input loaded;
    loaded.input =
        vgpusim_test::built({vgpusim_test::gpu_node("a", 2), vgpusim_test::gpu_node("b", 3)}, pods, 0.0, true);
    return loaded;
}

steady_figures bounds_of_run(const vgpusim::loaded_input& loaded, const run_config& config) {
    auto solver = vgpusim::find_solver("a test").value();
    const auto record = vgpusim::replay(config, loaded, loaded.input.nodes, {}).value();
    return steady_bounds_of(loaded.input, config, &record, *solver).value();
}

TEST(steady, no_run_passes_its_bounds) {
    const auto loaded = crowded();
    for (const char* policy : {"best_fit", "worst_fit", "fgd", "random", "bid_price"}) {
        run_config config;
        config.policy = policy;
        const steady_figures lossy = bounds_of_run(loaded, config);
        ASSERT_TRUE(lossy.accepted && lossy.blind);
        EXPECT_LT(*lossy.accepted->achieved, 1.0);
        EXPECT_LE(*lossy.accepted->achieved, lossy.accepted->most + 1e-9);
        EXPECT_LE(*lossy.blind->achieved, lossy.blind->most + lossy.blind->luck + 1e-9);
        EXPECT_LE(*lossy.served.achieved, lossy.served.most + 1e-9);
        EXPECT_GT(*lossy.served.achieved, 0.5);
        EXPECT_FALSE(lossy.wait);
        config.discipline = "fifo";
        const steady_figures queued = bounds_of_run(loaded, config);
        ASSERT_TRUE(queued.wait && queued.wait->achieved_mean_s);
        EXPECT_EQ(queued.wait->pods, 120);
        EXPECT_GT(queued.wait->mean_s, 1.0);
        EXPECT_LE(queued.wait->mean_s, *queued.wait->achieved_mean_s);
        EXPECT_LE(queued.wait->gpu_mean_s, *queued.wait->achieved_gpu_mean_s);
        EXPECT_LE(*queued.served.achieved, queued.served.most + 1e-9);
        EXPECT_FALSE(queued.accepted);
    }
}

TEST(steady, a_run_that_ends_with_a_queue_says_nothing_of_waits) {
    vgpusim::loaded_input loaded = crowded();
    run_config config;
    config.discipline = "fifo";
    auto solver = vgpusim::find_solver("a test").value();
    auto record = vgpusim::replay(config, loaded, loaded.input.nodes, {}).value();
    record.rows.started -= 1;
    EXPECT_FALSE(steady_bounds_of(loaded.input, config, &record, *solver)->wait->achieved_mean_s);
    EXPECT_FALSE(steady_bounds_of(loaded.input, config, nullptr, *solver)->served.achieved);
}

TEST(steady, where_means_are_not_bounded) {
    vgpusim::loaded_input loaded = crowded();
    run_config config;
    EXPECT_EQ(why_not_steady(loaded.input, config), "");
    config.layout_change_s = 1;
    EXPECT_NE(why_not_steady(loaded.input, config), "");
    config = {};
    config.policy = "compat:volcano";
    EXPECT_NE(why_not_steady(loaded.input, config), "");
    config = {};
    config.defragment = vgpusim::defragment::periodic;
    EXPECT_EQ(why_not_steady(loaded.input, config), "");
    config.move_downtime_s = 1;
    EXPECT_NE(why_not_steady(loaded.input, config), "");
    config = {};
    loaded.input.crashes.push_back({});
    EXPECT_EQ(why_not_steady(loaded.input, config), "pods crash");
    loaded.input.crashes.clear();
    loaded.input.cluster_events.push_back({});
    EXPECT_NE(why_not_steady(loaded.input, config), "");
}

TEST(steady, queues_that_no_pool_is_a_bound_of) {
    vgpusim::loaded_input loaded = crowded();
    run_config config;
    auto solver = vgpusim::find_solver("a test").value();
    const auto why = [&](const char* discipline) {
        config.discipline = discipline;
        const auto figures = steady_bounds_of(loaded.input, config, nullptr, *solver).value();
        EXPECT_EQ(figures.wait.has_value(), figures.why_no_wait.empty());
        return figures.why_no_wait;
    };
    EXPECT_EQ(why("fifo"), "");
    EXPECT_EQ(why("try_once"), "nobody waits under try_once");
    EXPECT_NE(why("easy").find("overtake"), std::string::npos);
    loaded.input.queues.push_back({.name = "q", .limit = {.devices = 3}});
    EXPECT_EQ(why("fifo"), "the queue has a quota");
    loaded.input.queues.push_back({.name = "r"});
    EXPECT_EQ(why("fifo"), "there are several queues");
    loaded.input.queues.clear();
    loaded.input.pods.back().duration.reset();
    EXPECT_EQ(why("fifo"), "some pods never leave");
    loaded.input.jobs.push_back({.first = 0, .pods = 2});
    EXPECT_EQ(why("fifo"), "jobs of several pods may start in part");
}

} // namespace
