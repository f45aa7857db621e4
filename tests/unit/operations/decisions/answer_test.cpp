// Replays in words and as documents say the same.
#include "vgpuops/decisions/answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "logs.hpp"

namespace {

using namespace decisions_test;
using testing::HasSubstr;
using vgpuformats::document;
using vgpuops::decisions::replay_log;

TEST(decision_answer, a_comparison_in_words_and_as_a_document) {
    const auto lines = lines_of(random_log(2, 200));
    std::vector<std::string> broken;
    for (const std::string& line : lines) {
        document event = parsed(line);
        if (kind_of(event) == "refuse") event["reasons"]["no_nodes"] = 77;
        broken.push_back(event.is_map() ? vgpuformats::print_json(event) : line);
    }
    const auto answer = replay_log("log\x1b[1m", joined(broken), {});
    ASSERT_TRUE(answer) << answer.error().message();
    const std::string text = answer_text(*answer);
    const auto printed = vgpuformats::parse_json(answer_json(*answer), "json");
    ASSERT_TRUE(printed);
    const auto differences = static_cast<std::int64_t>(answer->differences.size());
    ASSERT_GT(differences, 20);
    EXPECT_EQ(static_cast<std::int64_t>(printed->find("differences")->size()), differences);
    EXPECT_EQ(printed->find("decisions")->integer(), answer->figures.decisions);
    EXPECT_EQ(printed->find("mode")->text, "verify");
    EXPECT_EQ(static_cast<std::int64_t>(lines_of(differences_jsonl(*answer)).size()), differences);
    EXPECT_THAT(text, HasSubstr("refused: logged"));
    EXPECT_THAT(text, HasSubstr("… and " + std::to_string(differences - 20) + " more\n"));
    EXPECT_THAT(text, testing::EndsWith("\n" + std::to_string(differences) + " differences\n"));
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << "names do not steer terminals";
}

TEST(decision_answer, sides_are_measured_alike) {
    const std::string log = random_log(7, 300);
    const auto answer = replay_log("log", log, {.texts = {.policy = "spread"}});
    ASSERT_TRUE(answer && answer->what_if);
    const auto& sides = *answer->what_if;
    EXPECT_EQ(sides.replay.policy, "spread");
    EXPECT_EQ(sides.live.at_end.devices, sides.replay.at_end.devices);
    ASSERT_TRUE(sides.live.at_end.unusable_milli && sides.replay.at_end.unusable_milli);
    for (const auto* const side : {&sides.live, &sides.replay}) {
        EXPECT_GT(side->at_end.allocated_milli, 0);
        EXPECT_GE(*side->at_end.unusable_milli, 0.0);
        EXPECT_LE(*side->at_end.unusable_milli, static_cast<double>(side->at_end.idle_milli()) + 1.0);
    }
    const auto printed = vgpuformats::parse_json(answer_json(*answer), "json");
    ASSERT_TRUE(printed);
    EXPECT_EQ(printed->find("replay")->find("pods_placed")->integer(), sides.replay.placed);
    EXPECT_EQ(printed->find("on_another_node")->integer(), sides.on_another_node);
    EXPECT_EQ(lines_of(pods_jsonl(sides)).size(), sides.pods.size());
    EXPECT_THAT(answer_text(*answer), HasSubstr("pods placed"));
}

TEST(decision_answer, without_pods_nobody_knows_what_is_unusable) {
    const std::string start = R"({"event":"start","log":"vgpualloc-decisions","version":1,"time":1,"options":{}})";
    const auto answer = replay_log("log", start, {.texts = {.policy = "spread"}});
    ASSERT_TRUE(answer && answer->what_if);
    EXPECT_FALSE(answer->what_if->live.at_end.unusable_milli);
    EXPECT_THAT(answer_text(*answer), HasSubstr("not known"));
}

} // namespace
