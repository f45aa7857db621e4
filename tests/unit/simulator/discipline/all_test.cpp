#include "vgpusim/discipline/all.hpp"

#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "../replayed.hpp"

namespace {

using vgpusim::all_disciplines;
using vgpusim_test::at;
using vgpusim_test::built;
using vgpusim_test::gpu_node;
using vgpusim_test::replayed;
using vgpusim_test::seconds;
using vgpusim_test::whole;

TEST(all_disciplines, have_names_of_their_own_and_a_sentence_each) {
    std::set<std::string_view> names;
    for (const auto& entry : all_disciplines) {
        EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
        EXPECT_FALSE(entry.summary.empty()) << entry.name;
    }
}

TEST(all_disciplines, are_found_by_name_and_an_unknown_one_lists_them) {
    for (const auto& entry : all_disciplines) EXPECT_EQ(*vgpusim::find_discipline(entry.name), &entry);
    const auto unknown = vgpusim::find_discipline("lifo");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().field, "discipline");
    for (const auto& entry : all_disciplines) {
        EXPECT_NE(unknown.error().expected.find(entry.name), std::string::npos) << entry.name;
    }
}

TEST(all_disciplines, start_at_once_what_fits_an_empty_cluster_and_lose_nobody) {
    for (const auto& entry : all_disciplines) {
        const auto rules = entry.make();
        const replayed run{built({gpu_node("n", 2)},
                                 {at(whole("p0", 1), 3, 9), at(whole("p1", 2), 4, 5), at(whole("p2", 1), 9, 12),
                                  at(whole("p3", 3), 9, 12)},
                                 0.0, true),
                           *rules};
        EXPECT_EQ(run.result.times[0].start, seconds(3)) << entry.name;
        EXPECT_EQ(run.result.pods[3].reason, vgpualloc::rejection_code::too_few_devices) << entry.name;
        EXPECT_EQ(run.result.placed + run.result.failed, 4) << entry.name;
        EXPECT_EQ(run.result.failed, rules->keeps_waiting() ? 1 : 2) << entry.name;
        EXPECT_EQ(run.book.live_count(), 0U) << entry.name;
    }
}

} // namespace
