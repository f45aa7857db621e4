#include "vgpusim/outputs/answer.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../workloads.hpp"

namespace {

using testing::HasSubstr;
using vgpusim_test::at;
using vgpusim_test::run_of;
using vgpusim_test::share;
using vgpusim_test::whole;

vgpusim::run_config with(const std::string& policy, const std::string& mode, bool departures = false) {
    vgpusim::run_config config;
    config.policy = policy;
    config.mode = mode;
    config.departures = departures;
    return config;
}

/// A run that accepts so many of 1000 GPUs asked for, and has no room for the others.
vgpusim::run_record accepting(int gpus, const char* policy) {
    return run_of(500, {whole("a", gpus), whole("b", 1000 - gpus)}, with(policy, "hami_core"));
}

/// Two runs of which the first accepts that many tenths of a percent of the GPUs asked for more than the other.
std::string verdict_at(int lead) {
    std::vector<vgpusim::run_record> records;
    records.push_back(accepting(350 + lead, "fgd"));
    records.push_back(accepting(350, "best_fit"));
    return vgpusim::verdict_of(records);
}

/// Ten pods of one GPU and ten of eight arrive; so many of each are accepted.
vgpusim::run_record accepting_sizes(const char* policy, int small, int large) {
    vgpusim::run_record record = run_of(1, {whole("a", 1)}, with(policy, "hami_core"));
    record.accepted = {};
    record.rows = {.arrived = 20};
    for (int i = 0; i < 10; ++i) record.accepted.count(1000, i < small);
    for (int i = 0; i < 10; ++i) record.accepted.count(8000, i < large);
    record.rows.placed = record.accepted.pods.accepted;
    record.rows.started = record.rows.placed;
    return record;
}

TEST(verdict, more_pods_do_not_win_but_more_gpus) {
    std::vector<vgpusim::run_record> records;
    records.push_back(accepting_sizes("fgd", 10, 3));     // 13 pods, 34 GPUs
    records.push_back(accepting_sizes("best_fit", 4, 5)); // 9 pods, 44 GPUs
    EXPECT_EQ(vgpusim::verdict_of(records),
              "best_fit wins: it accepts 11.11 percentage points of the GPUs asked for more "
              "than fgd (10.0 GPUs), on this one seed.");
}

TEST(verdict, where_as_many_gpus_are_accepted_the_gpus_served_decide) {
    std::vector<vgpusim::run_record> records;
    records.push_back(accepting_sizes("fgd", 10, 3));
    records.push_back(accepting_sizes("best_fit", 2, 4));
    records[1].last.served = {};
    EXPECT_EQ(
        vgpusim::verdict_of(records),
        "fgd and best_fit accept the same share of the GPUs asked for. fgd wins: it serves 100.00 percentage points "
        "of all GPUs more than best_fit, on this one seed.");
}

TEST(verdict, a_win_is_that_of_one_seed) {
    EXPECT_EQ(verdict_at(25),
              "fgd wins: it accepts 2.50 percentage points of the GPUs asked for more than best_fit (25.0 "
              "GPUs), on this one seed.");
    EXPECT_THAT(verdict_at(10), HasSubstr("fgd wins: it accepts 1.00 percentage points"));
}

TEST(verdict, a_lead_that_may_be_chance_is_no_win) {
    EXPECT_EQ(verdict_at(9),
              "fgd accepts 0.90 percentage points of the GPUs asked for more than best_fit (9.0 GPUs). That is from "
              "one seed, where a lead below 1 point may be chance: no winner.");
    EXPECT_EQ(verdict_at(0), "fgd and best_fit accept the same share of the GPUs asked for, and serve the same.");
}

std::string verdict_of_waits(int first_gpus, int second_gpus) {
    std::vector<vgpusim::run_record> records;
    for (const int gpus : {first_gpus, second_gpus}) {
        auto config = with(gpus == first_gpus ? "fgd" : "best_fit", "hami_core", true);
        config.discipline = "fifo";
        records.push_back(run_of(gpus, {at(whole("a", 2), 0, 10), at(whole("b", 2), 4, 14)}, config));
    }
    return vgpusim::verdict_of(records);
}

TEST(verdict, where_every_policy_runs_all_pods_waits_decide) {
    EXPECT_EQ(verdict_of_waits(2, 3),
              "All pods run under every policy, and wait 3.0 s on average under each: no winner.");
    EXPECT_EQ(verdict_of_waits(2, 4),
              "All pods run under every policy. best_fit wins by waits: 0.0 s on average, 3.0 s "
              "under fgd, on this one seed.");
    std::vector<vgpusim::run_record> records;
    for (const char* policy : {"binpack", "spread"}) {
        records.push_back(run_of(4, {whole("a", 1)}, with(policy, "hami_core")));
    }
    EXPECT_EQ(vgpusim::verdict_of(records), "All pods run under every policy, and none waits: no winner.");
}

TEST(verdict, says_that_pods_wait_to_the_end) {
    std::vector<vgpusim::run_record> records;
    for (const char* policy : {"binpack", "spread"}) {
        records.push_back(run_of(4, {whole("a", 1)}, with(policy, "hami_core")));
        records.back().rows.waiting = 3;
    }
    const std::string verdict = vgpusim::verdict_of(records);
    EXPECT_TRUE(verdict.ends_with("; those that start do not wait, and others wait to the end: no winner.")) << verdict;
}

/// All pods run: small ones wait so long under the policy, and large ones so long.
vgpusim::run_record waiting_sizes(const char* policy, std::int64_t small_s, std::int64_t large_s) {
    vgpusim::run_record record = run_of(1, {whole("a", 1)}, with(policy, "hami_core"));
    record.accepted = {};
    record.has_queue = true;
    record.rows = {.arrived = 10, .placed = 10, .started = 10};
    for (int i = 0; i < 10; ++i) {
        const vgpualloc::ticks wait = (i < 9 ? small_s : large_s) * vgpualloc::ticks_per_second;
        record.accepted.count(i < 9 ? 1000 : 8000, true, wait);
        record.rows.waited_ticks += wait.count();
    }
    return record;
}

TEST(verdict, nobody_wins_by_waits_who_lets_large_pods_wait) {
    std::vector<vgpusim::run_record> records;
    records.push_back(waiting_sizes("fgd", 0, 90));
    records.push_back(waiting_sizes("best_fit", 20, 20));
    EXPECT_EQ(
        vgpusim::verdict_of(records),
        "All pods run under every policy. A pod waits the least under fgd, 9.0 s on average, and a GPU that is asked "
        "for under best_fit, 20.0 s instead of 42.4 s: no winner.");
    // Where some pod runs under none of them, as many GPUs are accepted and served all the same.
    for (vgpusim::run_record& record : records) ++record.rows.arrived;
    records[0] = waiting_sizes("fgd", 10, 10);
    ++records[0].rows.arrived;
    EXPECT_EQ(
        vgpusim::verdict_of(records),
        "fgd and best_fit accept the same share of the GPUs asked for and serve the same. fgd wins by waits: 10.0 s "
        "on average, 20.0 s under best_fit, on this one seed.");
}

TEST(answer, how_full_the_cluster_is_where_pods_leave) {
    const auto record =
        run_of(4, {at(whole("a", 1), 10, 20), at(whole("b", 2), 12, 16)}, with("fgd", "hami_core", true));
    EXPECT_EQ(
        vgpusim::answer_of(record, nullptr),
        "The cluster is 45.00 % full on average and 75.00 % full at its peak, 2 s after the first arrival; running "
        "pods asked for 45.00 % of it on average. Until the last pod has arrived it is 25.00 % full on average.");
    EXPECT_EQ(vgpusim::answer_of(run_of(4, {whole("a", 1)}, with("fgd", "hami_core")), nullptr), "");
}

TEST(answer, what_sharing_gains) {
    std::vector<vgputraces::openb_pod> halves;
    for (int i = 0; i < 8; ++i) halves.push_back(share("p" + std::to_string(i), 500));
    const auto alone = run_of(4, halves, with("fgd", "exclusive"));
    const auto shared = run_of(4, halves, with("fgd", "hami_core"));
    EXPECT_EQ(
        vgpusim::answer_of(shared, &alone),
        "Sharing gains (mode hami_core against exclusive): it serves 100.00 % of all GPUs instead of 50.00 %, 2.0 "
        "times as much, and places 8 pods instead of 4.");
    EXPECT_THAT(vgpusim::answer_of(alone, &shared), HasSubstr("The change loses (mode exclusive against hami_core)"));
}

TEST(answer, what_changes_little_is_called_that) {
    const auto alone = run_of(4, {whole("a", 1)}, with("fgd", "exclusive"));
    const auto shared = run_of(4, {whole("a", 1)}, with("fgd", "hami_core"));
    EXPECT_THAT(vgpusim::answer_of(shared, &alone), HasSubstr("Sharing changes little (mode hami_core against "
                                                              "exclusive): it serves 25.00 % of all GPUs instead of "
                                                              "25.00 %, and places 1 pods instead of 1."));
    EXPECT_THAT(vgpusim::answer_of(shared, &shared), HasSubstr("The change changes little (the same configuration)"));
}

} // namespace
