// From registrations to devices: shared modes and kinds, and what is refused.
#include "vgpualloc/mode/factory.hpp"

#include <functional>

#include "requirements.hpp"
#include "support.hpp"
#include "vgpualloc/mode/all.hpp"

namespace vgpualloc {
namespace {

using namespace test;

device_registration registered(std::string uuid, std::string mode = "hami_core") {
    device_registration device;
    device.uuid = std::move(uuid);
    device.model = "NVIDIA A100-SXM4-40GB";
    device.family = "NVIDIA";
    device.mode = std::move(mode);
    device.memory = mib{40960};
    device.slots = 10;
    return device;
}

std::vector<mig_group> groups(std::int64_t count = 7) {
    return {{.name = "g1", .kinds = {{.name = "1g.5gb", .memory = mib{5120}, .count = count}}},
            {.name = "g2", .kinds = {{.name = "3g.20gb", .memory = mib{20480}, .count = 2}}}};
}

expected<void> add(cluster& to, node& where, const device_registration& from) {
    return add_device(to, where, from, built_in_mig_catalog());
}

TEST(add_device, takes_over_what_the_node_registers) {
    cluster owned;
    node where{.name = "n", .cpu = {}, .memory = {}, .devices = {}};
    device_registration from = registered("GPU-0");
    from.link_group = 3;
    ASSERT_TRUE(add(owned, where, from));
    ASSERT_EQ(where.devices.size(), 1U);
    EXPECT_EQ(where.devices[0].uuid, "GPU-0");
    EXPECT_EQ(where.devices[0].link_group, 3);
    EXPECT_EQ(owned.kinds[0], (device_spec{.model = "NVIDIA A100-SXM4-40GB",
                                           .family = "NVIDIA",
                                           .memory = mib{40960},
                                           .cores = whole_compute,
                                           .slots = 10,
                                           .mode = &mode("hami_core")}));
    EXPECT_TRUE(owned.modes.empty()) << "listed modes need no keeping";
}

TEST(add_device, equal_registrations_share_their_kind_and_mode) {
    cluster owned;
    node where;
    device_registration by_groups = registered("GPU-0", "mig");
    by_groups.geometry = groups();
    const device_registration by_catalog = registered("GPU-1", "mig");
    for (int i = 0; i < 3; ++i) {
        by_groups.uuid = "G" + std::to_string(i);
        device_registration other = by_catalog;
        other.uuid = "C" + std::to_string(i);
        ASSERT_TRUE(add(owned, where, by_groups));
        ASSERT_TRUE(add(owned, where, other));
    }
    EXPECT_EQ(owned.modes.size(), 2U);
    EXPECT_EQ(owned.kinds.size(), 2U);
    by_groups.uuid = "G3";
    by_groups.memory_factor = 1024;
    by_groups.memory = mib{40};
    ASSERT_TRUE(add(owned, where, by_groups));
    EXPECT_EQ(owned.modes.size(), 3U) << "another factor is another mode";
    const cluster copy = owned;
    owned = {};
    EXPECT_EQ(copy.kinds[0].mode->name(), "mig") << "a copy keeps the modes alive";
}

TEST(add_device, makes_every_mode_of_the_list) {
    covers({"R062"});
    for (const mode_entry& entry : mode_list) {
        cluster owned;
        node where;
        device_registration device = entry.example();
        device.uuid = "GPU-0";
        const auto added = add(owned, where, device);
        ASSERT_TRUE(added) << entry.name << ": " << added.error().message();
        EXPECT_EQ(owned.kinds[0].mode->name(), entry.name);
        device.uuid = "GPU-1";
        ASSERT_TRUE(add(owned, where, device));
        EXPECT_EQ(owned.kinds.size(), 1U) << entry.name << ": equal registrations share mode and kind";
    }
}

TEST(add_device, a_mode_is_made_anew_for_whatever_it_is_made_from) {
    using change = std::function<void(device_registration&)>;
    const auto npu_of = [](device_registration& device) { device.npu = modes::ascend_vir::example().npu; };
    const std::vector<std::pair<const char*, change>> rows{
        {"mig", [](auto& device) { device.model = "NVIDIA A30"; }},
        {"mig", [](auto& device) { device.geometry = groups(); }},
        {"mindcluster_310p", [](auto& device) { device.cores = core_percent{10}; }},
        {"mindcluster_310p", [](auto& device) { device.npu.ai_cpu = 6; }},
        {"ascend_vir", [&](auto& device) { npu_of(device), device.npu.ai_cpu = 6; }},
        {"ascend_vir", [](auto& device) { device.soft = true; }},
        {"ascend_vir", [](auto& device) { device.soft_only = true; }},
    };
    for (const auto& [name, spoil] : rows) {
        cluster owned;
        node where;
        device_registration device = (*find_mode_entry(name))->example();
        device.uuid = "first";
        ASSERT_TRUE(add(owned, where, device)) << name;
        spoil(device);
        device.uuid = "second";
        ASSERT_TRUE(add(owned, where, device)) << name;
        EXPECT_EQ(owned.modes.size(), 2U) << name;
        EXPECT_NE(owned.kinds[where.devices[0].kind].mode, owned.kinds[where.devices[1].kind].mode) << name;
    }
}

TEST(add_device, hardware_overrules_what_was_registered) {
    cluster owned;
    node where;
    ASSERT_TRUE(add(owned, where, registered("GPU-0", "mig")));
    EXPECT_EQ(owned.kinds[0].slots, 7);
    device_registration big = registered("GPU-1", "mps");
    big.slots = 100;
    ASSERT_TRUE(add(owned, where, big));
    EXPECT_EQ(owned.kinds[1].slots, 48);
    device_registration rounded = registered("GPU-2", "mig");
    rounded.memory = mib{40000};
    rounded.geometry = groups();
    ASSERT_TRUE(add(owned, where, rounded));
    EXPECT_EQ(owned.kinds[2].memory, mib{40000}) << "as registered, though two instances are called 20 GB";
}

TEST(add_device, refuses_what_it_cannot_make_and_changes_nothing) {
    using change = std::function<void(device_registration&)>;
    struct row {
        error_code code;
        const char* field;
        change spoil;
    };
    const std::vector<row> rows{
        {error_code::unknown_name, "mode", [](auto& r) { r.mode = "mig2"; }},
        {error_code::unknown_name, "mode", [](auto& r) { r.mode = ""; }},
        {error_code::unknown_name, "MIG model", [](auto& r) { r.mode = "mig", r.model = "Tesla V100"; }},
        {error_code::unsupported, "geometry", [](auto& r) { r.mode = "mig", r.geometry = groups(63); }},
        {error_code::unsupported, "geometry", [](auto& r) { r.mode = "mig", r.geometry = groups(1LL << 62U); }},
        {error_code::out_of_range, "geometry count", [](auto& r) { r.mode = "mig", r.geometry = groups(-1); }},
        {error_code::out_of_range, "memory_factor",
         [](auto& r) { r.mode = "mig", r.geometry = groups(), r.memory_factor = 0; }},
        {error_code::out_of_range, "memory_factor",
         [](auto& r) { r.mode = "mig", r.geometry = groups(), r.memory_factor = (1LL << 20U) + 1; }},
        {error_code::out_of_range, "1g.5gb memory",
         [](auto& r) { r.mode = "mig", r.offers = {{"1g.5gb", mib{1LL << 41U}, {}, 1, 1, {0}}}; }},
        {error_code::out_of_range, "memory", [](auto& r) { r.memory = mib{(1LL << 40U) + 1}; }},
        {error_code::out_of_range, "cores", [](auto& r) { r.cores = core_percent{1'000'001}; }},
        {error_code::out_of_range, "slots", [](auto& r) { r.slots = 1'000'001; }},
        {error_code::out_of_range, "memory", [](auto& r) { r.memory = mib{0}; }},
        {error_code::out_of_range, "cores", [](auto& r) { r.cores = core_percent{0}; }},
        {error_code::out_of_range, "slots", [](auto& r) { r.slots = 0; }},
        {error_code::out_of_range, "memory_allocatable", [](auto& r) { r.mode = "ascend_vir"; }},
        {error_code::duplicate, "uuid", [](auto& r) { r.uuid = "GPU-0"; }},
    };
    for (const row& line : rows) {
        cluster owned;
        node where;
        ASSERT_TRUE(add(owned, where, registered("GPU-0")));
        device_registration bad = registered("GPU-1");
        line.spoil(bad);
        const auto refused = add(owned, where, bad);
        ASSERT_FALSE(refused.has_value()) << line.field;
        EXPECT_EQ(refused.error().code, line.code) << refused.error().message();
        EXPECT_EQ(refused.error().field, line.field) << refused.error().message();
        EXPECT_EQ(refused.error().where.substr(0, 10), "device GPU") << refused.error().message();
        EXPECT_EQ(where.devices.size(), 1U);
        EXPECT_EQ(owned.kinds.size(), 1U);
        EXPECT_TRUE(owned.modes.empty());
    }
}

TEST(add_device, sixty_four_slots_fit) {
    cluster owned;
    node where;
    device_registration from = registered("GPU-0", "mig");
    from.geometry = groups(62);
    EXPECT_TRUE(add(owned, where, from));
}

TEST(add_device, the_largest_factor_and_amounts_do_not_overflow) {
    cluster owned;
    node where;
    device_registration device = registered("GPU-0", "mig");
    device.geometry = {{.name = "g", .kinds = {{.name = "k", .memory = mib{1LL << 40U}, .count = 1}}}};
    device.memory_factor = 1LL << 20U;
    device.memory = mib{1LL << 40U};
    ASSERT_TRUE(add(owned, where, device));
    const device_spec& spec = owned.kinds[0];
    EXPECT_EQ(spec.mode->why_not(spec, {}, want(1, 1LL << 40U)).code, rejection_code::no_free_instance);
    EXPECT_EQ(spec.mode->why_not(spec, {}, want(1, 1LL << 20U)).code, rejection_code::none);
}

TEST(add_device, an_unhealthy_device_keeps_its_position) {
    cluster owned;
    node where;
    device_registration lost;
    lost.uuid = "GPU-0";
    lost.healthy = false;
    ASSERT_TRUE(add(owned, where, lost)) << "nothing is known but that it is there";
    ASSERT_TRUE(add(owned, where, registered("GPU-1")));
    EXPECT_EQ(where.devices[0].service, service_state::failed);
    EXPECT_EQ(where.devices[1].service, service_state::in_service);
    const ledger book{owned}; // which wants a mode, memory and compute of every kind
    placer placing{owned, "binpack"};
    EXPECT_EQ(placing.book.live_count(), 0U);
}

} // namespace
} // namespace vgpualloc
