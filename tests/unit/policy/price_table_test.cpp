#include "vgpualloc/policy/price_table.hpp"

#include <gtest/gtest.h>

#include "vgpualloc/dialect/openb.hpp"
#include "vgpualloc/mode/all.hpp"

namespace vgpualloc {
namespace {

TEST(price_table, takes_the_cpu_per_gpu_from_requests_for_devices) {
    cluster nodes;
    openb::add_node(nodes, "n", milli_cpu{96000}, mib{1000}, 1, "A", *find_mode("hami_core").value());
    const auto half = openb::make_request(milli_cpu{3000}, mib{0}, 1, milli_gpu{500}, "");
    const auto two = openb::make_request(milli_cpu{12000}, mib{0}, 2, milli_gpu{1000}, "");
    const auto elsewhere = openb::make_request(milli_cpu{90000}, mib{0}, 1, milli_gpu{500}, "B");
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
    const auto named_of = [&nodes](const char* model, double frequency) {
        const auto any = openb::make_request(milli_cpu{3000}, mib{0}, 1, milli_gpu{500}, "");
        const auto naming = openb::make_request(milli_cpu{3000}, mib{0}, 1, milli_gpu{500}, model);
        workload target;
        target.typical.push_back({.cpu = any.cpu, .containers = any.containers, .frequency = 1.0 - frequency});
        target.typical.push_back({.cpu = naming.cpu, .containers = naming.containers, .frequency = frequency});
        return prices_by_size(target, nodes).models_named;
    };
    openb::add_node(nodes, "a", milli_cpu{96000}, mib{1000}, 1, "A", *find_mode("hami_core").value());
    EXPECT_FALSE(named_of("A", 0.5)) << "there is no other kind";
    openb::add_node(nodes, "b", milli_cpu{96000}, mib{1000}, 1, "B", *find_mode("hami_core").value());
    EXPECT_TRUE(named_of("A", 0.5));
    EXPECT_TRUE(named_of("A", 0.02));
    EXPECT_FALSE(named_of("A", 0.005)) << "hardly anybody does";
    EXPECT_FALSE(named_of("A|B", 0.5)) << "all that is there";
    EXPECT_FALSE(named_of("C", 0.5)) << "no device would ever take them";
}

} // namespace
} // namespace vgpualloc
