// Decision logs under other options: who goes where, who waits and how long, and that nothing is given out twice.
#include "vgpuops/decisions/rerun.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "logs.hpp"
#include "vgpualloc/verify/placements.hpp"
#include "vgpuops/decisions/answer.hpp"

namespace {

using namespace decisions_test;
using testing::ElementsAre;
using vgpualloc::live_pod_state;
using vgpuops::decisions::follower;
using vgpuops::decisions::log_reader;
using vgpuops::decisions::option_changes;
using vgpuops::decisions::pod_fate;
using vgpuops::decisions::rerun;

// ---- logs written by hand: nodes with one card of 40960 MiB

class hand_log {
public:
    hand_log& line(const std::string& text) {
        text_ += text + "\n";
        return *this;
    }
    hand_log& start() {
        return line(
            R"({"event":"start","log":"vgpualloc-decisions","version":1,"time":1,"options":{"policy":"binpack"}})");
    }
    hand_log& node(const std::string& name) {
        return line(R"({"event":"tell","object":{"kind":"Node","metadata":{"name":")" + name +
                    R"(","annotations":{"volcano.sh/node-vgpu-register":"GPU-)" + name +
                    R"(,10,40960,NVIDIA A100-SXM4-40GB,true,hami-core:"}},"status":{"allocatable":{"cpu":"64",)"
                    R"("memory":"64Gi","pods":"99","volcano.sh/vgpu-number":"10","volcano.sh/vgpu-memory":"40960",)"
                    R"("volcano.sh/vgpu-cores":"100"}}}})");
    }
    /// Tells of a pod; bound if a node is named.
    hand_log& pod(const std::string& name, int memory, const std::string& node = "", const std::string& phase = "") {
        return line(R"({"event":"tell","object":{"kind":"Pod","metadata":{"name":")" + name +
                    R"(","namespace":"ns","uid":")" + name + R"(","annotations":{)" + ids(node, memory) +
                    R"(}},"spec":{)" + (node.empty() ? "" : R"("nodeName":")" + node + R"(",)") +
                    R"("containers":[{"name":"c","resources":{"limits":{"volcano.sh/vgpu-number":1,)"
                    R"("volcano.sh/vgpu-memory":)" +
                    std::to_string(memory) + R"(}}}]},"status":{"phase":")" + phase + R"("}}})");
    }
    hand_log& decide(const std::string& name, const std::string& node, int memory, const std::string& more = "") {
        return line(R"({"event":"decide","uid":")" + name + R"(","pod":"ns/)" + name + R"(","node":")" + node +
                    R"(","time":2000000000)" + more + R"(,"annotations":{)" + ids(node, memory) + "}}");
    }
    hand_log& refuse(const std::string& name) {
        return line(R"({"event":"refuse","uid":")" + name + R"(","pod":"ns/)" + name +
                    R"(","reasons":{"insufficient_device_memory":1}})");
    }
    hand_log& call(const std::string& event, const std::string& name) {
        return line(R"({"event":")" + event + R"(","uid":")" + name + R"("})");
    }
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    static std::string ids(const std::string& node, int memory) {
        if (node.empty()) return "";
        return R"("volcano.sh/vgpu-ids-new":"GPU-)" + node + ",NVIDIA," + std::to_string(memory) + R"(,0:")";
    }
    std::string text_;
};

/// A log run again, event by event.
class rerun_of {
public:
    rerun_of(const std::string& log, option_changes changes) : text_{log}, reader_{"f", text_}, other_{changes} {}

    /// False at the end.
    bool step() {
        const auto more = reader_.next();
        EXPECT_TRUE(more) << more.error().message();
        if (!more || !*more) return false;
        const auto followed = live_.apply(reader_.event());
        EXPECT_TRUE(followed) << followed.error().message();
        const auto applied = other_.apply(reader_.event(), live_.cluster());
        EXPECT_TRUE(applied) << applied.error().message();
        return followed && applied;
    }
    std::vector<pod_fate> run() {
        while (step()) {
        }
        return finish();
    }
    std::vector<pod_fate> finish() { return other_.finish(live_.cluster()); }
    [[nodiscard]] std::size_t line() const { return reader_.event().line; }
    [[nodiscard]] std::int64_t starts() const { return live_.figures().starts; }
    vgpualloc::live_cluster& live() { return live_.cluster(); }
    vgpualloc::live_cluster& other() { return other_.cluster(); }
    /// MiB given out on a node's only card.
    std::int64_t used(const std::string& node) {
        return other().book().devices(other().find_node(node))[0].memory.count();
    }

private:
    std::string text_;
    log_reader reader_;
    follower live_;
    rerun other_;
};

