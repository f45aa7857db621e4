#include "vgpualloc/policy/price_table.hpp"

#include <gtest/gtest.h>

#include "milli_gpus.hpp"
#include "vgpualloc/mode/all.hpp"

namespace vgpualloc {
namespace {

TEST(price_table, takes_the_cpu_per_gpu_from_requests_for_devices) {
    cluster nodes;
    test::add_milli_node(nodes, "n", milli_cpu{96000}, mib{1000}, 1, "A", *find_mode("hami_core").value());
    const auto half = test::milli_request(milli_cpu{3000}, 1, 500);
    const auto two = test::milli_request(milli_cpu{12000}, 2, 1000);
    const auto elsewhere = test::milli_request(milli_cpu{90000}, 1, 500, {"B"});
    workload target;
    target.typical.push_back({.cpu = half.cpu, .containers = half.containers, .frequency = 0.4});
    target.typical.push_back({.cpu = two.cpu, .containers = two.containers, .frequency = 0.4});
    target.typical.push_back({.cpu = milli_cpu{9000}, .containers = {}, .frequency = 0.1});
    target.typical.push_back({.cpu = elsewhere.cpu, .containers = elsewhere.containers, .frequency = 0.1});
    EXPECT_EQ(prices_by_size(target, nodes), (price_table{.devices = {}, .cpu_per_gpu = 6000}));
    EXPECT_EQ(prices_by_size({}, nodes), price_table{});
}

TEST(price_table, says_whether_pods_keep_away_from_devices_that_would_serve_them) {
    cluster nodes;
    const auto named_of = [&nodes](const std::vector<std::string>& models, double frequency) {
        const auto any = test::milli_request(milli_cpu{3000}, 1, 500);
        const auto naming = test::milli_request(milli_cpu{3000}, 1, 500, models);
        workload target;
        target.typical.push_back({.cpu = any.cpu, .containers = any.containers, .frequency = 1.0 - frequency});
        target.typical.push_back({.cpu = naming.cpu, .containers = naming.containers, .frequency = frequency});
        return prices_by_size(target, nodes).models_named;
    };
    test::add_milli_node(nodes, "a", milli_cpu{96000}, mib{1000}, 1, "A", *find_mode("hami_core").value());
    EXPECT_FALSE(named_of({"A"}, 0.5)) << "there is no other kind";
    test::add_milli_node(nodes, "b", milli_cpu{96000}, mib{1000}, 1, "B", *find_mode("hami_core").value());
    EXPECT_TRUE(named_of({"A"}, 0.5));
    EXPECT_TRUE(named_of({"A"}, 0.02));
    EXPECT_FALSE(named_of({"A"}, 0.005)) << "hardly anybody does";
    EXPECT_FALSE(named_of({"A", "B"}, 0.5)) << "all that is there";
    EXPECT_FALSE(named_of({"C"}, 0.5)) << "no device would ever take them";
}

TEST(price_table, says_whether_the_devices_are_short_of_cpu) {
    // 10,000 milli-CPU for each of two devices, and 10,000 more.
    cluster nodes;
    const sharing_mode& mode = *find_mode("hami_core").value();
    test::add_milli_node(nodes, "a", milli_cpu{10000}, mib{1000}, 1, "A", mode);
    test::add_milli_node(nodes, "b", milli_cpu{20000}, mib{1000}, 1, "A", mode);
    const auto scarce_with = [&nodes](std::int64_t cpu, std::int64_t cpu_without_devices) {
        const auto whole = test::milli_request(milli_cpu{cpu}, 1, 1000);
        workload target;
        target.typical.push_back({.cpu = whole.cpu, .containers = whole.containers, .frequency = 0.5});
        target.typical.push_back({.cpu = milli_cpu{cpu_without_devices}, .containers = {}, .frequency = 0.5});
        return prices_by_size(target, nodes).cpu_scarce;
    };
    EXPECT_FALSE(scarce_with(10000, 0));
    EXPECT_FALSE(scarce_with(10600, 0)) << "one of two devices lacks less than 6 %";
    EXPECT_TRUE(scarce_with(10700, 0));
    EXPECT_FALSE(scarce_with(10000, 5000)) << "a pod without devices for each device finds what is spare";
    EXPECT_FALSE(scarce_with(10000, 5200));
    EXPECT_TRUE(scarce_with(10000, 5400)) << "they take what devices need";
    EXPECT_FALSE(scarce_with(0, 90000)) << "devices need none";
}

} // namespace
} // namespace vgpualloc
