// Forced pods: prefixes, and the pods that fit whatever was done before.
#include "vgpusim/bound/forced.hpp"

#include <gtest/gtest.h>

#include "../workloads.hpp"

namespace {

using vgpusim_test::at;
using vgpusim_test::built;
using vgpusim_test::cpu_only;
using vgpusim_test::gpu_node;
using vgpusim_test::share;
using vgpusim_test::whole;

TEST(forced, the_first_arrivals) {
    const auto input = built({gpu_node("n", 4)}, {share("a", 500), share("b", 500), whole("c", 2)});
    const auto forced = vgpusim::first_arrivals(input, 2);
    EXPECT_EQ(forced.pods, 2);
    double all = 0.0;
    for (const double count : forced.of_request) all += count;
    EXPECT_EQ(all, 2.0);
    EXPECT_EQ(vgpusim::first_arrivals(input, 100).asked.memory, 3000);
    EXPECT_EQ(vgpusim::arrivals_up_to(input, 10.0), 3U);
    EXPECT_EQ(vgpusim::arrivals_up_to(input, 0.0), 0U);
}

TEST(forced, as_many_shares_as_devices_surely_fit) {
    // Each may touch a device of its own; the fourth still finds one, the fifth may not.
    std::vector<vgputraces::openb_pod> pods;
    for (int i = 0; i < 6; ++i) pods.push_back(share("p" + std::to_string(i), 600));
    EXPECT_EQ(vgpusim::surely_placed(built({gpu_node("n", 4)}, pods)).pods, 4);
    EXPECT_EQ(vgpusim::surely_placed(built({gpu_node("n", 2), gpu_node("m", 2)}, pods)).pods, 4);
}

TEST(forced, a_pod_of_several_devices_needs_an_untouched_node) {
    std::vector<vgputraces::openb_pod> pods;
    for (int i = 0; i < 3; ++i) pods.push_back(whole("p" + std::to_string(i), 2));
    // After one pod on two of three devices of a node the second fits on the other node, and the third perhaps nowhere.
    EXPECT_EQ(vgpusim::surely_placed(built({gpu_node("n", 3), gpu_node("m", 3)}, pods)).pods, 2);
}

TEST(forced, cpu_may_run_out_before_devices) {
    auto large = share("p", 100);
    large.cpu = vgpualloc::milli_cpu{40000};
    std::vector<vgputraces::openb_pod> pods(3, large);
    for (int i = 0; i < 3; ++i) pods[static_cast<std::size_t>(i)].name += std::to_string(i);
    EXPECT_EQ(vgpusim::surely_placed(built({gpu_node("n", 8)}, pods)).pods, 1);
    EXPECT_EQ(vgpusim::surely_placed(built({gpu_node("n", 8), gpu_node("m", 8)}, pods)).pods, 2);
    EXPECT_EQ(vgpusim::surely_placed(built({gpu_node("n", 1)}, {cpu_only("c")})).pods, 1);
}

TEST(forced, nothing_is_sure_where_pods_leave) {
    const auto input = built({gpu_node("n", 2)}, {at(share("a", 500), 1, 5)}, 0.0, true);
    EXPECT_EQ(vgpusim::surely_placed(input).pods, 0);
}

// Every pod that is called sure is placed by every policy.
TEST(forced, policies_place_what_is_sure) {
    std::vector<vgputraces::openb_pod> pods;
    for (int i = 0; i < 40; ++i) {
        const std::string name = "p" + std::to_string(i);
        pods.push_back(i % 5 == 0 ? whole(name, 1 + i % 2) : share(name, 100 + 50 * (i % 9)));
        pods.back().cpu = vgpualloc::milli_cpu{2000 * (1 + i % 4)};
    }
    vgpusim::loaded_input loaded;
    loaded.input = built({gpu_node("a", 4), gpu_node("b", 2), gpu_node("c", 8)}, pods);
    const auto sure = vgpusim::surely_placed(loaded.input);
    EXPECT_GT(sure.pods, 3);
    for (const char* policy : {"best_fit", "worst_fit", "binpack", "spread", "random", "fgd"}) {
        vgpusim::run_config config;
        config.policy = policy;
        const auto record = vgpusim::replay(config, loaded, loaded.input.nodes, {}).value();
        std::vector<double> placed(loaded.input.requests.size(), 0.0);
        for (std::size_t i = 0; i < loaded.input.pods.size(); ++i) {
            if (record.result.pods[i].booking != vgpusim::no_booking) placed[loaded.input.pods[i].request] += 1.0;
        }
        for (std::size_t r = 0; r < placed.size(); ++r) EXPECT_GE(placed[r], sure.of_request[r]) << policy;
    }
}

} // namespace
