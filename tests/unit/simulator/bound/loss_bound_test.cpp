// Bounds on accepted and served GPUs: no choice of pods and places passes them.
#include "vgpusim/bound/loss_bound.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "tiny_cluster.hpp"
#include "vgpusim/study/solver.hpp"

namespace {

using vgpusim::known_durations;
using vgpusim::packing_cut;
using vgpusim::time_weights;
using vgpusim_test::tiny_cluster;
using vgpusim_test::tiny_node;
using vgpusim_test::tiny_place;
using vgpusim_test::tiny_pod;
using vgpusim_test::tiny_random;

TEST(known_durations, means_of_what_is_cut_off) {
    const known_durations durations{{4.0, 2.0, std::numeric_limits<double>::infinity(), 10.0}};
    EXPECT_DOUBLE_EQ(durations.mean_up_to(0.0), 0.0);
    EXPECT_DOUBLE_EQ(durations.mean_up_to(1.0), 1.0);
    EXPECT_DOUBLE_EQ(durations.mean_up_to(4.0), (2.0 + 4.0 + 4.0 + 4.0) / 4);
    EXPECT_DOUBLE_EQ(durations.mean_up_to(100.0), (2.0 + 4.0 + 10.0 + 100.0) / 4);
    EXPECT_DOUBLE_EQ(durations.share_longer_than(4.0), 0.5);
    EXPECT_DOUBLE_EQ(durations.share_longer_than(1000.0), 0.25);
    EXPECT_DOUBLE_EQ(known_durations{{}}.mean_up_to(1.0), 0.0);
}

TEST(time_weights, count_the_end_apart) {
    const time_weights weights{.from = 10.0, .until = 20.0, .at_end = 5.0};
    EXPECT_DOUBLE_EQ(weights.total(), 15.0);
    EXPECT_DOUBLE_EQ(weights.of(0.0, 8.0), 0.0);
    EXPECT_DOUBLE_EQ(weights.of(0.0, 12.0), 2.0);
    EXPECT_DOUBLE_EQ(weights.of(15.0, 20.0), 5.0);
    EXPECT_DOUBLE_EQ(weights.of(15.0, 21.0), 10.0);
    EXPECT_DOUBLE_EQ(weights.of(20.0, 30.0), 5.0);
}

/// A workload with all that its bounds are computed from.
struct bounded_workload {
    vgpusim::simulation_input input;
    vgpusim::workload_packing packing;
    vgpusim::lossy_workload workload;
    std::vector<packing_cut> cuts;
};

bounded_workload bounded(vgpusim::simulation_input input) {
    auto solver = vgpusim::find_solver("a test").value();
    auto packing = vgpusim::workload_packing::of(input).value();
    auto workload = vgpusim::lossy_workload_of(input, std::vector<bool>(input.requests.size(), false));
    auto cuts = vgpusim::loss_cuts(workload, packing, *solver).value();
    return {.input = std::move(input),
            .packing = std::move(packing),
            .workload = std::move(workload),
            .cuts = std::move(cuts)};
}

/// Every way to lose some of the pods and to place the others when they arrive.
class every_loss {
public:
    every_loss(const std::vector<tiny_node>& nodes, const std::vector<tiny_pod>& pods)
        : cluster_{nodes}, pods_{pods}, accepted_(pods.size(), false) {}

    /// Calls `look` with the pods that each way accepts.
    template <class Look>
    void visit(const Look& look, std::size_t next = 0) {
        if (next == pods_.size()) return look(accepted_);
        visit(look, next + 1);
        const tiny_pod& pod = pods_[next];
        tiny_cluster before = cluster_;
        const std::vector<running> running_before = running_;
        std::erase_if(running_, [&](const running& earlier) {
            const bool has_ended = earlier.pod.arrival + earlier.pod.duration <= pod.arrival;
            if (has_ended) cluster_.take(earlier.pod, earlier.place, -1);
            return has_ended;
        });
        accepted_[next] = true;
        for (const tiny_place& place : cluster_.places_of(pod)) {
            cluster_.take(pod, place);
            running_.push_back({.pod = pod, .place = place});
            visit(look, next + 1);
            running_.pop_back();
            cluster_.take(pod, place, -1);
        }
        accepted_[next] = false;
        cluster_ = before;
        running_ = running_before;
    }

private:
    struct running {
        tiny_pod pod;
        tiny_place place;
    };
    tiny_cluster cluster_;
    const std::vector<tiny_pod>& pods_;
    std::vector<running> running_;
    std::vector<bool> accepted_;
};

double gpus_of(const tiny_pod& pod) { return pod.gpus * static_cast<double>(pod.milli) / 1000.0; }

TEST(loss_bound, no_choice_passes_it) {
    constexpr double rounding = 1e-6;
    int binding = 0;
    int luck_needed = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        tiny_random random{seed};
        const auto nodes = vgpusim_test::random_nodes(random);
        const auto pods = vgpusim_test::random_pods(random, 7, 2);
        const auto all = bounded(vgpusim_test::input_of(nodes, pods));
        if (all.workload.until_s <= 0.0) continue;
        const auto knowing = most_accepted(all.workload, all.packing, all.cuts);
        const auto blind = most_accepted_blindly(all.workload, all.packing, all.cuts);
        const double served = most_served(all.workload, all.packing, all.cuts, false);
        const double served_late = most_served(all.workload, all.packing, all.cuts, true);
        EXPECT_LE(served, served_late + rounding) << seed;
        if (knowing.gpus < all.workload.gpus_arrived - rounding) ++binding;
        std::set<std::vector<bool>> seen;
        every_loss{nodes, pods}.visit([&](const std::vector<bool>& accepted) {
            if (!seen.insert(accepted).second) return;
            double gpus = 0.0;
            double gpu_seconds = 0.0;
            for (std::size_t i = 0; i < pods.size(); ++i) {
                if (!accepted[i]) continue;
                gpus += gpus_of(pods[i]);
                const auto left = all.workload.until_s - static_cast<double>(pods[i].arrival);
                gpu_seconds += gpus_of(pods[i]) * std::min(static_cast<double>(pods[i].duration), left);
            }
            ASSERT_LE(gpus, knowing.gpus + rounding) << seed;
            ASSERT_LE(gpu_seconds / all.workload.until_s, served + rounding) << seed;
            const double luck = luck_of(all.workload, all.packing, all.cuts, blind, accepted);
            ASSERT_LE(gpus, blind.gpus + luck + rounding) << seed;
            if (gpus > blind.gpus + rounding) ++luck_needed;
        });
    }
    EXPECT_GT(binding, 5);     // or nothing was shown
    EXPECT_GT(luck_needed, 0); // a choice by durations passes the bound of those that do not know them
}

