// Pods that are moved while a run goes on (engine/simulation.hpp, move_rules): what they and others get, and when.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../job_lists.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/verify/placements.hpp"
#include "vgpusim/discipline/try_once.hpp"
#include "vgpusim/engine/move_planner.hpp"

namespace {

using testing::ElementsAre;
using vgpualloc::device_index;
using vgpualloc::node_index;
using vgpualloc::pod_id;
using vgpualloc::ticks;
using vgpualloc::plan::move_plan;
using vgpusim_test::at;
using vgpusim_test::built;
using vgpusim_test::gpu_node;
using vgpusim_test::replayed;
using vgpusim_test::seconds;
using vgpusim_test::share;
using vgpusim_test::whole;

/// What a run gets if it moves the fewest pods.
vgpusim::move_planner& fewest_moves() {
    static const auto ranking = vgpualloc::make_policy("best_fit", {}).value();
    static const auto planner = vgpusim::planner_for(*ranking, 3);
    return *planner;
}

/// Every pod that starts allows a move.
vgpusim::simulation_options moving(std::int64_t downtime_s, vgpusim::move_planner& planner = fewest_moves()) {
    vgpusim::simulation_options options;
    options.moves = {.planner = &planner, .per_accepted = 1.0, .downtime = seconds(downtime_s)};
    return options;
}

/// Says the same once.
class one_plan final : public vgpusim::move_planner {
public:
    using maker = std::function<move_plan(const vgpualloc::ledger&)>;
    explicit one_plan(maker make) : make_{std::move(make)} {}

