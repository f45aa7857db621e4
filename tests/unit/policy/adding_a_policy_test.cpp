// The example of docs/adding-a-policy.md is this very header, it compiles, and it decides the same on both paths.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "both_paths.hpp"
#include "example/balanced.hpp"
#include "milli_gpus.hpp"
#include "quoted_code.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/mode/hami_core.hpp"
#include "vgpualloc/policy/all.hpp"
#include "vgpualloc/policy/parse.hpp"

namespace vgpualloc {
namespace {

TEST(AddingAPolicy, ThePageQuotesTheHeaderByteForByte) {
    test::expect_quoted("docs/adding-a-policy.md", "tests/unit/policy/example/balanced.hpp");
}

/// all.hpp with the example's line in it.
constexpr auto with_balanced = [] {
    std::array<policy_entry, native_policies.size() + 1> list{};
    list.front() = make_policy_entry<policies::balanced>("CPU and devices used alike");
    std::ranges::copy(native_policies, list.begin() + 1);
    return list;
}();

std::unique_ptr<policy> make(std::string_view spelling) {
    policy_parameters parameters;
    parameters.seed = 7;
    parameters.target.typical.push_back({.cpu = milli_cpu{4000},
                                         .containers = test::milli_request(milli_cpu{4000}, 1, 500).containers,
                                         .frequency = 1.0});
    auto parsed = parse_policy(spelling, with_balanced, parameters);
    EXPECT_TRUE(parsed.has_value());
    return std::move(*parsed);
}

TEST(AddingAPolicy, OneLineInTheListMakesItKnown) {
    EXPECT_EQ(make("balanced")->name(), "balanced");
    const auto unknown = parse_policy("balance", with_balanced, policy_parameters{});
    ASSERT_FALSE(unknown.has_value());
    EXPECT_NE(unknown.error().message().find("one of balanced, best_fit"), std::string::npos);
}

cluster three_kinds_of_nodes() {
    static const modes::hami_core mode;
    cluster nodes;
    for (int i = 0; i < 4; ++i) {
        const std::string number = std::to_string(i);
        test::add_milli_node(nodes, "large-" + number, milli_cpu{96'000}, mib{393'216}, 8, "G2", mode);
        test::add_milli_node(nodes, "small-" + number, milli_cpu{16'000}, mib{65'536}, 2, "T4", mode);
        test::add_milli_node(nodes, "plain-" + number, milli_cpu{32'000}, mib{131'072}, 0, "", mode);
    }
    return nodes;
}

std::vector<pod_request> requests_of_all_sizes() {
    std::vector<pod_request> requests;
    for (const std::int64_t cpu : {0, 2'000, 9'000}) {
        for (const std::int64_t share : {0, 200, 500, 1000}) {
            requests.push_back(test::milli_request(milli_cpu{cpu}, 1, share));
        }
        requests.push_back(test::milli_request(milli_cpu{cpu}, 2, 1000, {"G2", "T4"}));
        requests.push_back(test::milli_request(milli_cpu{cpu}, 1, 300, {"T4"}));
    }
    return requests;
}

TEST(AddingAPolicy, PutsAPodWhereCpuAndDevicesStayInBalance) {
    cluster nodes;
    static const modes::hami_core mode;
    test::add_milli_node(nodes, "much-cpu", milli_cpu{64'000}, mib{65'536}, 4, "G2", mode);
    test::add_milli_node(nodes, "little-cpu", milli_cpu{16'000}, mib{65'536}, 4, "G2", mode);
    ledger book{nodes};
    const auto balanced = make("balanced");
    allocator alloc{book, {.node = balanced.get(), .device = balanced.get()}};
    const auto heavy = test::milli_request(milli_cpu{16'000}, 1, 1000);
    const auto light = test::milli_request(milli_cpu{4'000}, 1, 1000);
    EXPECT_EQ(alloc.decide(alloc.intern(heavy).value())->node,
              node_index{0U}); // a quarter of its CPU, a quarter of its GPUs
    EXPECT_EQ(alloc.decide(alloc.intern(light).value())->node, node_index{1U});
}

void expect_equal_decisions(std::string_view spelling) {
    SCOPED_TRACE(spelling);
    const auto requests = requests_of_all_sizes();
    test::expect_equal_decisions(three_kinds_of_nodes(), *make(spelling), *make(spelling), [&requests](rng& draw) {
        return requests[static_cast<std::size_t>(draw.below(requests.size()))];
    });
}

TEST(AddingAPolicy, TheIndexDecidesAsTheReferenceDoes) { expect_equal_decisions("balanced"); }

TEST(AddingAPolicy, ItTakesPartInWeightedSums) { expect_equal_decisions("weighted:balanced=0.7,fgd=0.3"); }

} // namespace
} // namespace vgpualloc