// Who does not know durations has no luck on average: over all orders of the durations of a request it is zero.
TEST(loss_bound, luck_is_nothing_on_average) {
    const std::vector<tiny_node> nodes{{.free = {1000}}};
    std::vector<tiny_pod> pods;
    for (std::int64_t i = 0; i < 6; ++i) pods.push_back({.milli = 600, .arrival = i, .duration = 1 + 2 * i});
    const auto first = bounded(vgpusim_test::input_of(nodes, pods));
    const auto blind = most_accepted_blindly(first.workload, first.packing, first.cuts);
    ASSERT_GT(blind.scale, 0.0);
    const std::vector<bool> accepted{true, false, true, true, false, false};
    std::vector<std::int64_t> durations(6);
    std::iota(durations.begin(), durations.end(), 0);
    double sum = 0.0;
    double most = 0.0;
    do {
        for (std::size_t i = 0; i < pods.size(); ++i) pods[i].duration = 1 + 2 * durations[i];
        const auto input = vgpusim_test::input_of(nodes, pods);
        const auto workload = vgpusim::lossy_workload_of(input, {false});
        const double luck = luck_of(workload, first.packing, first.cuts, blind, accepted);
        sum += luck;
        most = std::max(most, luck);
    } while (std::ranges::next_permutation(durations).found);
    EXPECT_GT(most, 0.1);
    EXPECT_NEAR(sum, 0.0, 1e-6);
}

// In a long steady state the bound is what fits of what is offered: half of it, and what fills the cluster at first.
TEST(loss_bound, a_steady_state_by_hand) {
    std::vector<vgputraces::openb_pod> pods;
    constexpr int count = 2000;
    for (int i = 0; i < count; ++i) {
        pods.push_back(vgpusim_test::at(vgpusim_test::whole("p" + std::to_string(i), 1), i, i + 20));
    }
    const auto all = bounded(vgpusim_test::built({vgpusim_test::gpu_node("n", 10)}, pods, 0.0, true));
    EXPECT_DOUBLE_EQ(all.workload.mean_duration_s, 20.0);
    const auto blind = most_accepted_blindly(all.workload, all.packing, all.cuts);
    // Ten at first, ten more whenever ten have ended.
    EXPECT_GE(blind.gpus, count / 2.0);
    EXPECT_LE(blind.gpus, count / 2.0 + 15.0);
    EXPECT_NEAR(most_served(all.workload, all.packing, all.cuts, false), 10.0, 0.05);
}

TEST(loss_bound, pods_that_never_fit_and_those_that_only_fill_do_not_count) {
    auto input =
        vgpusim_test::input_of({{.free = {1000}}}, {{.arrival = 0}, {.gpus = 2, .arrival = 3}, {.arrival = 6}});
    std::vector<bool> never_fits;
    for (const auto& request : input.requests) never_fits.push_back(request.containers.front().count == 2);
    auto workload = vgpusim::lossy_workload_of(input, never_fits);
    EXPECT_DOUBLE_EQ(workload.gpus_arrived, 4.0);
    EXPECT_DOUBLE_EQ(workload.pods[1].counted_gpus, 0.0);
    input.measured = vgpusim::measured_arrivals{.first_pod = 1};
    workload = vgpusim::lossy_workload_of(input, never_fits);
    EXPECT_DOUBLE_EQ(workload.gpus_arrived, 3.0);
    EXPECT_DOUBLE_EQ(workload.pods[0].counted_gpus, 0.0);
    EXPECT_DOUBLE_EQ(workload.pods[0].gpus, 1.0);
}

} // namespace
