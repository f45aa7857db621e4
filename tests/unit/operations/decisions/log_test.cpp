// Decision logs are read strictly: what is wrong is one error with its line and member.
#include "vgpuops/decisions/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "logs.hpp"
#include "vgpuops/decisions/answer.hpp"

namespace {

using namespace decisions_test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using vgpuops::decisions::event_kind;
using vgpuops::decisions::log_reader;

const std::string start_line =
    R"({"event":"start","log":"vgpualloc-decisions","version":1,"library":"0.1.0","time":5,"options":{"policy":"","catalog":null}})"
    "\n";
const std::string node_line =
    R"({"event":"tell","object":{"kind":"Node","metadata":{"name":"n"},"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"9"}}}})"
    "\n";
const std::string pod_line =
    R"({"event":"tell","object":{"kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{"containers":[{"name":"c"}]}}})"
    "\n";

/// What replaying a log says is wrong with it.
std::string fault_of(const std::string& log) {
    const auto answer = vgpuops::decisions::replay_log("f", log, {});
    return answer ? "nothing" : answer.error().message();
}

/// The same of a line after a start, a node and a pod.
std::string line_fault(const std::string& line) { return fault_of(start_line + node_line + pod_line + line + "\n"); }

TEST(decision_log, members_are_read) {
    const std::string log = start_line +
                            R"({"event":"decide","uid":"u","pod":"ns/p","node":"n","time":7,"only":["b","a"],)"
                            R"("annotations":{"k":"v\n"},"later":1})"
                            "\n" +
                            R"({"event":"refuse","uid":"u","except":["c"],"reasons":{"insufficient_cpu":2}})";
    log_reader reader{"f", log};
    ASSERT_TRUE(reader.next().value());
    EXPECT_EQ(reader.event().kind, event_kind::start);
    EXPECT_FALSE(reader.event().options.policy) << "an empty text is the default";
    ASSERT_TRUE(reader.next().value());
    EXPECT_EQ(reader.event().place, "f:2");
    EXPECT_EQ(reader.event().time, 7);
    EXPECT_THAT(reader.event().annotations, ElementsAre(std::pair{"k", "v\n"}));
    EXPECT_TRUE(reader.event().candidates.admits("a"));
    EXPECT_FALSE(reader.event().candidates.admits("c"));
    ASSERT_TRUE(reader.next().value());
    EXPECT_TRUE(reader.event().candidates.admits("a"));
    EXPECT_FALSE(reader.event().candidates.admits("c"));
    EXPECT_THAT(reader.event().reasons, ElementsAre(std::pair{"insufficient_cpu", 2}));
    EXPECT_FALSE(reader.next().value());
}

TEST(decision_log, every_event_is_known_by_its_name) {
    for (int kind = 0; kind <= static_cast<int>(event_kind::resume); ++kind) {
        const std::string name{to_string(static_cast<event_kind>(kind))};
        EXPECT_THAT(line_fault(R"({"event":")" + name + R"x("})x"), testing::Not(HasSubstr("one of start"))) << name;
    }
    EXPECT_THAT(line_fault(R"({"event":"decided"})"),
                AllOf(StartsWith("f:4: event: got 'decided', expected one of start, "), HasSubstr("resume")));
}

TEST(decision_log, a_log_begins_with_a_start) {
    EXPECT_THAT(fault_of(""), HasSubstr("f: has no events"));
    EXPECT_THAT(fault_of(node_line), StartsWith("f:1: event: got 'tell', expected a start"));
    EXPECT_THAT(fault_of(R"({"event":"start","log":"vgpualloc-decisions","version":2,"time":1,"options":{}})"),
                StartsWith("f:1: version: got '2', expected version 1"));
    EXPECT_THAT(fault_of(R"({"event":"start","log":"other","version":1,"time":1,"options":{}})"),
                StartsWith("f:1: log: got 'other', expected one of vgpualloc-decisions"));
    EXPECT_THAT(fault_of(R"({"event":"start","log":"vgpualloc-decisions","version":1,"time":1,"options":[]})"),
                StartsWith("f:1: options: got 'a list', expected an object"));
    EXPECT_THAT(fault_of(R"({"event":"start","log":"vgpualloc-decisions","version":1,"time":1,)"
                         R"("options":{"policy":"best"}})"),
                AllOf(StartsWith("f:1: "), HasSubstr("'best'"), HasSubstr("binpack")));
    EXPECT_THAT(fault_of(R"({"event":"start","log":"vgpualloc-decisions","version":1,"time":1,)"
                         R"("options":{"catalog":"{]"}})"),
                StartsWith("f:1: options.catalog:1"));
}

