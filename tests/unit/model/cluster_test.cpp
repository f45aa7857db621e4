// Clusters share device specifications; views add up what policies see.
#include "support.hpp"

#include "vgpualloc/model/view.hpp"

namespace vgpualloc {
namespace {

using namespace test;

TEST(cluster, equal_specifications_share_a_kind) {
    cluster owned;
    const std::uint32_t a = owned.kind_of(gpu("A"));
    const std::uint32_t b = owned.kind_of(gpu("B"));
    EXPECT_NE(a, b);
    EXPECT_EQ(owned.kind_of(gpu("A")), a);
    EXPECT_NE(owned.kind_of(gpu("A", 10, "exclusive")), a);
    EXPECT_EQ(owned.kinds.size(), 3U);
    const node_index where = add_node(owned, {gpu("B"), gpu("A")});
    EXPECT_EQ(owned.spec_of(where, device_index{0U}).model, "B");
    EXPECT_EQ(owned.spec_of(where, device_index{1U}).model, "A");
}

TEST(device, what_cannot_serve_is_said_in_the_order_model_mode_service) {
    device_spec device = gpu("A");
    device_request request = want(1, 1000);
    request.models = {"B", "C"};
    request.mode = "exclusive";
    EXPECT_EQ(why_never(device, request), rejection_code::model_not_accepted);
    request.models = {"B", "A"};
    EXPECT_EQ(why_never(device, request), rejection_code::mode_not_offered);
    request.mode = "hami_core";
    EXPECT_EQ(why_never(device, request), rejection_code::none);
    request.memory = mib{20000};
    const auto code = [&](service_state service) { return why_not(device, {}, service, request).code; };
    EXPECT_EQ(code(service_state::failed), rejection_code::device_unhealthy);
    EXPECT_EQ(code(service_state::draining), rejection_code::device_draining);
    EXPECT_EQ(code(service_state::reconfiguring), rejection_code::device_reconfiguring);
    EXPECT_EQ(code(service_state::in_service), rejection_code::insufficient_device_memory);
    device_request nothing = want(0, 1);
    nothing.family = "another vendor's";
    EXPECT_EQ(why_never(device, nothing), rejection_code::none) << "no device is asked for";
    nothing.mode = "mig";
    EXPECT_EQ(why_never(device, nothing), rejection_code::mode_not_offered);
}

TEST(device, memory_is_an_amount_or_a_percentage_or_all_of_it) {
    device_spec device = gpu();
    device.memory = mib{24576};
    device_request request = want(1, 0);
    EXPECT_EQ(memory_wanted(device, request), mib{24576});
    request.memory_percent = 33; // 8110.08, rounded down as HAMi does
    EXPECT_EQ(memory_wanted(device, request), mib{8110});
    request.memory = mib{500}; // the percentage counts where both are given
    EXPECT_EQ(memory_wanted(device, request), mib{8110});
    request.memory_percent.reset();
    EXPECT_EQ(memory_wanted(device, request), mib{500});
    request.memory_percent = 0;
    EXPECT_EQ(memory_wanted(device, request), mib{0});
}

TEST(view, totals_add_up_over_devices) {
    const device_spec spec = gpu();
    const device_view idle{.spec = &spec};
    device_view busy{.spec = &spec};
    busy.state.slots = 1;
    busy.used = milli_gpu{300};
    device_view nothing_limited{.spec = &spec}; // in use, though by a container that limits nothing
    nothing_limited.state.slots = 1;
    device_config config;
    for (const device_view* device : {&std::as_const(idle), &std::as_const(busy), &std::as_const(nothing_limited)}) {
        add_to_totals(config, *device);
    }
    EXPECT_EQ(config.used, milli_gpu{300});
    EXPECT_EQ(config.free, milli_gpu{2700});
    EXPECT_EQ(config.total(), milli_gpu{3000});
    EXPECT_EQ(config.devices_free_whole, 1);
    EXPECT_EQ(busy.free(), milli_gpu{700});
    EXPECT_EQ(idle.id, not_interned);
}

TEST(view, totals_after_a_step_are_those_of_the_changed_devices) {
    const device_spec spec = gpu();
    std::vector<device_view> states(3, device_view{.spec = &spec});
    states[1].state.slots = 1;
    states[1].used = milli_gpu{300};
    states[2].state.slots = 2;
    states[2].used = milli_gpu{1000};
    for (const device_view& before : states) {
        for (const device_view& after : states) {
            device_config config;
            device_config expected;
            for (const device_view* other : {&states[0], &states[1]}) {
                add_to_totals(config, *other);
                add_to_totals(expected, *other);
            }
            add_to_totals(config, before);
            add_to_totals(expected, after);
            const device_config totals = totals_after(config, before, after);
            EXPECT_EQ(totals.used, expected.used);
            EXPECT_EQ(totals.free, expected.free);
            EXPECT_EQ(totals.devices_free_whole, expected.devices_free_whole);
        }
    }
}

TEST(device_state, equal_states_hash_alike_and_each_field_counts) {
    const device_state base{.memory = mib{5}, .cores = core_percent{6}, .slots = 7, .layout = 8};
    std::vector<device_state> others(4, base);
    others[0].memory = mib{50};
    others[1].cores = core_percent{60};
    others[2].slots = 70;
    others[3].layout = 80;
    EXPECT_EQ(hash_value(base), hash_value(device_state{base}));
    for (const device_state& other : others) {
        EXPECT_NE(other, base);
        EXPECT_NE(hash_value(other), hash_value(base));
    }
}

} // namespace
} // namespace vgpualloc