    [[nodiscard]] std::optional<move_plan> plan(const vgpusim::room_wanted& wanted) override {
        if (!make_) return std::nullopt;
        return std::exchange(make_, nullptr)(*wanted.book);
    }
    [[nodiscard]] std::optional<move_plan> tidy(const vgpusim::room_wanted& wanted) override { return plan(wanted); }

private:
    maker make_;
};

/// The place of a running pod with another GPU of its node.
vgpualloc::placement place_on(const vgpualloc::ledger& book, std::uint32_t pod, std::uint32_t gpu) {
    vgpualloc::placement where = book.booking_of(pod_id{pod}).where;
    where.shares[0].device = device_index{gpu};
    return where;
}

/// From second 5 on p0 has a half of a GPU and p2 0.4 of another one; at 10 p3 wants a whole one.
std::vector<vgputraces::openb_pod> two_halves(std::int64_t end_of_p0 = 100, std::int64_t end_of_p2 = 100) {
    return {at(share("p0", 500), 0, end_of_p0), at(share("p1", 600), 1, 5), at(share("p2", 400), 2, end_of_p2),
            at(whole("p3", 1), 10, 60)};
}

TEST(moves, without_a_planner_the_request_is_lost) {
    vgpusim::try_once rules;
    const replayed run{built({gpu_node("n", 2)}, two_halves(), 0.0, true), rules};
    EXPECT_THAT(run.placed(), ElementsAre(true, true, true, false));
}

TEST(moves, that_cost_nothing_happen_at_once_and_delay_nobody) {
    vgpusim::try_once rules;
    const replayed run{built({gpu_node("n", 2)}, two_halves(), 0.0, true), rules, moving(0)};
    EXPECT_THAT(run.placed(), ElementsAre(true, true, true, true));
    EXPECT_EQ(run.result.times[3].start, seconds(10));
    EXPECT_EQ(run.result.times[3].end, seconds(60));
    EXPECT_EQ(run.result.times[0].end, seconds(100));
    EXPECT_EQ(run.result.times[2].end, seconds(100));
    EXPECT_EQ(run.result.finished, 4);
    EXPECT_EQ(run.book.live_count(), 0U);
    EXPECT_EQ(run.result.moves.planned, 1);
    EXPECT_EQ(run.result.moves.done, 1);
    EXPECT_EQ(run.result.moves.pods_moved, 1);
    EXPECT_EQ(run.result.moves.dropped, 0);
}

TEST(moves, that_take_time_hold_both_places_and_make_the_pod_run_longer) {
    vgpusim::try_once rules;
    const replayed run{built({gpu_node("n", 2)}, two_halves(), 0.0, true), rules, moving(7)};
    EXPECT_EQ(run.result.times[3].start, seconds(17));
    EXPECT_EQ(run.result.times[3].end, seconds(67));
    const ticks ends[] = {run.result.times[0].end, run.result.times[2].end};
    EXPECT_EQ(std::min(ends[0], ends[1]), seconds(100));
    EXPECT_EQ(std::max(ends[0], ends[1]), seconds(107));
    EXPECT_EQ(run.result.moves.downtime_s, 7.0);
    EXPECT_EQ(run.book.live_count(), 0U);
    EXPECT_EQ(run.result.samples.back().waiting, 0);
}

TEST(moves, nobody_takes_what_becomes_free_for_the_one_that_waits) {
    vgpusim::try_once rules;
    auto pods = two_halves();
    pods.push_back(at(share("p4", 100), 12, 20));
    pods.push_back(at(share("p5", 100), 20, 30));
    const replayed run{built({gpu_node("n", 2)}, pods, 0.0, true), rules, moving(7)};
    EXPECT_EQ(run.result.times[3].start, seconds(17));
    EXPECT_THAT(run.placed(), ElementsAre(true, true, true, true, false, true));
}

TEST(moves, a_pod_that_ends_while_it_is_copied_need_not_go) {
    vgpusim::try_once rules;
    const replayed run{built({gpu_node("n", 2)}, two_halves(12, 12), 0.0, true), rules, moving(7)};
    EXPECT_EQ(run.result.times[3].start, seconds(12));
    EXPECT_EQ(run.result.moves.done, 0);
    EXPECT_EQ(run.result.moves.downtime_s, 0.0);
    EXPECT_EQ(run.result.finished, 4);
}

TEST(moves, a_failure_ends_the_plan_and_who_waited_is_tried_again) {
    for (const bool node_fails : {false, true}) {
        vgpusim::try_once rules;
        auto input = built({gpu_node("n", 2), gpu_node("other", 0, "")}, two_halves(), 0.0, true);
        const node_index where{input.nodes.nodes[0].name == "n" ? 0 : 1};
        const auto gpu = node_fails ? std::nullopt : std::optional{device_index{0}};
        input.cluster_events = {
            {.time = seconds(12), .node = where, .device = gpu},
            {.time = seconds(200), .what = vgpusim::cluster_change::resumes, .node = where, .device = gpu}};
        const replayed run{std::move(input), rules, moving(7)};
        EXPECT_EQ(run.result.moves.planned, 1);
        EXPECT_EQ(run.result.moves.dropped, 1);
        EXPECT_EQ(run.result.moves.done, 0);
        EXPECT_FALSE(run.placed()[3]); // the other GPU has one of the pods
        EXPECT_EQ(run.book.live_count(), 0U);
        EXPECT_EQ(run.book.services(where)[1], vgpualloc::service_state::in_service);
    }
}

TEST(moves, two_pods_change_places_through_a_spare_one) {
    for (const std::int64_t downtime : {0, 3}) {
        vgpusim::try_once rules;
        one_plan planner{[](const vgpualloc::ledger& book) {
            const auto a = place_on(book, 0, 0);
            const auto b = place_on(book, 1, 1);
            const auto spare = place_on(book, 0, 2);
            move_plan swap;
            swap.moves = {{.pod = pod_id{0}, .from = book.booking_of(pod_id{0}).where, .to = spare},
                          {.pod = pod_id{1}, .from = b, .to = a},
                          {.pod = pod_id{0}, .from = spare, .to = b}};
            if (book.booking_of(pod_id{0}).where == b) { // the other way round
                swap.moves[1] = {.pod = pod_id{1}, .from = a, .to = b};
                swap.moves[2].to = a;
            }
            return swap;
        }};
        auto options = moving(downtime, planner);
        options.moves.per_accepted = 2.0;
        options.moves.interval = seconds(10);
        const replayed run{built({gpu_node("n", 3)}, {at(whole("p0", 1), 0, 50), at(whole("p1", 1), 0, 50)}, 0.0, true),
                           rules, options};
        EXPECT_EQ(run.result.moves.done, 3);
        EXPECT_EQ(run.result.moves.pods_moved, 2);
        EXPECT_EQ(run.result.times[0].end, seconds(50 + 2 * downtime));
        EXPECT_EQ(run.result.times[1].end, seconds(50 + downtime));
        EXPECT_EQ(run.book.live_count(), 0U);
    }
}

TEST(moves, a_pod_that_ends_is_left_out_of_all_its_moves) {
    vgpusim::try_once rules;
    one_plan planner{[](const vgpualloc::ledger& book) {
        const auto from = book.booking_of(pod_id{0}).where;
        const auto second = place_on(book, 0, 1);
        move_plan there_and_back;
        there_and_back.moves = {{.pod = pod_id{0}, .from = from, .to = second},
                                {.pod = pod_id{0}, .from = second, .to = from}};
        return there_and_back;
    }};
    auto options = moving(4, planner);
    options.moves.per_accepted = 2.0;
    options.moves.interval = seconds(10);
    const replayed run{built({gpu_node("n", 2)}, {at(share("p0", 500), 0, 12), at(share("p1", 100), 0, 40)}, 0.0, true),
                       rules, options};
    EXPECT_EQ(run.result.moves.done, 0);
    EXPECT_EQ(run.result.times[0].end, seconds(12));
    EXPECT_EQ(run.result.finished, 2);
}

TEST(moves, a_plan_that_does_not_hold_is_not_begun) {
    vgpusim::try_once rules;
    one_plan planner{[](const vgpualloc::ledger& book) {
        move_plan wrong; // a whole GPU is not free where p2 stays
        wrong.where = place_on(book, 2, book.booking_of(pod_id{2}).where.shares[0].device.value());
        wrong.moves = {{.pod = pod_id{0},
                        .from = book.booking_of(pod_id{0}).where,
                        .to = place_on(book, 0, wrong.where.shares[0].device.value())}};
        return wrong;
    }};
    auto pods = two_halves();
    pods[3] = at(share("p3", 700), 10, 60);
    const replayed run{built({gpu_node("n", 2)}, pods, 0.0, true), rules, moving(0, planner)};
    EXPECT_EQ(run.result.moves.planned, 0);
    EXPECT_FALSE(run.placed()[3]);
    EXPECT_EQ(run.result.finished, 3);
}

TEST(moves, gpus_are_emptied_at_intervals_and_the_run_ends) {
    vgpusim::try_once rules;
    auto options = moving(2);
    options.moves.interval = seconds(8);
    options.sample_interval = seconds(5);
    auto pods = two_halves();
    pods[3] = at(whole("p3", 1), 30, 60);
    const replayed run{built({gpu_node("n", 2)}, pods, 0.0, true), rules, options};
    EXPECT_EQ(run.result.moves.done, 1);
    EXPECT_EQ(run.result.times[3].start, seconds(30));
    EXPECT_LE(run.result.usage.span(), seconds(102).count());
}

TEST(moves, pods_that_stay_do_not_keep_a_run_going) {
    vgpusim::try_once rules;
    auto options = moving(2);
    options.moves.interval = seconds(8);
    const replayed run{built({gpu_node("n", 2)}, {at(share("p0", 500), 0), at(share("p1", 400), 20)}), rules, options};
    EXPECT_EQ(run.result.placed, 2);
}

/// Looks at the books after every pass.
class checked final : public vgpusim::discipline {
public:
    explicit checked(std::string_view name) : rules_{(*vgpusim::find_discipline(name))->make()} {}
    [[nodiscard]] bool keeps_waiting() const noexcept override { return rules_->keeps_waiting(); }
    void on_arrival(std::uint32_t job, vgpusim::scheduling_context& run) override { rules_->on_arrival(job, run); }
    void on_start(std::uint32_t pod, ticks planned_end, vgpusim::scheduling_context& run) override {
        rules_->on_start(pod, planned_end, run);
    }
    void on_end(std::uint32_t pod, vgpusim::scheduling_context& run) override { rules_->on_end(pod, run); }
    void on_cluster_change(vgpusim::scheduling_context& run) override { rules_->on_cluster_change(run); }
    void pass(vgpusim::scheduling_context& run) override {
        rules_->pass(run);
        run.book().check();
        ASSERT_EQ(vgpualloc::verify::first_violation(run.book()), "");
        for (std::size_t node = 0; node < run.book().nodes().nodes.size(); ++node) {
            for (std::uint32_t gpu = 0; gpu < run.book().devices(node_index{node}).size(); ++gpu) {
                ASSERT_FALSE(run.book().is_overcommitted(node_index{node}, device_index{gpu}));
            }
        }
    }

private:
    std::unique_ptr<vgpusim::discipline> rules_;
};

/// Parts of GPUs on three nodes, with failures, drains and crashes.
vgpusim::simulation_input disturbed_workload(std::uint64_t seed) {
    vgpualloc::rng random{seed};
    const auto below = [&random](std::int64_t bound) {
        return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
    };
    std::vector<vgpusim_test::test_job> jobs;
    std::int64_t now = 0;
    for (int i = 0; i < 200; ++i) {
        now += below(8);
        jobs.push_back({.arrival = now,
                        .duration = 1 + below(60),
                        .milli = below(3) == 0 ? 1000 : 100 + 100 * below(6),
                        .cpu_milli = 500 * below(3)});
    }
    auto input = vgpusim_test::workload_of(jobs, 3, 3);
    for (int i = 0; i < 12; ++i) {
        const node_index where{below(3)};
        const auto what = below(2) == 0 ? vgpusim::cluster_change::stops : vgpusim::cluster_change::drains;
        const auto gpu = below(2) == 0 ? std::nullopt : std::optional{device_index{below(3)}};
        const auto begin = seconds(below(now));
        input.cluster_events.push_back({.time = begin, .what = what, .node = where, .device = gpu});
        input.cluster_events.push_back({.time = begin + seconds(1 + below(40)),
                                        .what = vgpusim::cluster_change::resumes,
                                        .node = where,
                                        .device = gpu});
    }
    std::ranges::stable_sort(input.cluster_events, {}, &vgpusim::cluster_event::time);
    for (int i = 0; i < 20; ++i) {
        const auto pod = static_cast<std::uint32_t>(below(static_cast<std::int64_t>(input.pods.size())));
        input.crashes.push_back({.time = input.pods[pod].arrival + seconds(below(40)), .pod = pod});
    }
    std::ranges::stable_sort(input.crashes, {}, &vgpusim::pod_crash::time);
    return input;
}

TEST(moves, whatever_happens_no_pod_is_lost_and_none_is_counted_twice) {
    std::int64_t done = 0;
    std::int64_t dropped = 0;
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
        for (const auto& entry : vgpusim::all_disciplines) {
            if (!entry.only_tries) continue;
            SCOPED_TRACE(std::string{entry.name} + " seed " + std::to_string(seed));
            checked rules{entry.name};
            auto options = moving(static_cast<std::int64_t>(seed % 4) * 3);
            if (seed % 5 == 0) options.moves.interval = seconds(15);
            const replayed run{disturbed_workload(seed), rules, options};
            std::int64_t finished = 0;
            for (std::size_t pod = 0; pod < run.input.pods.size(); ++pod) {
                const auto& times = run.result.times[pod];
                if (!times.ended) continue;
                ++finished;
                ASSERT_EQ(times.end - times.begun, *run.input.pods[pod].duration + times.delayed) << "pod " << pod;
            }
            ASSERT_EQ(run.book.live_count(), 0U);
            ASSERT_EQ(run.result.finished, finished);
            ASSERT_EQ(run.result.placed + run.result.failed, static_cast<std::int64_t>(run.input.pods.size()));
            if (rules.keeps_waiting()) {
                ASSERT_EQ(finished, run.result.placed);
            }
            ASSERT_EQ(run.result.samples.back().waiting, 0);
            ASSERT_EQ(run.result.samples.back().running, 0);
            ASSERT_EQ(run.result.samples.back().allocated_milli, 0);
            done += run.result.moves.done;
            dropped += run.result.moves.dropped;
        }
    }
    EXPECT_GT(done, 100);
    EXPECT_GT(dropped, 3);
}

/// The device that a move closes is open again when the run's ledger is made once more from its log.
TEST(moves, a_run_may_end_while_one_is_under_way) {
    vgpusim::run_config config;
    config.departures = true;
    config.policy = "worst_fit";
    config.defragment = vgpusim::defragment::periodic;
    config.defragment_every_s = 10;
    config.defragment_share = 1.0;
    config.move_downtime_s = 5;
    const auto record = vgpusim_test::run_of(2, {at(share("p0", 300), 0, 12), at(share("p1", 300), 0, 12)}, config);
    EXPECT_GT(record.result.moves.planned, 0);
    EXPECT_EQ(record.result.finished, 2);
    EXPECT_EQ(record.result.peak.state.allocated_milli, 900) << "both, and the copy of one of them";
}

} // namespace
