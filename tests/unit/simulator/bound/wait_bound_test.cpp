// Waits in the pool: no choice of places makes a pod wait less.
#include "vgpusim/bound/wait_bound.hpp"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "tiny_cluster.hpp"
#include "vgpusim/study/solver.hpp"

namespace {

using vgpualloc::ticks;
using vgpusim_test::tiny_cluster;
using vgpusim_test::tiny_node;
using vgpusim_test::tiny_place;
using vgpusim_test::tiny_pod;
using vgpusim_test::tiny_random;

std::vector<bool> all_fit(const vgpusim::simulation_input& input) { return std::vector<bool>(input.requests.size()); }

vgpusim::wait_bound bound_of(const vgpusim::simulation_input& input, const std::vector<bool>& never_fits,
                             const vgpusim::wait_search& search = {}) {
    auto solver = vgpusim::find_solver("a test").value();
    auto packing = vgpusim::workload_packing::of(input).value();
    return least_waits(input, never_fits, packing, *solver, search).value();
}

/// Every way to place pods that start in the order of their arrival as soon as any node has room.
class every_queue {
public:
    every_queue(const std::vector<tiny_node>& nodes, const std::vector<tiny_pod>& pods)
        : nodes_{nodes}, pods_{pods}, waits_(pods.size()) {}

    template <class Look>
    void visit(const Look& look, std::size_t next = 0, std::int64_t now = 0) {
        if (next == pods_.size()) return look(waits_);
        const tiny_pod& pod = pods_[next];
        now = std::max(now, pod.arrival);
        std::vector<tiny_place> places;
        while ((places = room_at(now).places_of(pod)).empty()) now = next_end(now);
        waits_[next] = now - pod.arrival;
        for (const tiny_place& place : places) {
            running_.push_back({.pod = pod, .place = place, .end = now + pod.duration});
            visit(look, next + 1, now);
            running_.pop_back();
        }
    }

private:
    struct running {
        tiny_pod pod;
        tiny_place place;
        std::int64_t end = 0;
    };

    [[nodiscard]] tiny_cluster room_at(std::int64_t now) const {
        tiny_cluster cluster{nodes_};
        for (const running& earlier : running_) {
            if (earlier.end > now) cluster.take(earlier.pod, earlier.place);
        }
        return cluster;
    }
    [[nodiscard]] std::int64_t next_end(std::int64_t now) const {
        std::int64_t first = std::numeric_limits<std::int64_t>::max();
        for (const running& earlier : running_) {
            if (earlier.end > now) first = std::min(first, earlier.end);
        }
        return first;
    }

    const std::vector<tiny_node>& nodes_;
    const std::vector<tiny_pod>& pods_;
    std::vector<running> running_;
    std::vector<std::int64_t> waits_;
};

TEST(wait_bound, no_choice_of_places_beats_it) {
    int reached = 0;
    int waiting = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        tiny_random random{seed};
        const auto nodes = vgpusim_test::random_nodes(random);
        auto pods = vgpusim_test::random_pods(random, 7, 2);
        std::erase_if(pods, [&](const tiny_pod& pod) { return tiny_cluster{nodes}.places_of(pod).empty(); });
        if (pods.empty()) continue;
        const auto input = vgpusim_test::input_of(nodes, pods);
        const auto bound = bound_of(input, all_fit(input));
        ASSERT_EQ(bound.queue.pods, std::ssize(pods));
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        every_queue{nodes, pods}.visit([&](const std::vector<std::int64_t>& waits) {
            std::int64_t sum = 0;
            for (std::size_t i = 0; i < waits.size(); ++i) {
                ASSERT_GE(waits[i] * vgpualloc::ticks_per_second, *bound.queue.waits[i]) << seed << ' ' << i;
                sum += waits[i];
            }
            least = std::min(least, sum);
        });
        const double least_mean = static_cast<double>(least) / static_cast<double>(pods.size());
        EXPECT_LE(bound.queue.mean_s, least_mean + 1e-9) << seed;
        if (least > 0) ++waiting;
        if (least > 0 && bound.queue.mean_s > least_mean - 1e-9) ++reached;
    }
    EXPECT_GT(waiting, 20);
    EXPECT_GT(reached, 10); // the bound is not far off either
}

// Three GPUs hold three pods of 600 and as many of 400 milli, but not four of 600: sums of GPUs do not show that.
TEST(wait_bound, states_that_are_no_packing_are_found) {
    const std::vector<tiny_node> nodes{{.free = {1000, 1000}}, {.free = {1000}}};
    std::vector<tiny_pod> pods(3, {.milli = 600, .duration = 10});
    pods.push_back({.milli = 600, .arrival = 1, .duration = 10});
    for (int i = 0; i < 3; ++i) pods.push_back({.milli = 400, .arrival = 30});
    const auto input = vgpusim_test::input_of(nodes, pods);
    const auto by_amounts = bound_of(input, all_fit(input), {.rounds_max = 0});
    EXPECT_DOUBLE_EQ(by_amounts.queue.mean_s, 0.0); // 2.4 of 3 GPUs
    const auto searched = bound_of(input, all_fit(input));
    EXPECT_GT(searched.cuts, by_amounts.cuts);
    EXPECT_DOUBLE_EQ(searched.queue.mean_s, 9.0 / 7);
    EXPECT_DOUBLE_EQ(searched.queue.gpu_mean_s, 9.0 * 0.6 / 3.6);
}

TEST(wait_bound, pods_that_name_a_model_wait_for_it) {
    auto of_h = vgpusim_test::whole("a", 1);
    of_h.gpu_spec = "H";
    auto next = of_h;
    next.name = "b";
    const auto input = vgpusim_test::built({vgpusim_test::gpu_node("n", 4), vgpusim_test::gpu_node("m", 1, "H")},
                                           {vgpusim_test::at(of_h, 0, 10), vgpusim_test::at(next, 1, 5)}, 0.0, true);
    const auto bound = bound_of(input, all_fit(input));
    EXPECT_EQ(bound.queue.waits[0], ticks{0});
    EXPECT_EQ(bound.queue.waits[1], 9 * vgpualloc::ticks_per_second);
}

TEST(wait_bound, pods_that_never_fit_hold_up_nobody) {
    const auto input =
        vgpusim_test::input_of({{.free = {1000}}}, {{.gpus = 2, .duration = 10}, {.gpus = 1, .duration = 3}});
    std::vector<bool> never_fits;
    for (const auto& request : input.requests) never_fits.push_back(request.containers.front().count == 2);
    const auto bound = bound_of(input, never_fits);
    EXPECT_EQ(bound.queue.pods, 1);
    EXPECT_FALSE(bound.queue.waits[0].has_value());
    EXPECT_EQ(bound.queue.waits[1], ticks{0});
}

// Without conditions nobody waits; the order of arrival holds whatever fits.
TEST(wait_bound, a_pod_starts_after_those_before_it) {
    const auto input =
        vgpusim_test::input_of({{.free = {1000}}}, {{.duration = 5}, {.duration = 5}, {.milli = 1, .duration = 1}});
    EXPECT_DOUBLE_EQ(replay_pooled_queue(input, all_fit(input), {}).mean_s, 0.0);
    vgpusim::whole_cut one_at_a_time{.of_request = std::vector<std::int64_t>(input.requests.size(), 1), .most = 1};
    const auto queue = replay_pooled_queue(input, all_fit(input), {&one_at_a_time, 1});
    EXPECT_EQ(queue.waits[1], 5 * vgpualloc::ticks_per_second);
    EXPECT_EQ(queue.waits[2], 10 * vgpualloc::ticks_per_second);
}

} // namespace
