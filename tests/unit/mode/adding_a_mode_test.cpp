// The example of docs/adding-a-mode.md is this very header, one entry makes it known, it keeps the rules of modes, and
// both decision paths agree on it.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "example/equal_parts.hpp"
#include "support.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/alloc/reference.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/policy/best_fit.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

constexpr std::string_view header = "tests/unit/mode/example/equal_parts.hpp";
constexpr mode_entry entry = modes::make_mode_entry<modes::equal_parts>("as many equal parts as slots");

std::string text_of(std::string_view path) {
    std::ifstream file{std::string{VGA_SOURCE_DIR "/"} + std::string{path}, std::ios::binary};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// What stands between the markers of the page, without the fence around it.
std::string quoted_in(const std::string& page) {
    const std::string begin = "<!-- begin " + std::string{header} + " -->\n```cpp\n";
    const std::string end = "```\n<!-- end " + std::string{header} + " -->\n";
    const std::size_t first = page.find(begin);
    const std::size_t last = page.find(end);
    if (first == std::string::npos || last == std::string::npos) return "the markers are missing";
    return page.substr(first + begin.size(), last - first - begin.size());
}

TEST(adding_a_mode, the_page_quotes_the_header_byte_for_byte) {
    const std::string code = text_of(header);
    ASSERT_FALSE(code.empty());
    EXPECT_EQ(quoted_in(text_of("docs/adding-a-mode.md")), code);
}

/// A device of 10,000 MiB in four parts.
device_spec quartered() {
    static const shared_mode mode = entry.make(entry.example(), built_in_mig_catalog()).value();
    return {.model = "A", .memory = mib{10000}, .slots = 4, .mode = mode.get()};
}

TEST(adding_a_mode, one_line_in_the_list_makes_it_known) {
    EXPECT_EQ(entry.name, "equal_parts");
    EXPECT_FALSE(entry.summary.empty());
    EXPECT_EQ(quartered().mode->name(), entry.name);
    EXPECT_TRUE(entry.key(entry.example(), entry.example())) << "one object for all devices";
    EXPECT_FALSE(find_mode(entry.name).has_value()) << "the example is not in the list";
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

/// Pods come and go on two ledgers, one behind each path; every decision must be the same.
TEST(adding_a_mode, the_index_decides_as_the_reference_does) {
    cluster owned;
    for (int i = 0; i < 4; ++i) add_node(owned, {quartered(), quartered(), gpu("A", 3)});
    ledger fast_book{owned};
    ledger reference_book{owned};
    policies::best_fit scorer;
    allocator fast{fast_book, {.node = &scorer, .device = &scorer}};
    reference_allocator reference{reference_book, {.node = &scorer, .device = &scorer}};
    rng draw{5};
    std::vector<pod_id> live;
    for (std::uint32_t i = 0; i < 300; ++i) {
        const auto count = static_cast<std::int64_t>(1 + draw.below(3));
        const pod_request request = pod({want(count, static_cast<std::int64_t>(100 + 500 * draw.below(6)))});
        const auto fast_decision = fast.place(fast_book, pod_id{i}, fast.intern(request).value());
        reference.observe();
        const auto reference_decision = reference.decide(request);
        ASSERT_EQ(fast_decision.has_value(), reference_decision.has_value()) << "pod " << i;
        if (fast_decision) {
            ASSERT_EQ(static_cast<const placement&>(*fast_decision), *reference_decision) << "pod " << i;
            ASSERT_TRUE(reference_book.reserve(fast_book.booking_of(pod_id{i})));
            ASSERT_TRUE(reference_book.commit(pod_id{i}));
            live.push_back(pod_id{i});
        }
        if (live.empty() || draw.below(3) != 0) continue;
        const auto which = static_cast<std::size_t>(draw.below(live.size()));
        fast_book.release(live[which]);
        reference_book.release(live[which]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
    }
    EXPECT_GT(fast_book.live_count(), 10U);
    EXPECT_TRUE(fast_book.same_use(reference_book));
}

} // namespace
} // namespace vgpualloc