option_changes policy(const std::string& name) { return {.texts = {.policy = name}}; }

/// "<pod> <live node> <node>", with "waits" behind it for a pod that waits at the end.
std::vector<std::string> words(const std::vector<pod_fate>& fates) {
    std::vector<std::string> list;
    for (const pod_fate& fate : fates) {
        list.push_back(fate.pod + " " + (fate.live_node.empty() ? "-" : fate.live_node) + " " +
                       (fate.node.empty() ? "-" : fate.node) + (fate.waiting ? " waits" : ""));
    }
    return list;
}

TEST(decision_rerun, pods_go_where_the_other_policy_has_them_go) {
    hand_log log;
    log.start().node("a").node("b").pod("p", 10000).decide("p", "a", 10000).pod("p", 10000, "a");
    log.pod("q", 10000).decide("q", "a", 10000).call("commit", "q").pod("q", 10000, "a", "Running");
    rerun_of spread{log.text(), policy("spread")};
    EXPECT_THAT(words(spread.run()), ElementsAre("ns/p a a", "ns/q a b"));
    EXPECT_EQ(spread.used("a"), 10000) << "what the live scheduler gave q is not here";
    EXPECT_EQ(spread.used("b"), 10000);
    EXPECT_EQ(spread.other().state_of("q"), live_pod_state::committed);
    rerun_of same{log.text(), policy("binpack")};
    EXPECT_THAT(words(same.run()), ElementsAre("ns/p a a", "ns/q a a"));
    EXPECT_EQ(same.used("a"), 20000);
}

TEST(decision_rerun, what_fits_nowhere_waits_and_is_tried_in_order) {
    // Spread puts p and q on both cards: no card has room for large ones, which live had a card for.
    hand_log log;
    log.start().node("a").node("b").pod("p", 10000).pod("q", 10000).pod("l", 40000).pod("m", 36000);
    log.decide("p", "a", 10000).decide("q", "a", 10000).decide("l", "b", 40000).pod("l", 40000, "b", "Running");
    log.refuse("m");
    rerun_of waits{log.text(), policy("spread")};
    EXPECT_THAT(words(waits.run()), ElementsAre("ns/p a a", "ns/q a b", "ns/l b - waits", "ns/m - - waits"));
    EXPECT_EQ(waits.used("b"), 10000) << "l is bound, but not here";

    log.call("rollback", "p");
    rerun_of tried{log.text(), policy("spread")};
    EXPECT_THAT(words(tried.run()), ElementsAre("ns/p - -", "ns/q a b", "ns/l b a", "ns/m - - waits"));
    EXPECT_EQ(tried.other().state_of("l"), live_pod_state::committed) << "it is bound";

    log.line(R"({"event":"remove_pod","uid":"q"})");
    const auto fates = rerun_of{log.text(), policy("spread")}.run();
    EXPECT_THAT(words(fates), ElementsAre("ns/p - -", "ns/q a b", "ns/l b a", "ns/m - b"));
    EXPECT_TRUE(fates[3].live_waited && fates[3].live_waiting && fates[3].waited);
    EXPECT_EQ(fates[3].annotations.at("volcano.sh/vgpu-ids-new"), "GPU-b,NVIDIA,36000,0:");
}

TEST(decision_rerun, taking_back_ends_the_waiting) {
    hand_log log;
    log.start().node("a").node("b").pod("p", 10000).pod("q", 10000).pod("l", 40000);
    log.decide("p", "a", 10000).decide("q", "a", 10000).decide("l", "b", 40000).call("rollback", "l");
    log.line(R"({"event":"remove_pod","uid":"p"})");
    EXPECT_THAT(words(rerun_of{log.text(), policy("spread")}.run()), ElementsAre("ns/p a a", "ns/q a b", "ns/l - -"));
    log.decide("l", "b", 40000).pod("l", 40000, "b", "Succeeded");
    rerun_of ended{log.text(), policy("spread")};
    EXPECT_THAT(words(ended.run()), ElementsAre("ns/p a a", "ns/q a b", "ns/l b a"));
    EXPECT_EQ(ended.used("a"), 0);
}

