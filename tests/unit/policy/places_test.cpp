// Policies that look at places: each decision against its formula, computed from the rules of the catalog alone.
#include "mig_gpus.hpp"

#include <functional>
#include <limits>
#include <tuple>

#include "vgpualloc/catalog/mig_layouts.hpp"

namespace vgpualloc {
namespace {

using namespace test;

/// What a formula says of a GPU with these instances: the larger the better.
using formula = std::function<std::int64_t(const mig_model&, const mig_layout&)>;

std::int64_t free_units(const mig_model& of, const mig_layout& layout) {
    std::int64_t units = of.units.count();
    for (const mig_slot& slot : layout) units -= of.profiles[slot.profile].size.count();
    return units;
}

std::int64_t free_starts(const mig_model& of, const mig_layout& layout, std::size_t profile) {
    return std::ranges::count_if(of.profiles[profile].starts,
                                 [&](mig_units start) { return may_join(of, layout, {profile, start}); });
}

bool is_plain(const mig_profile& profile) { return contains(mig_profile_set::plain, profile.kind); }

std::int64_t all_free_starts(const mig_model& of, const mig_layout& layout) {
    std::int64_t starts = 0;
    for (std::size_t p = 0; p < of.profiles.size(); ++p) {
        if (is_plain(of.profiles[p])) starts += free_starts(of, layout, p);
    }
    return starts;
}

std::int64_t minus_blocked_units(const mig_model& of, const mig_layout& layout) {
    std::int64_t blocked = 0;
    for (std::size_t p = 0; p < of.profiles.size(); ++p) {
        const mig_profile& profile = of.profiles[p];
        if (!is_plain(profile) || profile.size.count() > free_units(of, layout)) continue;
        blocked +=
            profile.size.count() * (static_cast<std::int64_t>(profile.starts.size()) - free_starts(of, layout, p));
    }
    return -blocked;
}

const std::vector<std::pair<std::string, std::int64_t>> demand{{"1g.5gb", 8},  {"1g.10gb", 1}, {"2g.10gb", 2},
                                                               {"3g.20gb", 1}, {"4g.20gb", 3}, {"7g.40gb", 1}};

std::int64_t expected_places(const mig_model& of, const mig_layout& layout) {
    std::int64_t value = 0;
    for (const auto& [name, weight] : demand) {
        const auto profile = static_cast<std::size_t>(*find_profile(of, name) - of.profiles.data());
        value += weight * free_starts(of, layout, profile);
    }
    return value;
}

std::int64_t minus_units_lost(const mig_model& of, const mig_layout& layout) {
    std::int64_t lost = 0;
    for (const auto& [name, weight] : demand) {
        const auto profile = static_cast<std::size_t>(*find_profile(of, name) - of.profiles.data());
        if (free_starts(of, layout, profile) == 0) lost += weight * free_units(of, layout);
    }
    return -lost;
}

std::int64_t minus_units_stranded(const mig_model& of, const mig_layout& layout) {
    std::int64_t stranded = 0;
    for (const auto& [name, weight] : demand) {
        const auto profile = static_cast<std::size_t>(*find_profile(of, name) - of.profiles.data());
        const std::int64_t taken = free_starts(of, layout, profile) * of.profiles[profile].size.count();
        stranded += weight * (free_units(of, layout) - taken);
    }
    return -stranded;
}

struct row {
    const char* policy;
    formula value;
};

class by_places : public testing::TestWithParam<row> {};

/// Every state of one A100, and another one that is empty: the GPU and start that the formula likes best, of equal ones
/// those on the fullest GPU, and then those that leave the most starts.
TEST_P(by_places, decides_as_its_formula_says) {
    const mig_cluster gpus{"A100-40GB", 2};
    const mig_model& of = gpus.model;
    const auto layouts = legal_layouts(of, {.set = mig_profile_set::plain}).layouts;
    ASSERT_EQ(layouts.size(), 723U);
    std::size_t at = 0;
    for (const mig_layout& layout : layouts) {
        placer here{gpus.nodes, GetParam().policy, mig_cluster::mix(demand)};
        std::uint32_t pod_number = 0;
        for (const mig_slot& slot : layout) {
            const mig_instance part{.profile = static_cast<std::uint32_t>(slot.profile),
                                    .start = static_cast<std::uint32_t>(slot.start.count())};
            ASSERT_TRUE(here.book.reserve(book_on(pod_number++, node_index{0U}, {share_of_device(0, part)})));
        }
        const std::string& wanted = demand[at++ % demand.size()].first; // each state with one of the profiles
        const auto profile = static_cast<std::size_t>(*find_profile(of, wanted) - of.profiles.data());
        using rank = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
        rank best{std::numeric_limits<std::int64_t>::min(), 0, 0};
        std::vector<std::pair<std::size_t, std::int64_t>> winners; // node and start
        for (std::size_t node = 0; node < 2; ++node) {
            const mig_layout before = node == 0 ? layout : mig_layout{};
            for (const mig_units start : of.profiles[profile].starts) {
                const mig_slot slot{profile, start};
                if (!may_join(of, before, slot)) continue;
                mig_layout after = before;
                after.push_back(slot);
                const rank candidate{GetParam().value(of, after) - GetParam().value(of, before),
                                     -free_units(of, before), all_free_starts(of, after) - all_free_starts(of, before)};
                if (candidate > best) winners.clear();
                best = std::max(best, candidate);
                if (candidate == best) winners.emplace_back(node, start.count());
            }
        }
        const auto decided = here.decide(mig_cluster::pod_of(wanted));
        ASSERT_EQ(decided.has_value(), !winners.empty());
        if (!decided) continue;
        const auto& instance = std::get<mig_instance>(decided->shares[0].part);
        const std::pair<std::size_t, std::int64_t> chosen{decided->node.at(), instance.start};
        EXPECT_NE(std::ranges::find(winners, chosen), winners.end())
            << GetParam().policy << ": " << wanted << " @ " << chosen.second << " of node " << chosen.first;
    }
}

INSTANTIATE_TEST_SUITE_P(all, by_places,
                         testing::Values(row{"mcc", all_free_starts}, row{"mfi", minus_blocked_units},
                                         row{"mecc", expected_places}, row{"fgd_literal", minus_units_lost},
                                         row{"fgd_stranded", minus_units_stranded}),
                         [](const auto& row_info) { return std::string{row_info.param.policy}; });

TEST(first_fit, takes_the_first_node_and_its_modes_first_part) {
    const mig_cluster gpus{"A100-40GB", 3};
    placer here{gpus.nodes, "first_fit"};
    ASSERT_TRUE(here.book.reserve(book_on(0, node_index{0U}, {share_of_device(0, gpus.at("7g.40gb", 0))})));
    const auto decided = here.decide(mig_cluster::pod_of("3g.20gb"));
    ASSERT_TRUE(decided.has_value());
    EXPECT_EQ(decided->node.at(), 1U);
    EXPECT_EQ(decided->shares[0].part, gpus.at("3g.20gb", 4)) << "start 4 leaves 4g.20gb its only one";
}

TEST(keep_idle, is_the_price_of_opening_a_gpu) {
    cluster owned;
    add_node(owned, many(1));
    add_node(owned, many(1));
    placer here{owned, "keep_idle"};
    ASSERT_TRUE(here.book.reserve(book_on(0, node_index{1U}, {share_of_device(0, part(1000))})));
    EXPECT_EQ(here.scores(pod({want(1, 2000)})), (std::vector{-1.0, 0.0}));
    placer sum{owned, "weighted:spread=1,keep_idle=0.5"};
    ASSERT_TRUE(sum.book.reserve(book_on(0, node_index{1U}, {share_of_device(0, part(1000))})));
    EXPECT_EQ(sum.scores(pod({want(1, 2000)})), (std::vector{0.5, 0.9})) << "spread alone opens the other one";
}

TEST(by_places, other_modes_have_places_for_what_fits) {
    cluster owned;
    add_node(owned, many(1));
    add_node(owned, many(1));
    workload target;
    target.typical.push_back({.cpu = milli_cpu{1000}, .containers = {want(1, 6000)}, .frequency = 1.0, .weight = 1});
    placer here{owned, "mecc", target};
    ASSERT_TRUE(here.book.reserve(book_on(0, node_index{1U}, {share_of_device(0, part(5000))})));
    const auto decided = here.decide(pod({want(1, 2000)}));
    ASSERT_TRUE(decided.has_value());
    EXPECT_EQ(decided->node.at(), 1U) << "node 0 keeps its place for 6000 MiB only if nothing larger than 4000 comes";
    placer literal{owned, "fgd_literal", target};
    ASSERT_TRUE(literal.book.reserve(book_on(0, node_index{1U}, {share_of_device(0, part(5000))})));
    EXPECT_EQ(literal.decide(pod({want(1, 5000)}))->node.at(), 1U);
}

} // namespace
} // namespace vgpualloc
