#include "vgpusim/engine/acceptance.hpp"

#include <cstddef>
#include <string_view>

#include <gtest/gtest.h>

namespace {

using vgpualloc::ticks;
using vgpualloc::ticks_per_second;
using vgpusim::acceptance;
using vgpusim::gpu_sizes;

constexpr std::int64_t whole_units = 840; // of a GPU here

std::string_view size_name(std::int64_t units) { return gpu_sizes[vgpusim::size_of_units(units, whole_units)].name; }

TEST(acceptance, sizes_are_next_to_each_other_and_double) {
    EXPECT_EQ(size_name(1), "below 1");
    EXPECT_EQ(size_name(whole_units - 1), "below 1");
    EXPECT_EQ(size_name(whole_units), "1");
    EXPECT_EQ(size_name(2 * whole_units - 1), "1");
    EXPECT_EQ(size_name(3 * whole_units), "2 to 3");
    EXPECT_EQ(size_name(7 * whole_units), "4 to 7");
    EXPECT_EQ(size_name(8 * whole_units), "8 to 15");
    EXPECT_EQ(size_name(63 * whole_units), "32 to 63");
    EXPECT_EQ(size_name(1'000'000 * whole_units), "64 or more");
    for (std::size_t i = 0; i < gpu_sizes.size(); ++i) {
        if (gpu_sizes[i].from > 0) {
            EXPECT_EQ(vgpusim::size_of_units(gpu_sizes[i].from, 1), i);
        }
        if (i > 0) {
            EXPECT_EQ(gpu_sizes[i].from, gpu_sizes[i - 1].below);
        }
    }
}

/// Three small pods, one of which waited 4 s, and a large one that waited 10 s or was turned away.
acceptance after_four_pods(bool takes_large) {
    acceptance accepted{.whole = whole_units};
    accepted.count(whole_units / 2, true);
    accepted.count(whole_units / 2, true, 4 * ticks_per_second);
    accepted.count(whole_units, true);
    accepted.count(8 * whole_units, takes_large, 10 * ticks_per_second);
    accepted.count(0, true);
    return accepted;
}

TEST(acceptance, a_large_pod_weighs_as_much_as_it_asks_for) {
    const acceptance without = after_four_pods(false);
    EXPECT_EQ(without.pods.arrived, 5);
    EXPECT_DOUBLE_EQ(without.pods.accepted_ratio(), 0.8);
    EXPECT_DOUBLE_EQ(without.arrived_gpus(), 10.0);
    EXPECT_DOUBLE_EQ(without.gpu_ratio(), 0.2);
    EXPECT_EQ(without.by_size[4].arrived, 1);
    EXPECT_EQ(without.by_size[4].accepted_ratio(), 0.0);
    EXPECT_FALSE(without.by_size[4].wait_mean_s());
    EXPECT_EQ(after_four_pods(true).gpu_ratio(), 1.0);
}

TEST(acceptance, waits_are_those_of_accepted_pods) {
    const acceptance all = after_four_pods(true);
    EXPECT_DOUBLE_EQ(all.by_size[0].wait_mean_s().value(), 2.0);
    EXPECT_DOUBLE_EQ(all.by_size[4].wait_mean_s().value(), 10.0);
    EXPECT_DOUBLE_EQ(all.gpu_wait_mean_s().value(), (0.5 * 4 + 8 * 10) / 10);
    EXPECT_DOUBLE_EQ(after_four_pods(false).gpu_wait_mean_s().value(), 0.5 * 4 / 2);
}

TEST(acceptance, pods_without_gpus_are_of_no_size) {
    acceptance accepted;
    accepted.count(0, false);
    EXPECT_EQ(accepted.pods.arrived, 1);
    EXPECT_EQ(accepted.gpu_ratio(), 1.0);
    EXPECT_FALSE(accepted.gpu_wait_mean_s());
    for (const auto& size : accepted.by_size) EXPECT_EQ(size.arrived, 0);
}

} // namespace
