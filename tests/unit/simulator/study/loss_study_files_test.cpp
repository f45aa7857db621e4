#include "vgpusim/study/loss_study_files.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpuformats/json.hpp"

namespace {

using testing::HasSubstr;
using vgputraces::device_parts;

/// A run of which so many of 100 pods of one GPU were placed, all of class a, and none of another one of 300 GPUs.
vgpusim::loss_run loss_run_of(std::int64_t accepted) {
    vgpusim::acceptance of_gpus;
    for (int pod = 0; pod < 100; ++pod) of_gpus.count(1000, pod < accepted);
    of_gpus.count(300'000, false);
    return {.figures = {.pods = {.arrived = 100, .accepted = accepted},
                        .arrived = {.memory = 1000, .compute = 0},
                        .accepted = {.memory = 5 * accepted, .compute = 0},
                        .of_classes = {{.arrived = 100, .accepted = accepted}, {}},
                        .of_gpus = of_gpus},
            .classes = {"a", "b"},
            .started = 200,
            .moved = 2};
}

/// Three policies, of which the first two are baselines, at one load with three seeds.
vgpusim::experiment three_policies_study() {
    return {.run = {},
            .lists = {.policies = {{.name = "x", .policy = "fgd"},
                                   {.name = "y", .policy = "spread"},
                                   {.name = "z", .policy = "mcc"}},
                      .pods = {"m.json"},
                      .seeds = {1, 3},
                      .loads = {1.0},
                      .against = "x",
                      .baselines = {"x", "y"}}};
}

vgpusim::loss_results three_policies_results() {
    vgpusim::loss_results all;
    for (const std::int64_t accepted : {60, 62, 64, 70, 71, 72, 80, 84, 88}) all.runs.push_back(loss_run_of(accepted));
    return all;
}

TEST(loss_study_files, a_row_has_mean_interval_deviation_and_number_of_seeds) {
    const std::string table = loss_study_csv(three_policies_study(), three_policies_results());
    // 4.302653 x 0.02 / sqrt(3)
    EXPECT_THAT(table, testing::StartsWith("model,load,policy,measure,mean,half_95,sd,n\n"
                                           "m.json,1,x,accepted_ratio,0.620000,0.049683,0.020000,3\n"
                                           "m.json,1,x,accepted_memory_ratio,0.310000,0.024841,0.010000,3\n"
                                           "m.json,1,x,moved_ratio,0.010000,0.000000,0.000000,3\n"
                                           "m.json,1,x,accepted_gpu_ratio,0.155000,0.012421,0.005000,3\n"
                                           "m.json,1,x,accepted_ratio:a,0.620000,0.049683,0.020000,3\n"
                                           "m.json,1,x,accepted_ratio_by_size:1,0.620000,0.049683,0.020000,3\n"
                                           "m.json,1,x,accepted_ratio_by_size:64 or more,0.000000,0.000000,0.000000,3\n"
                                           "m.json,1,y,"));
    EXPECT_THAT(table, testing::Not(HasSubstr(":b"))); // none of which came
    EXPECT_THAT(table, testing::Not(HasSubstr("filled")));
}

TEST(loss_study_files, with_one_seed_there_is_no_interval) {
    auto one = three_policies_study();
    one.lists.seeds = {1, 1};
    vgpusim::loss_results single;
    single.runs = {loss_run_of(60), loss_run_of(70), loss_run_of(80)};
    EXPECT_THAT(loss_study_csv(one, single), HasSubstr("m.json,1,x,accepted_ratio,0.600000,,,1\n"));
    EXPECT_TRUE(loss_cells_of(one, single).front().differences.empty());
}

TEST(loss_study_files, others_are_held_against_one_policy_and_the_best_baseline) {
    const auto cells = loss_cells_of(three_policies_study(), three_policies_results());
    ASSERT_EQ(cells.size(), 1U);
    std::vector<std::string> pairs;
    for (const auto& entry : cells.front().differences) {
        if (entry.measure != 0) continue;
        pairs.push_back(three_policies_study().lists.policies[entry.policy].name + "-" +
                        three_policies_study().lists.policies[entry.against].name +
                        (entry.is_best_baseline ? " best" : ""));
        if (entry.policy != 2 || !entry.is_best_baseline) continue;
        EXPECT_DOUBLE_EQ(entry.difference.mean, 0.13);
        EXPECT_NEAR(entry.difference.low, 0.13 - 4.302653 * 0.03 / 1.7320508, 1e-7);
    }
    EXPECT_THAT(pairs, testing::ElementsAre("y-x", "z-x", "z-y best"));
}

TEST(loss_study_files, how_full_devices_are_is_said_where_nobody_leaves) {
    auto full = three_policies_results();
    for (auto& run : full.runs) run.figures.filled_of = 500;
    EXPECT_THAT(loss_study_csv(three_policies_study(), full), HasSubstr("m.json,1,x,filled_memory_ratio,0.620000,"));
    const auto cells = loss_cells_of(three_policies_study(), full);
    std::vector<std::string_view> compared;
    for (const auto& entry : cells.front().differences) compared.push_back(vgpusim::loss_measures[entry.measure]);
    EXPECT_THAT(compared, testing::Contains("filled_memory_ratio"));
}

TEST(loss_study_files, the_summary_has_the_value_of_every_seed) {
    auto with_settings = three_policies_study();
    with_settings.lists.policies[2].settings = {{"discipline", "fifo"}};
    with_settings.lists.policies[2].mig_dialect = "volcano_vgpu";
    const auto summary =
        vgpuformats::parse_json(loss_study_json(with_settings, three_policies_results()), "study.json").value();
    const auto& cell = summary.find("cells")->items.front();
    const auto& last = cell.find("policies")->items[2];
    EXPECT_EQ(last.find("accepted_ratio")->find("by_seed")->items.size(), 3U);
    EXPECT_EQ(last.find("accepted_ratio")->find("by_seed")->items[1].text, "0.84");
    EXPECT_EQ(last.find("accepted_gpu_ratio")->find("by_seed")->items[1].text, "0.21"); // 84 of 400 GPUs
    EXPECT_EQ(last.find("accepted_ratio_by_size")->find("64 or more")->text, "0.0");
    EXPECT_EQ(cell.find("differences")->items.size(), 9U); // three measures
    const auto& policy = summary.find("policies")->items[2];
    EXPECT_EQ(policy.find("set")->find("discipline")->text, "fifo");
    EXPECT_EQ(policy.find("mig_dialect")->text, "volcano_vgpu");
    EXPECT_EQ(summary.find("config")->find("seeds")->text, "1..3");
}

} // namespace