TEST(decision_rerun, candidates_are_those_of_the_log) {
    hand_log log;
    log.start().node("a").node("b").node("c");
    log.pod("p", 1000).decide("p", "b", 1000, R"(,"except":["a"])");
    log.pod("q", 1000).decide("q", "b", 1000, R"(,"only":["b"])");
    log.pod("r", 40000).decide("r", "a", 40000, R"(,"only":["b"])");
    EXPECT_THAT(words(rerun_of{log.text(), policy("spread")}.run()),
                ElementsAre("ns/p b b", "ns/q b b", "ns/r a - waits"));
}

TEST(decision_rerun, pods_that_the_log_does_not_decide_keep_what_they_have) {
    hand_log log;
    log.start().node("a").node("b").pod("old", 30000, "a", "Running").pod("p", 20000).decide("p", "b", 20000);
    log.call("commit", "p").call("suspend", "old").pod("q", 40000).decide("q", "a", 40000).call("rollback", "q");
    log.call("resume", "old");
    rerun_of replayed{log.text(), policy("spread")};
    EXPECT_THAT(words(replayed.run()), ElementsAre("ns/p b b", "ns/q - -"));
    EXPECT_EQ(replayed.used("a"), 30000);
    EXPECT_EQ(replayed.other().state_of("old"), live_pod_state::committed);
}

TEST(decision_rerun, nothing_that_waits_takes_the_place_of_a_pod_that_is_suspended) {
    hand_log log;
    log.start().node("a").pod("old", 30000, "a", "Running").pod("w", 20000).refuse("w");
    log.pod("q", 15000).call("suspend", "old").decide("q", "a", 15000).call("rollback", "q").call("resume", "old");
    rerun_of replayed{log.text(), policy("spread")};
    EXPECT_THAT(words(replayed.run()), ElementsAre("ns/w - - waits", "ns/q - -"));
    EXPECT_FALSE(replayed.other().book().is_overcommitted(vgpualloc::node_index{0U}, vgpualloc::device_index{0U}));
}

TEST(decision_rerun, what_the_log_refuses_does_not_take_the_place_of_a_pod_that_is_suspended) {
    hand_log log;
    log.start().node("a").pod("old", 30000, "a", "Running").pod("q", 15000);
    log.call("suspend", "old").refuse("q").call("resume", "old");
    rerun_of kept{log.text(), policy("spread")};
    EXPECT_THAT(words(kept.run()), ElementsAre("ns/q - - waits"));
    EXPECT_EQ(kept.used("a"), 30000);
    log.node("b"); // where it fits
    EXPECT_THAT(words(rerun_of{log.text(), policy("spread")}.run()), ElementsAre("ns/q - b"));
}

TEST(decision_rerun, a_restart_finds_what_was_decided_here) {
    hand_log log;
    log.start().node("a").node("b").pod("p", 10000).pod("q", 10000).pod("l", 40000).pod("r", 5000);
    log.decide("p", "a", 10000).pod("p", 10000, "a").decide("q", "a", 10000).pod("q", 10000, "a");
    log.decide("l", "b", 40000).pod("l", 40000, "b").decide("r", "a", 5000);
    // r is not bound when the scheduler is killed. Waiting l must not take a card before p and q are told of.
    log.start().node("a").pod("l", 40000, "b").node("b").pod("r", 5000).pod("p", 10000, "a").pod("q", 10000, "a");
    rerun_of lost{log.text(), policy("spread")};
    EXPECT_THAT(words(lost.run()), ElementsAre("ns/p a a", "ns/q a b", "ns/l b - waits", "ns/r - -"));
    EXPECT_EQ(lost.used("a"), 10000);
    EXPECT_EQ(lost.used("b"), 10000);
    log.decide("r", "a", 5000);
    EXPECT_THAT(words(rerun_of{log.text(), policy("spread")}.run()),
                ElementsAre("ns/p a a", "ns/q a b", "ns/l b - waits", "ns/r a a"));
}

