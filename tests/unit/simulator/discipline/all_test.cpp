#include "vgpusim/discipline/all.hpp"

#include <set>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace {

using vgpualloc::ticks;
using vgpusim::all_disciplines;
using vgpusim::discipline;

TEST(all_disciplines, have_names_of_their_own_and_a_sentence_each) {
    std::set<std::string_view> names;
    for (const auto& entry : all_disciplines) {
        EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
        EXPECT_FALSE(entry.summary.empty()) << entry.name;
    }
}

TEST(all_disciplines, try_a_pod_no_earlier_than_it_arrives_when_the_cluster_is_empty) {
    for (const auto& entry : all_disciplines) {
        const auto rules = entry.make();
        std::vector<discipline::attempt> attempts;
        rules->on_arrival(5, ticks{17}, attempts);
        ASSERT_FALSE(attempts.empty()) << entry.name;
        EXPECT_EQ(attempts.front().pod, 5U) << entry.name;
        EXPECT_GE(attempts.front().time, ticks{17}) << entry.name;
    }
}

} // namespace
