#include "vgpusim/engine/simulation.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../workloads.hpp"
#include "vgpusim/discipline/try_once.hpp"

namespace {

using testing::ElementsAre;
using vgpualloc::rejection;
using vgpualloc::rejection_code;
using vgpualloc::ticks;
using vgpusim::discipline;
using vgpusim::no_booking;
using vgpusim_test::at;
using vgpusim_test::built;
using vgpusim_test::cpu_only;
using vgpusim_test::gpu_node;
using vgpusim_test::share;
using vgpusim_test::whole;

ticks seconds(std::int64_t count) { return count * vgpualloc::ticks_per_second; }

/// One replay under best_fit.
class replayed {
public:
    replayed(vgpusim::simulation_input from, discipline& rules, ticks interval = {},
             const vgpusim::simulation::progress& tell = {})
        : input{std::move(from)} {
        vgpusim::simulation loop{
            input, book, alloc_, rules, vgpusim_test::measure_for(input), {.sample_interval = interval}};
        result = loop.run(tell);
    }

    /// Per sample "second:allocated".
    [[nodiscard]] std::vector<std::string> allocated() const {
        std::vector<std::string> lines;
        for (const auto& sample : result.samples) {
            lines.push_back(std::to_string(sample.time.count() / 1'000'000) + ":" +
                            std::to_string(sample.allocated_milli));
        }
        return lines;
    }
    [[nodiscard]] std::vector<bool> placed() const {
        std::vector<bool> all;
        for (const auto& pod : result.pods) all.push_back(pod.booking != no_booking);
        return all;
    }

    vgpusim::simulation_input input;
    vgpualloc::ledger book{input.nodes};

private:
    std::unique_ptr<vgpualloc::policy> policy_ = vgpusim_test::policy_for(input, "best_fit");
    vgpualloc::allocator alloc_{book, {.node = policy_.get(), .device = policy_.get()}};

public:
    vgpusim::simulation_result result;
};

/// Writes down what the loop asks, and retries what was rejected when something finishes, or after a delay.
class retrying final : public discipline {
public:
    explicit retrying(ticks delay = {}) : delay_{delay} {}

    void on_arrival(std::uint32_t pod, ticks now, std::vector<attempt>& attempts) override {
        note("arrival", pod, now);
        attempts.push_back({.pod = pod, .time = now});
    }
    [[nodiscard]] bool on_rejection(std::uint32_t pod, const rejection& why, ticks now,
                                    std::vector<attempt>& attempts) override {
        note("rejection", pod, now);
        reasons.push_back(why.main_code());
        if (delay_ > ticks{0}) {
            attempts.push_back({.pod = pod, .time = now + delay_});
        } else {
            waiting_.push_back(pod);
        }
        return false;
    }
    void on_finish(std::uint32_t pod, ticks now, std::vector<attempt>& attempts) override {
        note("finish", pod, now);
        for (const std::uint32_t waiter : waiting_) attempts.push_back({.pod = waiter, .time = now});
        waiting_.clear();
    }

    std::vector<std::string> calls;
    std::vector<rejection_code> reasons;

private:
    void note(const char* what, std::uint32_t pod, ticks now) {
        calls.push_back(std::string{what} + " " + std::to_string(pod) + " " + std::to_string(now.count() / 1'000'000));
    }