TEST(decision_rerun, options_that_cannot_be_had_are_told_where_they_are_said) {
    hand_log log;
    log.start().node("a");
    const auto fault = [&log](const option_changes& changes) {
        const auto answer = vgpuops::decisions::replay_log("f", log.text(), changes);
        return answer ? "nothing" : answer.error().message();
    };
    EXPECT_THAT(fault(policy("best")), testing::StartsWith("--policy: got 'best'"));
    EXPECT_THAT(fault(policy("random")), testing::StartsWith("--policy: got 'random', expected a policy that draws"));
    EXPECT_THAT(fault({.texts = {.device_policy = "x"}}), testing::StartsWith("--device-policy: got 'x'"));
    EXPECT_THAT(fault({.texts = {.catalog = "{"}, .names = {.catalog = "c.json"}}), testing::StartsWith("c.json:1"));
    EXPECT_THAT(fault({.texts = {.device_config = "nvidia: 1"}, .names = {.device_config = "d.yaml"}}),
                testing::StartsWith("d.yaml"));
    EXPECT_THAT(fault({.texts = {.scheduler_config = "a: 1"}, .names = {.scheduler_config = "s.conf"}}),
                testing::StartsWith("s.conf"));
}

// ---- random histories

TEST(decision_rerun, nothing_is_given_out_twice) {
    const std::vector<std::string> policies{"spread", "binpack", "fgd", "worst_fit"};
    std::int64_t elsewhere = 0;
    std::int64_t waited = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const std::string& other = policies[seed % policies.size()];
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + other);
        rerun_of replayed{random_log(seed, 300), policy(other)};
        while (replayed.step()) {
            const std::string here = vgpualloc::verify::first_violation(replayed.other().book());
            if (here.empty() || !vgpualloc::verify::first_violation(replayed.live().book()).empty()) continue;
            ADD_FAILURE() << "line " << replayed.line() << ": " << here;
            break;
        }
        for (const pod_fate& fate : replayed.finish()) {
            elsewhere += static_cast<std::int64_t>(fate.node != fate.live_node);
            waited += static_cast<std::int64_t>(fate.waited);
            const live_pod_state state = replayed.other().state_of(fate.uid);
            EXPECT_TRUE(!fate.waiting || state == live_pod_state::waiting) << fate.pod;
            const auto* const held = replayed.other().booking_of(fate.uid);
            if (held == nullptr) continue;
            EXPECT_EQ(replayed.other().book().nodes().nodes[held->where.node.at()].name, fate.node) << fate.pod;
        }
    }
    EXPECT_GE(elsewhere, 150);
    EXPECT_GE(waited, 50);
}

/// What came before the first refusal.
std::string without_refusals(const std::string& log) {
    const std::size_t refusal = log.find(R"({"event":"refuse")");
    return log.substr(0, refusal);
}

TEST(decision_rerun, the_same_options_decide_the_same_where_nothing_has_to_wait) {
    std::int64_t decided = 0;
    std::int64_t starts = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        scheduler_history history{{.seed = seed, .steps = 400, .device_config = device_config(), .refuses = false}};
        option_changes same{.texts = {.device_config = device_config()}, .names = {}};
        rerun_of other{without_refusals(history.run()), same};
        for (const pod_fate& fate : other.run()) {
            EXPECT_EQ(fate.node, fate.live_node) << "seed " << seed << ", " << fate.pod;
            ++decided;
        }
        for (const std::string& uid : other.live().pods()) {
            EXPECT_EQ(other.live().state_of(uid), other.other().state_of(uid)) << "seed " << seed << ", " << uid;
            const auto* const held = other.live().booking_of(uid);
            const auto* const here = other.other().booking_of(uid);
            ASSERT_EQ(held == nullptr, here == nullptr) << "seed " << seed << ", " << uid;
            EXPECT_TRUE(held == nullptr || held->where == here->where) << "seed " << seed << ", " << uid;
        }
        starts += other.starts();
    }
    EXPECT_GE(decided, 400);
    EXPECT_GE(starts, 25);
}

} // namespace
