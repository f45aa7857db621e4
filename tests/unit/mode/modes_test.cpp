// The rules of the sharing modes, one check at a time and in the order in which they are made.
#include "mode/refusals.hpp"
#include "requirements.hpp"
#include "support.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

struct rule {
    const char* why;
    device_state state;
    device_request request;
    rejection_detail expected;
};

device_request percent(std::int64_t share, std::int64_t cores = 0) {
    device_request request = want(1, 0, cores);
    request.memory_percent = share;
    return request;
}

void expect_rules(const device_spec& device, const std::vector<rule>& rules) {
    for (const rule& rule_row : rules) {
        EXPECT_EQ(refusal_of(device, rule_row.state, rule_row.request), rule_row.expected) << rule_row.why;
    }
}

TEST(hami_core, joins_by_slots_then_memory_then_cores_then_the_rules_of_full_compute) {
    expect_rules(
        gpu("A", 2),
        {
            {"all three are short: the split count is said",
             used(9500, 90, 2),
             want(1, 1000, 50),
             {insufficient_device_slots, 1, 0}},
            {"then memory", used(9500, 90, 1), want(1, 1000, 50), {insufficient_device_memory, 1000, 500}},
            {"then compute", used(9000, 90, 1), want(1, 1000, 50), {insufficient_device_cores, 50, 10}},
            {"exactly what is left fits", used(9000, 90, 1), want(1, 1000, 10), {}},
            {"100 % joins nobody", used(1000, 0, 1), want(1, 1000, 100), {device_in_use, 0, 1}},
            {"100 % of an empty device fits", used(0, 0, 0), want(1, 1000, 100), {}},
            {"more than 100 % fits nowhere", used(0, 0, 0), want(1, 1000, 101), {insufficient_device_cores, 101, 100}},
            {"no share does not join given-out compute",
             used(1000, 100, 1),
             want(1, 1000, 0),
             {device_taken_whole, 1, 0}},
            {"no share joins compute that is nearly given out", used(1000, 99, 1), want(1, 1000, 0), {}},
        });
}

TEST(hami_core, memory_by_percent_is_of_the_whole_device) {
    expect_rules(
        gpu(), {
                   {"half of 10000", used(5000, 0, 1), percent(50), {}},
                   {"51 % is 5100", used(5000, 0, 1), percent(51), {insufficient_device_memory, 5100, 5000}},
                   {"nothing said is all of it", used(1, 0, 1), want(1, 0), {insufficient_device_memory, 10000, 9999}},
               });
    std::vector<partition> parts;
    mode("hami_core").candidates(gpu(), {}, percent(25, 30), parts);
    EXPECT_EQ(parts, std::vector<partition>{part(2500, 30)});
}

TEST(hami_core, a_part_is_judged_by_budgets_alone) {
    const device_spec device = gpu("A", 2);
    const auto why = [&](const device_state& state, const partition& part) {
        return device.mode->why_not(device, state, part);
    };
    EXPECT_EQ(why(used(0, 100, 1), part(10, 0)).code, none) << "the rules about joining are the request's";
    EXPECT_EQ(why(used(0, 0, 1), part(10, 100)).code, none);
    EXPECT_EQ(why({}, whole_device{}).code, mode_not_offered);
    EXPECT_EQ(why({}, part(-1, 0)).code, mode_not_offered) << "a negative part would give capacity back";
    EXPECT_EQ(why({}, part(0, -1)).code, mode_not_offered);
    EXPECT_EQ(why(used(0, 0, 2), part(0, 0)), (rejection_detail{insufficient_device_slots, 1, 0}));
}

TEST(hami_core, use_is_the_larger_of_the_memory_and_compute_shares_rounded_up) {
    const device_spec device = gpu();
    EXPECT_EQ(device.mode->used(device, used(2500, 10, 1)), milli_gpu{250});
    EXPECT_EQ(device.mode->used(device, used(2500, 30, 1)), milli_gpu{300});
    EXPECT_EQ(device.mode->used(device, used(1, 0, 1)), milli_gpu{1});
    EXPECT_EQ(device.mode->used(device, {}), milli_gpu{0});
}

TEST(hami_core, parts_add_up_and_come_off_in_any_order) {
    const device_spec device = gpu();
    const device_state two = device.mode->with(device, device.mode->with(device, {}, part(100, 5)), part(200, 6));
    EXPECT_EQ(two, used(300, 11, 2));
    EXPECT_EQ(device.mode->without(device, two, part(100, 5)), used(200, 6, 1));
}

TEST(exclusive, a_device_has_one_user_whatever_it_asked_for) {
    const device_spec device = gpu("A", 10, "exclusive");
    const device_state taken = device.mode->with(device, {}, whole_device{});
    EXPECT_EQ(taken, (device_state{.memory = mib{10000}, .cores = core_percent{100}, .slots = 1, .layout = 1}));
    expect_rules(
        device,
        {
            {"a small part takes the whole device", {}, want(1, 10, 1), {}},
            {"a part that does not exist: memory", {}, want(1, 10001, 101), {insufficient_device_memory, 10001, 10000}},
            {"a part that does not exist: compute", {}, want(1, 10, 101), {insufficient_device_cores, 101, 100}},
            {"taken", taken, want(1, 10), {device_taken_whole, 1, 0}},
            {"the amount is checked before the use", taken, want(1, 10001), {insufficient_device_memory, 10001, 10000}},
        });
    EXPECT_EQ(device.mode->why_not(device, {}, partition{part(10, 0)}).code, mode_not_offered);
    EXPECT_EQ(device.mode->used(device, taken), whole_gpu);
    EXPECT_EQ(device.mode->used(device, {}), milli_gpu{0});
    EXPECT_EQ(device.mode->without(device, taken, whole_device{}), device_state{});
}

TEST(all_modes, are_sorted_described_and_found_by_name) {
    covers({"R062"});
    EXPECT_TRUE(std::ranges::is_sorted(mode_list, {}, &mode_entry::name));
    EXPECT_EQ(all_modes().size(), mode_list.size());
    for (const mode_entry& entry : mode_list) {
        EXPECT_FALSE(entry.summary.empty());
        EXPECT_EQ(entry.example().mode, entry.name);
        const sharing_mode* const mode = find_mode(entry.name).value();
        EXPECT_EQ(mode->name(), entry.name);
        EXPECT_EQ(std::ranges::count(all_modes(), mode), 1);
    }
    const auto unknown = find_mode("mps2");
    ASSERT_FALSE(unknown.has_value());
    EXPECT_EQ(unknown.error().code, error_code::unknown_name);
    EXPECT_EQ(unknown.error().message(),
              "mode: got 'mps2', expected one of ascend_vir, cce, exclusive, hami_core, mig, mindcluster_310p, mps, "
              "time_slicing");
}

TEST(all_modes, parts_of_mig_alone_lie_at_places_and_the_first_tenant_of_cce_alone_decides) {
    for (const sharing_mode* const mode : all_modes()) {
        EXPECT_EQ(mode->placed() != nullptr, mode->name() == "mig") << mode->name();
        EXPECT_EQ(mode->first_tenant_decides(), mode->name() == "cce") << mode->name();
    }
}

} // namespace
} // namespace vgpualloc