    ticks delay_;
    std::vector<std::uint32_t> waiting_;
};

TEST(simulation, no_nodes_that_fit_fails_each_pod_once) {
    vgpusim::try_once rules;
    const replayed run{built({gpu_node("n", 1)}, {whole("p0", 2), whole("p1", 2)}), rules};
    EXPECT_EQ(run.result.failed, 2);
    EXPECT_EQ(run.result.placed, 0);
    EXPECT_EQ(run.result.decisions, 2);
    EXPECT_EQ(run.result.pods[0].reason, rejection_code::too_few_devices);
    EXPECT_THAT(run.allocated(), ElementsAre("0:0", "1:0"));
}

TEST(simulation, without_departures_pods_stay_and_arrive_a_second_apart) {
    vgpusim::try_once rules;
    const replayed run{built({gpu_node("n", 2)}, {whole("p0", 1), whole("p1", 1), whole("p2", 1)}), rules};
    EXPECT_THAT(run.allocated(), ElementsAre("0:1000", "1:2000", "2:2000"));
    EXPECT_EQ(run.result.placed, 2);
    EXPECT_EQ(run.result.failed, 1);
    EXPECT_EQ(run.result.finished, 0);
    EXPECT_EQ(run.book.live_count(), 2U);
    EXPECT_EQ(run.result.samples.back().arrived_milli, 3000);
    EXPECT_EQ(run.result.samples.back().used_gpus, 2);
    EXPECT_EQ(run.result.samples.back().used_nodes, 1);
}

TEST(simulation, what_ends_makes_room_for_what_arrives_at_the_same_instant) {
    vgpusim::try_once rules;
    const replayed run{built({gpu_node("n", 1)}, {at(whole("p0", 1), 0, 10), at(whole("p1", 1), 10, 20)}, 0.0, true),
                       rules};
    EXPECT_THAT(run.placed(), ElementsAre(true, true));
    EXPECT_THAT(run.allocated(), ElementsAre("0:1000", "10:0", "10:1000", "20:0"));
    EXPECT_EQ(run.result.finished, 2);
    EXPECT_EQ(run.book.live_count(), 0U);
}

TEST(simulation, all_that_arrives_at_an_instant_has_arrived_before_anything_is_tried) {
    retrying rules;
    const replayed run{built({gpu_node("n", 1)},
                             {at(whole("p0", 1), 5, 6), at(whole("p1", 1), 5, 8), at(cpu_only("p2"), 5, 9)}, 0.0, true),
                       rules};
    ASSERT_GE(rules.calls.size(), 4U);
    EXPECT_EQ(rules.calls[0], "arrival 0 5");
    EXPECT_EQ(rules.calls[1], "arrival 1 5");
    EXPECT_EQ(rules.calls[2], "arrival 2 5");
    EXPECT_EQ(rules.calls[3], "rejection 1 5");
}

TEST(simulation, a_pod_of_no_duration_is_placed_and_gone_in_one_instant) {
    vgpusim::try_once rules;
    const replayed run{built({gpu_node("n", 1)}, {at(whole("p0", 1), 3, 3), at(whole("p1", 1), 4, 4)}, 0.0, true),
                       rules};
    EXPECT_THAT(run.placed(), ElementsAre(true, true));
    EXPECT_THAT(run.allocated(), ElementsAre("3:1000", "3:0", "4:1000", "4:0"));
}

TEST(simulation, a_kept_pod_is_placed_at_a_later_attempt) {
    retrying rules;
    const replayed run{built({gpu_node("n", 1)},
                             {at(whole("p0", 1), 0, 10), at(whole("p1", 1), 2, 7), at(share("p2", 500), 3, 4)}, 0.0,
                             true),
                       rules};
    EXPECT_THAT(rules.calls, ElementsAre("arrival 0 0", "arrival 1 2", "rejection 1 2", "arrival 2 3", "rejection 2 3",
                                         "finish 0 10", "rejection 2 10", "finish 1 15", "finish 2 16"));
    EXPECT_THAT(run.placed(), ElementsAre(true, true, true));
    EXPECT_EQ(run.result.failed, 0);
    EXPECT_EQ(run.result.placed, 3);
    EXPECT_EQ(run.result.finished, 3);
    EXPECT_EQ(run.result.decisions, 6);
    EXPECT_EQ(run.result.pods[1].reason, rejection_code::none); // the former rejection is forgotten
    for (const auto code : rules.reasons) EXPECT_NE(code, rejection_code::none);
}

TEST(simulation, an_attempt_may_be_put_off) {
    retrying rules{seconds(4)};
    const replayed run{built({gpu_node("n", 1)}, {at(whole("p0", 1), 0, 9), at(whole("p1", 1), 2, 3)}, 0.0, true),
                       rules};
    EXPECT_THAT(rules.calls, ElementsAre("arrival 0 0", "arrival 1 2", "rejection 1 2", "rejection 1 6", "finish 0 9",
                                         "finish 1 11"));
    EXPECT_THAT(run.placed(), ElementsAre(true, true));
}

TEST(simulation, samples_at_an_interval_show_each_instant_when_it_is_over) {
    vgpusim::try_once rules;
    const replayed run{
        built({gpu_node("n", 2)}, {at(whole("p0", 1), 100, 110), at(whole("p1", 1), 110, 125)}, 0.0, true), rules,
        seconds(10)};
    EXPECT_THAT(run.allocated(), ElementsAre("100:1000", "110:1000", "120:1000", "130:0"));
    EXPECT_EQ(run.result.samples[1].arrived_milli, 2000);
}

TEST(simulation, latencies_are_counted_once_per_decision) {
    vgpusim::try_once rules;
    const replayed run{built({gpu_node("n", 1)}, {whole("p0", 1)}), rules};
    EXPECT_GT(run.result.decision_latency.quantile_us(0.5), 0.0);
    EXPECT_GT(run.result.loop_ns, 0U);
}

TEST(simulation, progress_is_told_and_never_exceeds_the_pods) {
    std::vector<vgputraces::openb_pod> pods;
    for (int i = 0; i < 10000; ++i) pods.push_back(share("p" + std::to_string(i), 1));
    std::vector<std::size_t> told;
    vgpusim::try_once rules;
    const replayed run{built({gpu_node("n", 8)}, pods), rules, {}, [&](std::size_t done) { told.push_back(done); }};
    ASSERT_FALSE(told.empty());
    EXPECT_TRUE(std::ranges::is_sorted(told));
    EXPECT_LE(told.back(), pods.size());
}

} // namespace
