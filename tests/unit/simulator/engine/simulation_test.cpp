#include "vgpusim/engine/simulation.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../replayed.hpp"
#include "vgpusim/discipline/try_once.hpp"

namespace {

using testing::ElementsAre;
using vgpualloc::rejection_code;
using vgpualloc::ticks;
using vgpusim_test::at;
using vgpusim_test::built;
using vgpusim_test::cpu_only;
using vgpusim_test::gpu_node;
using vgpusim_test::replayed;
using vgpusim_test::seconds;
using vgpusim_test::share;
using vgpusim_test::whole;

/// Writes down what the loop tells, and tries all that wait in every pass.
class retrying final : public vgpusim::discipline {
public:
    [[nodiscard]] bool keeps_waiting() const noexcept override { return true; }
    void on_arrival(std::uint32_t job, vgpusim::scheduling_context& run) override {
        note("arrival", job, run);
        waiting_.push_back(job);
    }
    void on_start(std::uint32_t pod, ticks, vgpusim::scheduling_context& run) override { note("start", pod, run); }
    void on_end(std::uint32_t pod, vgpusim::scheduling_context& run) override { note("end", pod, run); }
    void pass(vgpusim::scheduling_context& run) override {
        std::erase_if(waiting_, [&](std::uint32_t job) {
            const bool started = run.try_start(job) == vgpusim::start_result::started;
            if (!started) note("rejection", job, run);
            return started;
        });
    }

    std::vector<std::string> calls;

private:
    void note(const char* what, std::uint32_t pod, const vgpusim::scheduling_context& run) {
        calls.push_back(std::string{what} + " " + std::to_string(pod) + " " +
                        std::to_string(run.now().count() / 1'000'000));
    }

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
    EXPECT_EQ(rules.calls[3], "start 0 5");
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
    EXPECT_THAT(rules.calls, ElementsAre("arrival 0 0", "start 0 0", "arrival 1 2", "rejection 1 2", "arrival 2 3",
                                         "rejection 1 3", "rejection 2 3", "end 0 10", "start 1 10", "rejection 2 10",
                                         "end 1 15", "start 2 15", "end 2 16"));
    EXPECT_THAT(run.placed(), ElementsAre(true, true, true));
    EXPECT_EQ(run.result.failed, 0);
    EXPECT_EQ(run.result.placed, 3);
    EXPECT_EQ(run.result.finished, 3);
    EXPECT_EQ(run.result.pods[1].reason, rejection_code::none); // the former rejection is forgotten
    EXPECT_EQ(run.result.times[1].start, seconds(10));
    EXPECT_EQ(run.result.times[1].end, seconds(15));
}

TEST(simulation, samples_at_an_interval_show_each_instant_when_it_is_over) {
    vgpusim::try_once rules;
    const replayed run{
        built({gpu_node("n", 2)}, {at(whole("p0", 1), 100, 110), at(whole("p1", 1), 110, 125)}, 0.0, true),
        rules,
        {.sample_interval = seconds(10)}};
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
