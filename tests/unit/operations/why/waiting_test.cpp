#include "vgpuops/why/waiting.hpp"

#include <map>

#include <gtest/gtest.h>

#include "random_clusters.hpp"
#include "vgpuops/show/overview.hpp"
#include "vgpuops/why/pod.hpp"

namespace {

using namespace cluster_test;
namespace show = vgpuops::show;
namespace why = vgpuops::why;

TEST(why_waiting, groups_have_every_pod_that_show_has_with_its_verdict) {
    vgpualloc::rng random{51};
    for (int i = 0; i < clusters_to_draw(60); ++i) {
        const std::string text = random_cluster_with_rules(random, random.below(6));
        const auto answered = why::waiting_of(objects(text), {});
        const auto seen = show::overview_of(objects(text), {});
        ASSERT_TRUE(answered.has_value() && seen.has_value()) << text;
        std::map<std::string, show::verdict> verdicts;
        std::int64_t asked = 0;
        for (const why::waiting_group& group : answered->groups) {
            EXPECT_FALSE(group.because.empty()) << text;
            asked += group.asked_milli;
            for (const std::string& name : group.names) verdicts[name] = group.verdict;
        }
        std::map<std::string, show::verdict> expected;
        for (const show::waiting_pod& pod : seen->waiting) expected[pod.name] = pod.why;
        ASSERT_EQ(verdicts, expected) << text;
        ASSERT_EQ(answered->pods, seen->pods_wait);
        std::int64_t asked_by_users = 0;
        for (const auto& user : seen->users) asked_by_users += user.asked;
        ASSERT_EQ(asked, asked_by_users) << text;
    }
}

TEST(why_waiting, a_pod_by_itself_has_the_verdict_and_the_reason_of_its_group) {
    vgpualloc::rng random{54};
    int pods = 0;
    for (int i = 0; i < clusters_to_draw(24); ++i) {
        const std::string text =
            i % 2 == 0 ? random_cluster_with_rules(random, 4) : random_cluster_of_nvidia(random, 4);
        const auto answered = why::waiting_of(objects(text), {});
        ASSERT_TRUE(answered.has_value()) << text;
        for (const why::waiting_group& group : answered->groups) {
            for (const std::string& name : group.names) {
                const auto alone = why::pod_of(objects(text), {}, name);
                ASSERT_TRUE(alone.has_value()) << alone.error().message() << text;
                ASSERT_EQ(alone->verdict, group.verdict) << name << text;
                if (name == group.names.front()) {
                    ASSERT_EQ(alone->because, group.because) << name << text;
                }
                ++pods;
            }
        }
    }
    EXPECT_GT(pods, 0);
}

TEST(why_waiting, pods_that_ask_for_the_same_are_one_row) {
    const std::string text = card_node("a", 1) + running_pod("r", "a", 0, 30000) + pod_object("w-1", 20000) +
                             pod_object("w-2", 20000) + pod_object("x", 50000);
    const auto answered = why::waiting_of(objects(text), {});
    ASSERT_TRUE(answered.has_value());
    ASSERT_EQ(answered->groups.size(), 2U);
    EXPECT_EQ(answered->groups[0].names, (std::vector<std::string>{"ns/w-1", "ns/w-2"}));
    EXPECT_EQ(answered->groups[0].verdict, show::verdict::all_used);
    EXPECT_EQ(answered->groups[0].asked_milli, 2 * 489);
    EXPECT_EQ(answered->groups[1].verdict, show::verdict::never);
    const std::string table = why::waiting_text(*answered);
    EXPECT_TRUE(table.starts_with("3 pods wait, none fits now.\n")) << table;
    EXPECT_NE(table.find("ns/w-[1-2]"), std::string::npos) << table;
}

TEST(why_waiting, a_cluster_in_which_nothing_waits_has_one_sentence) {
    const auto answered = why::waiting_of(objects(card_node("a", 1)), {});
    ASSERT_TRUE(answered.has_value());
    EXPECT_EQ(why::waiting_text(*answered), "No pod waits.\n");
}

TEST(why_waiting, both_answers_about_one_snapshot_are_what_each_is_alone) {
    const std::string text = card_node("a", 1) + running_pod("r", "a", 0, 30000) + pod_object("w1", 20000) +
                             pod_object("w2", 20000) + pod_object("fits", 5000);
    const auto both = why::overview_and_waiting(objects(text), {});
    const auto seen = vgpuops::show::overview_of(objects(text), {});
    const auto waiting = why::waiting_of(objects(text), {});
    ASSERT_TRUE(both && seen && waiting);
    EXPECT_EQ(vgpuops::show::overview_json(both->seen), vgpuops::show::overview_json(*seen));
    EXPECT_EQ(why::waiting_json(both->waiting), why::waiting_json(*waiting));
    EXPECT_EQ(both->waiting.pods, 3);
    const auto listed = why::overview_and_waiting(objects(text), {}, {.nodes = "a", .ns = "ns"});
    ASSERT_TRUE(listed.has_value());
    EXPECT_EQ(why::waiting_table(listed->waiting).rows.back().cells[1], "3");
    EXPECT_EQ(why::waiting_table(listed->waiting, {.rows_max = 1}).rows.size(), 3U) << "one, the others, the sum";
}

} // namespace
