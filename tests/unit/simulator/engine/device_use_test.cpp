#include "vgpusim/engine/device_use.hpp"

#include <gtest/gtest.h>

#include "vgpualloc/mode/all.hpp"

namespace {

using namespace vgpualloc;
using vgpusim::device_use;
using vgpusim::device_use_model;
using vgpusim::power_draw;

device_spec gpu_of(const std::string& model) {
    return {.model = model, .memory = mib{16'000}, .slots = 10, .mode = *find_mode("hami_core")};
}

struct two_kinds {
    two_kinds() {
        cluster.kinds = {gpu_of("Tesla T4"), gpu_of("G2")};
        known = {.spec = &cluster.kinds[0], .state = {.memory = mib{4000}, .cores = core_percent{50}, .slots = 1}};
        unknown = {.spec = &cluster.kinds[1], .state = {.memory = mib{100}, .cores = core_percent{10}, .slots = 1}};
        unknown.kind = 1;
        empty = {.spec = &cluster.kinds[0]};
        failed = empty;
        failed.service = service_state::failed;
    }
    device_kinds cluster;
    device_view known, unknown, empty, failed;
};

TEST(device_use, adds_memory_compute_and_power_of_the_devices_that_have_one) {
    const two_kinds kinds;
    const auto power = vgpusim::power_of_kinds(kinds.cluster, built_in_power_catalog());
    ASSERT_TRUE(power.at(0).has_value());
    EXPECT_FALSE(power.at(1).has_value());
    device_use_model model{kinds.cluster, power};
    EXPECT_TRUE(model.profiles().empty());
    const device_view* devices[] = {&kinds.known, &kinds.unknown, &kinds.empty, &kinds.failed};
    const device_use amounts = model.of({.devices = devices});
    // A device that has failed with nothing on it is off.
    EXPECT_EQ(amounts, (device_use{.memory_mib = 4100, .compute_milli = 600, .watts = 70 + 10}));
}

TEST(device_use, remembers_configurations_until_ids_change_their_meaning) {
    const two_kinds kinds;
    device_use_model model{kinds.cluster, {power_draw{.idle = 1, .busy = 2}}};
    const device_view* busy[] = {&kinds.known};
    const device_view* idle[] = {&kinds.empty};
    EXPECT_EQ(model.of({.id = 7, .devices = busy}).watts, 2);
    EXPECT_EQ(model.of({.id = 7, .devices = idle}).watts, 2); // the same id is the same configuration
    model.forget_ids();
    EXPECT_EQ(model.of({.id = 7, .devices = idle}).watts, 1);
    EXPECT_EQ(model.of({.id = 3, .devices = busy}).memory_mib, 4000);
    EXPECT_EQ(model.of({.devices = idle}).watts, 1);
}

} // namespace
