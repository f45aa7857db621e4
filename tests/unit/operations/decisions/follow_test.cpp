// Decision logs are followed without a difference, and what is changed in one is told.
#include "vgpuops/decisions/follow.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "logs.hpp"
#include "vgpuops/decisions/answer.hpp"

namespace {

using namespace decisions_test;
using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
using vgpuformats::document;
using vgpuops::decisions::difference_kind;
using vgpuops::decisions::replay_answer;

replay_answer answer_to(const std::string& log) {
    auto answer = vgpuops::decisions::replay_log("log", log, {});
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? *std::move(answer) : replay_answer{};
}

TEST(decision_follower, random_histories_are_decided_again) {
    vgpuops::decisions::log_figures sum;
    const std::vector<std::string> policies{"binpack", "spread", "fgd", "best_fit", "worst_fit"};
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const auto answer = answer_to(random_log(seed, 400, policies[seed % policies.size()]));
        EXPECT_THAT(answer.differences, testing::IsEmpty()) << "seed " << seed << "\n" << answer_text(answer);
        sum.decisions += answer.figures.decisions;
        sum.ties += answer.figures.ties;
        sum.refusals += answer.figures.refusals;
        sum.starts += answer.figures.starts;
        sum.without_devices += answer.figures.without_devices;
        for (const auto& [name, count] : answer.figures.dialects) sum.dialects[name] += count;
        for (const auto& [name, count] : answer.figures.modes) sum.modes[name] += count;
    }
    // What a comparison would be worth nothing without.
    EXPECT_GE(sum.decisions, 1000);
    EXPECT_GE(sum.ties, 200);
    EXPECT_GE(sum.refusals, 100);
    EXPECT_GE(sum.starts, 25);
    EXPECT_GE(sum.without_devices, 20);
    for (const char* name : {"volcano_vgpu", "ascend_hami", "mindcluster", "gpushare"}) {
        EXPECT_GE(sum.dialects[name], 20) << name;
    }
    for (const char* name : {"hami_core", "mig", "mps", "ascend_vir", "mindcluster_310p"}) {
        EXPECT_GE(sum.modes[name], 20) << name;
    }
}

/// The last line of a kind that `fits`, so that nothing follows from what is changed in it.
template <class Predicate>
std::size_t last_line(const std::vector<std::string>& lines, const std::string& kind, Predicate fits) {
    for (std::size_t i = lines.size(); i-- > 0;) {
        const document event = parsed(lines[i]);
        if (kind_of(event) == kind && fits(event)) return i;
    }
    ADD_FAILURE() << "no line of kind " << kind;
    return 0;
}

TEST(decision_follower, a_changed_node_is_told) {
    auto lines = lines_of(random_log(3, 300));
    // A pod without devices: its annotations are the same elsewhere.
    const std::size_t line = last_line(lines, "decide", [](const document& event) {
        return event.find("annotations")->members.empty() && event.find("node")->text != "core-b" &&
               event.find("only") == nullptr;
    });
    lines.resize(line + 1);
    document event = parsed(lines[line]);
    const std::string chosen = event.find("node")->text;
    event["node"] = "core-b";
    lines[line] = vgpuformats::print_json(event);
    const auto answer = answer_to(joined(lines));
    ASSERT_EQ(answer.differences.size(), 1U) << answer_text(answer);
    const auto& entry = answer.differences[0];
    EXPECT_EQ(entry.line, line + 1);
    EXPECT_EQ(entry.kind, difference_kind::node);
    EXPECT_EQ(entry.pod, event.find("pod")->text);
    EXPECT_EQ(entry.logged, "core-b");
    EXPECT_EQ(entry.replayed, chosen);
}

TEST(decision_follower, a_changed_annotation_is_told) {
    auto lines = lines_of(random_log(4, 300));
    const std::size_t line = last_line(lines, "decide", [](const document& event) {
        return event.find("annotations")->find("volcano.sh/vgpu-ids-new") != nullptr;
    });
    document event = parsed(lines[line]);
    document& text = event["annotations"]["volcano.sh/vgpu-ids-new"];
    const std::string written = text.text;
    text = document{"GPU-other" + written};
    lines[line] = vgpuformats::print_json(event);
    lines.resize(line + 1);
    const auto answer = answer_to(joined(lines));
    ASSERT_EQ(answer.differences.size(), 1U) << answer_text(answer);
    const auto& entry = answer.differences[0];
    EXPECT_EQ(entry.line, line + 1);
    EXPECT_EQ(entry.kind, difference_kind::annotations);
    EXPECT_EQ(entry.annotation, "volcano.sh/vgpu-ids-new");
    EXPECT_EQ(entry.logged, "GPU-other" + written);
    EXPECT_EQ(entry.replayed, written);

    event["annotations"].members.clear();
    event["annotations"]["one/more"] = "text";
    lines[line] = vgpuformats::print_json(event);
    const auto emptied = answer_to(joined(lines)).differences;
    EXPECT_GE(emptied.size(), 2U);
    EXPECT_EQ(emptied[0].replayed, "(none)");
    EXPECT_EQ(emptied[1].logged, "(none)");
}

TEST(decision_follower, a_changed_refusal_is_told) {
    auto lines = lines_of(random_log(5, 300));
    const std::size_t line = last_line(lines, "refuse", [](const document&) { return true; });
    document event = parsed(lines[line]);
    auto& [reason, count] = event["reasons"].members[0];
    count = document{*count.integer() + 1};
    lines[line] = vgpuformats::print_json(event);
    const auto answer = answer_to(joined(lines));
    ASSERT_EQ(answer.differences.size(), 1U) << answer_text(answer);
    EXPECT_EQ(answer.differences[0].line, line + 1);
    EXPECT_EQ(answer.differences[0].kind, difference_kind::refused);
    EXPECT_THAT(answer.differences[0].logged, HasSubstr(reason + " " + count.text));
}

TEST(decision_follower, a_refusal_of_what_fits_and_calls_that_do_not_go_together_are_told) {
    auto lines = lines_of(random_log(6, 200));
    const std::size_t line =
        last_line(lines, "decide", [](const document& event) { return event.find("only") == nullptr; });
    lines.resize(line + 1);
    const document event = parsed(lines[line]);
    const std::string uid = event.find("uid")->text;
    lines.push_back(R"({"event":"suspend","uid":")" + uid + R"("})");
    lines.push_back(R"({"event":"commit","uid":")" + uid + R"("})");
    lines.push_back(R"({"event":"rollback","uid":")" + uid + R"("})");
    lines.push_back(R"({"event":"release","uid":")" + uid + R"("})");
    lines.push_back(R"({"event":"refuse","uid":")" + uid + R"(","reasons":{}})");
    const auto all = answer_to(joined(lines)).differences;
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].kind, difference_kind::state);
    EXPECT_EQ(all[0].logged, "committed");
    EXPECT_EQ(all[0].replayed, "reserved");
    EXPECT_EQ(all[1].line, line + 4);
    EXPECT_EQ(all[1].replayed, "committed");
    EXPECT_EQ(all[2].kind, difference_kind::refused);
    EXPECT_THAT(all[2].replayed, HasSubstr("fits on"));
}

} // namespace
