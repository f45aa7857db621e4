// Units, ids, errors, expected and hashes: the words everything else is written in.
#include <algorithm>
#include <concepts>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/hash.hpp"
#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/version.hpp"

namespace vgpualloc {
namespace {

template <class A, class B>
concept addable = requires(A a, B b) { a + b; };
template <class A, class B>
concept add_assignable = requires(A a, B b) { a += b; };
template <class A, class B>
concept comparable = requires(A a, B b) { a < b; };
template <class A, class B>
concept share_computable = requires(A a, B b) { share_of(a, b); };

static_assert(addable<mib, mib> && comparable<mib, mib> && share_computable<mib, mib>);
static_assert(!addable<mib, core_percent>);
static_assert(!add_assignable<mib, core_percent>);
static_assert(!comparable<milli_gpu, milli_cpu>);
static_assert(!share_computable<mib, core_percent>);
static_assert(!addable<mib, std::int64_t> && !addable<ticks, milli_cpu>);
static_assert(!std::convertible_to<std::int64_t, mib> && !std::convertible_to<mib, std::int64_t>);
static_assert(!std::convertible_to<node_index, device_index> && !comparable<node_index, device_index>);
static_assert(!std::constructible_from<node_index, device_index> && !std::convertible_to<std::size_t, node_index>);

static_assert(mib{3} + mib{4} - mib{2} == mib{5});
static_assert(3 * mib{4} == mib{4} * 3 && (mib{4} * 3).count() == 12);
static_assert(mib{} == mib{0} && mib{-1} < mib{0} && mib{0} < mib::max());
static_assert(ticks_per_second == ticks{1'000'000});

TEST(units, compound_assignment_changes_in_place) {
    milli_cpu left{1000};
    left -= milli_cpu{1500};
    EXPECT_EQ(left.count(), -500) << "free capacity is signed, so that a deficit shows";
    left += milli_cpu{700};
    EXPECT_EQ(left, milli_cpu{200});
}

TEST(units, a_share_is_in_thousandths_and_rounded_up) {
    EXPECT_EQ(share_of(mib{0}, mib{3}), milli_gpu{0});
    EXPECT_EQ(share_of(mib{1}, mib{3}), milli_gpu{334}); // 333.3
    EXPECT_EQ(share_of(mib{3}, mib{3}), whole_gpu);
    EXPECT_EQ(share_of(core_percent{25}, whole_compute), milli_gpu{250});
}

TEST(ids, default_is_none_and_positions_are_ordered) {
    EXPECT_FALSE(node_index{}.valid());
    EXPECT_EQ(node_index{}, node_index::none());
    EXPECT_TRUE(node_index{0U}.valid());
    EXPECT_LT(node_index{2U}, node_index{std::size_t{3}});
    EXPECT_LT(node_index{2U}, node_index::none()) << "none comes last, so that any node wins over no node";
    EXPECT_EQ(pod_id{7U}.at(), std::size_t{7});
    EXPECT_EQ(pod_id{7U}.value(), 7U);
}

TEST(error, message_joins_what_is_known) {
    struct row {
        error what;
        std::string_view message;
    };
    const error_code code = error_code::malformed;
    const std::vector<row> rows{
        {{code, "pods.csv:3", "cpu_milli", "x7", "an integer"}, "pods.csv:3: cpu_milli: got 'x7', expected an integer"},
        {{code, "pods.csv:3", "cpu_milli", "", "the column is missing"},
         "pods.csv:3: cpu_milli: the column is missing"},
        {{code, "", "policy", "p", ""}, "policy: got 'p'"},
        {{code, "", "", "p", "a name"}, "got 'p', expected a name"},
        {{code, "out/", "", "", "not writable"}, "out/: not writable"},
        {{code, "out/", "", "", ""}, "out/"},
    };
    for (const row& example : rows) EXPECT_EQ(example.what.message(), example.message);
}

TEST(expected, carries_a_value_or_a_reason) {
    const auto half = [](int x) -> expected<int, std::string> {
        if (x % 2 != 0) return unexpected(std::string{"odd"});
        return x / 2;
    };
    EXPECT_EQ(half(8).and_then(half).value(), 2);
    EXPECT_EQ(half(6).and_then(half).error(), "odd");
}

// Constants from an independent implementation (Python, arbitrary precision).
TEST(hash, is_the_same_on_every_platform) {
    EXPECT_EQ(mix64(1), 0x5692161d100b05e5ULL);
    EXPECT_EQ(hash_combine(1, 2), 0x1d0b14e4db018fedULL);
    EXPECT_EQ(hash_text(""), 0xf52a15e9a9b5e89bULL);
    EXPECT_EQ(hash_text("a"), 0x02c0bdbf481420f8ULL);
    EXPECT_EQ(hash_text("vgpualloc"), 0x692e1acce4c31e82ULL);
    EXPECT_NE(hash_text("\xff"), hash_text("\x7f")) << "bytes above 127 are bytes, not negative numbers";
}

TEST(hash, small_values_do_not_collide) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 10000; ++i) seen.insert(hash_combine(0, i));
    EXPECT_EQ(seen.size(), 10000U);
}

TEST(version, has_three_numbers) {
    const std::string_view text = version;
    EXPECT_EQ(std::count(text.begin(), text.end(), '.'), 2);
}

} // namespace
} // namespace vgpualloc
