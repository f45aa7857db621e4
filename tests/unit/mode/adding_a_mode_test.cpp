// The example of docs/adding-a-mode.md is this very header, one entry makes it known, it keeps the rules of modes, and
// both decision paths agree on it.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "both_paths.hpp"
#include "example/equal_parts.hpp"
#include "quoted_code.hpp"
#include "support.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/policy/best_fit.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

constexpr mode_entry equal_parts_entry = modes::make_mode_entry<modes::equal_parts>("as many equal parts as slots");

TEST(adding_a_mode, the_page_quotes_the_header_byte_for_byte) {
    test::expect_quoted("docs/adding-a-mode.md", "tests/unit/mode/example/equal_parts.hpp");
}

/// A device of 10,000 MiB in four parts.
device_spec quartered() {
    static const shared_mode mode = equal_parts_entry.make(equal_parts_entry.example(), built_in_mig_catalog()).value();
    return {.model = "A", .memory = mib{10000}, .slots = 4, .mode = mode.get()};
}

TEST(adding_a_mode, one_line_in_the_list_makes_it_known) {
    EXPECT_EQ(equal_parts_entry.name, "equal_parts");
    EXPECT_FALSE(equal_parts_entry.summary.empty());
    EXPECT_EQ(quartered().mode->name(), equal_parts_entry.name);
    EXPECT_TRUE(equal_parts_entry.key(equal_parts_entry.example(), equal_parts_entry.example()))
        << "one object for all devices";
    EXPECT_FALSE(find_mode(equal_parts_entry.name).has_value()) << "the example is not in the list";
}

TEST(adding_a_mode, a_container_gets_one_part) {
    const device_spec device = quartered();
    const slice part{.memory = mib{2500}, .cores = core_percent{25}};
    std::vector<partition> candidates;
    device.mode->candidates(device, {}, want(1, 100), candidates);
    EXPECT_EQ(candidates, (std::vector<partition>{part}));
    EXPECT_EQ(device.mode->why_not(device, {}, want(1, 2501)),
              (rejection_detail{insufficient_device_memory, 2501, 2500}));
    EXPECT_EQ(device.mode->why_not(device, {}, want(1, 100, 26)),
              (rejection_detail{insufficient_device_cores, 26, 25}));
    device_state state;
    for (int i = 0; i < 4; ++i) state = device.mode->with(device, state, part);
    EXPECT_EQ(device.mode->why_not(device, state, want(1, 100)), (rejection_detail{insufficient_device_slots, 1, 0}));
    EXPECT_EQ(device.mode->used(device, state), whole_gpu);
    for (int i = 0; i < 4; ++i) state = device.mode->without(device, state, part);
    EXPECT_EQ(state, device_state{});
    EXPECT_EQ(device.mode->why_not(device, {}, partition{slice{.memory = mib{100}, .cores = {}}}).code,
              mode_not_offered);
}

TEST(adding_a_mode, the_index_decides_as_the_reference_does) {
    cluster owned;
    for (int i = 0; i < 4; ++i) add_node(owned, {quartered(), quartered(), gpu("A", 3)});
    policies::best_fit scorer;
    expect_equal_decisions(owned, scorer, scorer, [](rng& draw) {
        const auto count = static_cast<std::int64_t>(1 + draw.below(3));
        return pod({want(count, static_cast<std::int64_t>(100 + 500 * draw.below(6)))});
    });
}

} // namespace
} // namespace vgpualloc
