// Conditions on what runs together: every set of pods that has room meets them, at whatever prices.
#include "vgpusim/bound/workload_packing.hpp"

#include <gtest/gtest.h>

#include "tiny_cluster.hpp"
#include "vgpusim/study/solver.hpp"

namespace {

using vgpusim::workload_packing;
using vgpusim_test::tiny_cluster;
using vgpusim_test::tiny_pod;
using vgpusim_test::tiny_random;

/// Whether some placement has room for all of these pods.
bool fit_together(tiny_cluster& cluster, const std::vector<tiny_pod>& pods, std::size_t next = 0) {
    if (next == pods.size()) return true;
    for (const auto& place : cluster.places_of(pods[next])) {
        cluster.take(pods[next], place);
        const bool fits = fit_together(cluster, pods, next + 1);
        cluster.take(pods[next], place, -1);
        if (fits) return true;
    }
    return false;
}

TEST(workload_packing, every_set_that_fits_meets_every_condition) {
    int broken = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        tiny_random random{seed};
        const auto nodes = vgpusim_test::random_nodes(random);
        const auto pods = vgpusim_test::random_pods(random, 8, 1);
        const auto input = vgpusim_test::input_of(nodes, pods);
        auto packing = workload_packing::of(input).value();
        auto solver = vgpusim::find_solver("a test").value();
        std::vector<double> price;
        for (std::size_t t = 0; t < packing.types(); ++t) price.push_back(static_cast<double>(random.below(900)));
        const auto cut = cut_at(price, packing, *solver).value();
        for (std::uint32_t chosen = 0; chosen < (1U << pods.size()); ++chosen) {
            std::vector<tiny_pod> together;
            double worth = 0.0;
            for (std::size_t i = 0; i < pods.size(); ++i) {
                if ((chosen >> i & 1U) == 0) continue;
                together.push_back(pods[i]);
                worth += packing.sum_of(input.pods[i].request, cut.price);
            }
            tiny_cluster cluster{nodes};
            if (worth <= cut.most + 1e-6) continue;
            ++broken;
            ASSERT_FALSE(fit_together(cluster, together)) << seed << ' ' << chosen;
        }
    }
    EXPECT_GT(broken, 100); // the conditions exclude something
}

TEST(workload_packing, a_pod_of_several_devices_is_as_many_entries) {
    const auto input = vgpusim_test::input_of({{.free = {1000, 1000}, .cpu = 8000}},
                                              {{.gpus = 2, .cpu = 2000}, {.gpus = 0, .milli = 0, .cpu = 2000}});
    auto packing = workload_packing::of(input).value();
    ASSERT_EQ(packing.types(), 2U);
    const std::size_t of_two = input.pods[0].request;
    EXPECT_EQ(packing.entries_of(of_two).front().second, 2.0);
    EXPECT_EQ(packing.sum_of(of_two, packing.milli()), 2000.0);
    EXPECT_EQ(packing.sum_of(of_two, packing.host_share(0)), 0.25);
    EXPECT_EQ(packing.sum_of(input.pods[1].request, packing.milli()), 0.0);
    EXPECT_EQ(packing.sum_of(input.pods[1].request, packing.host_share(0)), 0.25);
}

TEST(workload_packing, costs_are_what_a_price_leaves_of_the_value) {
    // Two pods of 600 milli for one GPU: a second one adds nothing, so what one is worth is the GPU's.
    const auto input = vgpusim_test::input_of({{.free = {1000}}}, {{.milli = 600}, {.milli = 600}});
    auto packing = workload_packing::of(input).value();
    auto solver = vgpusim::find_solver("a test").value();
    const auto prices = packing.solve(packing.milli(), packing.all_entries(), *solver).value();
    EXPECT_DOUBLE_EQ(prices.bound, 600.0);
    EXPECT_EQ(vgpusim::costs_of(prices, packing.milli()), std::vector<double>{600.0});
    EXPECT_DOUBLE_EQ(cut_at({600.0}, packing, *solver)->most, 600.0);
}

} // namespace