TEST(decision_log, what_is_wrong_is_told_with_its_place) {
    EXPECT_THAT(line_fault("x"), StartsWith("f:4:1: JSON"));
    EXPECT_EQ(line_fault(" "), "nothing") << "a blank line at the end";
    EXPECT_THAT(line_fault("\nx"), StartsWith("f:4:1: JSON")) << "one before something";
    EXPECT_THAT(line_fault("[1]"), StartsWith("f:4: got 'a list', expected an object"));
    EXPECT_THAT(line_fault(R"({"event":"learn","event":"learn"})"), AllOf(StartsWith("f:4:"), HasSubstr("event")));
    EXPECT_THAT(line_fault(R"({"event":"tell","object":[]})"), StartsWith("f:4: object: got 'a list'"));
    EXPECT_THAT(line_fault(R"({"event":"tell"})"), StartsWith("f:4: object: missing"));
    EXPECT_THAT(line_fault(R"({"event":"commit","uid":7})"), StartsWith("f:4: uid: got '7', expected a text"));
    EXPECT_THAT(line_fault(R"({"event":"commit","uid":""})"), StartsWith("f:4: uid: "));
    EXPECT_THAT(line_fault(R"({"event":"refuse","uid":"u","reasons":{"no_reason":1}})"),
                StartsWith("f:4: reasons.no_reason: "));
    EXPECT_THAT(line_fault(R"({"event":"refuse","uid":"u","reasons":{"no_nodes":-1}})"),
                StartsWith("f:4: reasons.no_nodes: got '-1'"));
    EXPECT_THAT(line_fault(R"({"event":"refuse","uid":"u","only":[],"except":[],"reasons":{}})"),
                AllOf(StartsWith("f:4: except: "), HasSubstr("either only or except")));
    EXPECT_THAT(line_fault(R"({"event":"decide","uid":"u","node":"n","time":1.5,"annotations":{}})"),
                StartsWith("f:4: time: got '1.5'"));
    EXPECT_THAT(line_fault(R"({"event":"decide","uid":"u","node":"n","time":1,"annotations":{"a":1}})"),
                StartsWith("f:4: annotations.a: got '1', expected a text"));
    const std::string deep(100, '[');
    EXPECT_THAT(line_fault(R"({"event":"tell","object":{"a":)" + deep + std::string(100, ']') + "}}"),
                StartsWith("f:4"));
}

TEST(decision_log, events_about_what_is_not_there_are_errors) {
    EXPECT_THAT(line_fault(R"({"event":"decide","uid":"v","node":"n","time":1,"annotations":{}})"),
                StartsWith("f:4: uid: got 'v', expected a pod that the log told of"));
    EXPECT_THAT(line_fault(R"({"event":"decide","uid":"u","node":"m","time":1,"annotations":{}})"),
                StartsWith("f:4: node: got 'm', expected a node that the log told of"));
    EXPECT_THAT(line_fault(R"({"event":"suspend","uid":"v"})"), StartsWith("f:4: uid: got 'v'"));
    // Ends that come twice or late are not.
    for (const char* line : {R"({"event":"remove_pod","uid":"v"})", R"({"event":"remove_node","node":"m"})",
                             R"({"event":"remove_config_map","name":"m"})"}) {
        EXPECT_EQ(line_fault(line), "nothing");
    }
    EXPECT_EQ(line_fault(R"({"event":"decide","uid":"u","node":"n","time":1,"annotations":{}})"), "nothing");
    // What is empty may be absent.
    EXPECT_EQ(line_fault(R"({"event":"decide","uid":"u","node":"n","time":1})"), "nothing");
    EXPECT_EQ(line_fault(R"({"event":"refuse","uid":"u"})"), "nothing");
}

TEST(decision_log, lines_that_were_cut_off_are_passed_by) {
    const std::string cut = R"({"event":"tell","object":{"kind":"P{od\")";
    const auto answer = vgpuops::decisions::replay_log("f", start_line + cut + "\n" + start_line + cut, {});
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->figures.starts, 2);
    EXPECT_THAT(answer->notes, ElementsAre("line 2: cut off, passed by", "line 4: cut off, passed by"));
    EXPECT_THAT(fault_of(start_line + cut + "\n" + node_line), StartsWith("f:2:")) << "the scheduler went on";
    EXPECT_THAT(fault_of(start_line + "{\"event\":}\n"), StartsWith("f:2:")) << "that is whole";
    EXPECT_THAT(fault_of(cut), HasSubstr("has no events"));
}

TEST(decision_log, another_version_is_a_note) {
    std::string other = start_line;
    other.replace(other.find("0.1.0"), 5, "9.9.9");
    const auto answer = vgpuops::decisions::replay_log("f", other, {});
    ASSERT_TRUE(answer);
    EXPECT_THAT(answer->notes, ElementsAre("line 1: version 9.9.9 decided, this is version 0.1.0"));
}

} // namespace
