#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../workloads.hpp"
#include "vgpualloc/version.hpp"
#include "vgpusim/outputs/pods_csv.hpp"
#include "vgpusim/outputs/report.hpp"
#include "vgpusim/outputs/run_files.hpp"
#include "vgpusim/outputs/summary_json.hpp"
#include "vgpusim/outputs/timeseries_csv.hpp"
#include "vgpusim/study/run.hpp"

namespace {

using testing::ElementsAre;
using testing::SizeIs;
using vgpusim_test::at;
using vgpusim_test::built;
using vgpusim_test::gpu_node;
using vgpusim_test::whole;

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream{text};
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// One node of 6 GPUs: `a` takes four and stays, `b` takes two and leaves, `c` does not fit.
class output : public testing::Test {
protected:
    output() {
        loaded_.input = built({gpu_node("n", 6)},
                              {at(whole("a", 4), 1), at(whole("b", 2), 2, 5), at(whole("c", 3), 3, 9)}, 0.0, true);
        loaded_.files = {{.path = "nodes.csv", .sha256 = "00"}, {.path = "pods.csv", .sha256 = "11"}};
        config_.policy = "best_fit";
        config_.departures = true;
        record_ = vgpusim::replay(config_, loaded_, loaded_.input.nodes, {}).value();
    }

    vgpusim::run_config config_;
    vgpusim::loaded_input loaded_;
    vgpusim::run_record record_;
};

// A trace that knows no GPU memory has no pod that fails for want of it.
TEST_F(output, pods_csv_has_a_row_per_arrival) {
    EXPECT_THAT(lines_of(vgpusim::pods_csv(record_, loaded_.input)),
                ElementsAre("order,name,node,gpus,placed,reason,arrival_s,start_s,end_s,attempts",
                            "0,a,n,0|1|2|3,1,,1,1,,1", "1,b,n,4|5,1,,2,2,5,1", "2,c,,,0,insufficient_gpu_share,3,,,1"));
}

TEST_F(output, timeseries_csv_has_a_row_per_event) {
    const auto lines = lines_of(vgpusim::timeseries_csv(record_));
    ASSERT_THAT(lines, SizeIs(5));
    EXPECT_EQ(lines[0], "event,time,arrived_milli,allocated_milli,used_nodes,used_gpus,fragmentation_milli,"
                        "fragmentation_pct,served_milli,waiting,running,served_memory_milli,served_compute_milli");
    EXPECT_THAT(lines[1], testing::StartsWith("0,1,4000,4000,1,4,"));
    EXPECT_EQ(lines[2], "1,2,6000,6000,1,6,0.0000,0.0000,6000,0,2,6000,6000"); // nothing is idle
    EXPECT_EQ(lines[3], "2,3,9000,6000,1,6,0.0000,0.0000,6000,0,2,6000,6000");
    EXPECT_THAT(lines[4], testing::StartsWith("3,5,9000,4000,1,4,"));
}

TEST_F(output, timeseries_csv_has_more_columns_where_more_is_known) {
    record_.memory_total_mib = 1000;
    record_.gpus_of_unknown_power = 0;
    record_.result.profiles = {"1g.5gb", "2g.10gb"};
    record_.result.samples.resize(2);
    record_.result.samples[1].devices = {.memory_mib = 11, .compute_milli = 12, .watts = 13};
    record_.result.stranded = {0, 1, 2, 3};
    const auto lines = lines_of(vgpusim::timeseries_csv(record_));
    EXPECT_THAT(lines[0],
                testing::EndsWith(",waiting,running,memory_mib,compute_milli,power_w,stranded_1g.5gb,stranded_2g.10gb,"
                                  "served_memory_milli,served_compute_milli"));
    EXPECT_THAT(lines[2], testing::EndsWith(",0,2,11,12,13,2,3,6000,6000"));
}

TEST_F(output, times_show_a_fraction_only_where_there_is_one) {
    record_.result.samples.resize(1);
    record_.result.samples[0].time = vgpualloc::ticks{1'000'001};
    EXPECT_THAT(lines_of(vgpusim::timeseries_csv(record_))[1], testing::StartsWith("0,1.000001,"));
}

TEST_F(output, summary_json_has_the_contract_s_figures) {
    const auto summary = nlohmann::json::parse(vgpusim::summary_json(record_, loaded_));
    EXPECT_EQ(summary["version"], vgpualloc::version);
    EXPECT_EQ(summary["seed"], 42);
    EXPECT_EQ(summary["policy"], "best_fit");
    EXPECT_EQ(summary["inputs"][1], (nlohmann::json{{"path", "pods.csv"}, {"sha256", "11"}}));
    EXPECT_EQ(summary["pods"]["arrived"], 3);
    EXPECT_EQ(summary["pods"]["placed"], 2);
    EXPECT_EQ(summary["pods"]["failed"], 1);
    EXPECT_EQ(summary["pods"]["finished"], 1);
    EXPECT_EQ(summary["pods"]["failed_by_reason"], (nlohmann::json{{"insufficient_gpu_share", 1}}));
    EXPECT_EQ(summary["gpu"]["total_milli"], 6000);
    EXPECT_EQ(summary["gpu"]["arrived_milli"], 9000);
    EXPECT_EQ(summary["gpu"]["allocated_milli"], 4000);
    EXPECT_DOUBLE_EQ(summary["gpu"]["allocation_ratio"], 4.0 / 6.0);
    // Four GPUs for one second, six for three, until the last event:
    EXPECT_DOUBLE_EQ(summary["gpu"]["allocation_mean_ratio"], 22.0 / 24.0);
    EXPECT_DOUBLE_EQ(summary["gpu"]["served_ratio"], 22.0 / 24.0);
    EXPECT_EQ(summary["gpu"]["allocation_peak_ratio"], 1.0);
    EXPECT_EQ(summary["gpu"]["active"], 4);
    EXPECT_EQ(summary["gpu"]["count"], 6);
    EXPECT_EQ(summary["nodes"], (nlohmann::json{{"active", 1}, {"count", 1}}));
    double idle = 0.0;
    for (const auto& bucket : summary["fragmentation"]["buckets_milli"]) idle += bucket.get<double>();
    EXPECT_NEAR(idle, 2000.0, 1e-5);
    // Two of three equally frequent typical pods do not fit in the two idle GPUs.
    EXPECT_NEAR(summary["fragmentation"]["amount_milli"].get<double>(), 2000.0 * 2 / 3, 1e-5);
    EXPECT_NEAR(summary["fragmentation"]["ratio"].get<double>(), 2.0 / 3, 1e-8);
}

TEST_F(output, which_files_go_where_is_not_in_the_summary) {
    const auto summary = nlohmann::json::parse(vgpusim::summary_json(record_, loaded_));
    EXPECT_FALSE(summary["config"].contains("out"));
    EXPECT_FALSE(summary["config"].contains("trace"));
    for (const auto& [key, value] : shown_settings(config_)) {
        if (key == "out" || key == "trace") continue;
        EXPECT_EQ(summary["config"][key], value);
    }
}

TEST_F(output, a_path_that_is_no_utf8_still_gives_json) {
    loaded_.files[0].path = "\xff.csv";
    EXPECT_TRUE(nlohmann::json::accept(vgpusim::summary_json(record_, loaded_)));
}

TEST_F(output, the_report_is_given_the_same_figures) {
    const auto shown = vgpusim::describe(record_, loaded_);
    EXPECT_EQ(shown.pods_arrived, 3);
    EXPECT_EQ(shown.pods_placed, 2);
    EXPECT_EQ(shown.total.count(), 6000);
    EXPECT_THAT(shown.failures, ElementsAre(std::pair<std::string, std::int64_t>{"insufficient_gpu_share", 1}));
    EXPECT_THAT(shown.samples, SizeIs(4));
    ASSERT_THAT(shown.nodes, SizeIs(1));
    EXPECT_EQ(shown.nodes[0].name, "n");
    std::vector<std::int64_t> used;
    for (const auto amount : shown.nodes[0].used) used.push_back(amount.count());
    EXPECT_THAT(used, ElementsAre(1000, 1000, 1000, 1000, 1000, 1000)); // at the peak: `b` is still there
    EXPECT_TRUE(shown.pods_leave);
    EXPECT_EQ(shown.peak_after, vgpualloc::ticks_per_second);
    EXPECT_EQ(shown.figures.used_gpus, 6);
    EXPECT_DOUBLE_EQ(shown.figures.served, 22.0 / 24.0);
    EXPECT_DOUBLE_EQ(shown.nodes[0].cpu_used_ratio, 2.0 / 64.0);
}

TEST_F(output, the_report_is_told_which_sizes_failed) {
    loaded_.input = built({gpu_node("n", 1)}, {vgpusim_test::cpu_only("a"), vgpusim_test::share("b", 400),
                                               vgpusim_test::share("c", 700), whole("d", 1), whole("e", 2)});
    record_ = vgpusim::replay(config_, loaded_, loaded_.input.nodes, {}).value();
    const auto shown = vgpusim::describe(record_, loaded_);
    std::vector<std::string> lines;
    std::int64_t failed = 0;
    for (const auto& kind : shown.classes) {
        lines.push_back(kind.name + ": " + std::to_string(kind.arrived));
        failed += kind.failed;
    }
    EXPECT_THAT(lines, ElementsAre("none: 1", "a part of one: 2", "1: 1", "2: 1"));
    EXPECT_EQ(shown.classes.back().failed, 1);
    EXPECT_EQ(failed, record_.result.failed);
}

TEST_F(output, the_report_says_same_where_no_other_device_policy_is_set) {
    const auto shown = vgpusim::describe(record_, loaded_);
    EXPECT_THAT(shown.facts, testing::Contains(std::pair<std::string, std::string>{"device_policy", "same"}));
}

TEST(replay, unknown_policies_are_refused_by_the_key_that_named_them) {
    const vgpusim::loaded_input loaded{.input = built({gpu_node("n", 1)}, {whole("a", 1)}), .files = {}};
    vgpusim::run_config config;
    config.policy = "fgdd";
    const auto policy = vgpusim::replay(config, loaded, loaded.input.nodes, {});
    ASSERT_FALSE(policy.has_value());
    EXPECT_EQ(policy.error().field, "policy");
    config.policy = "fgd";
    config.device_policy = "worst";
    const auto device = vgpusim::replay(config, loaded, loaded.input.nodes, {});
    ASSERT_FALSE(device.has_value());
    EXPECT_EQ(device.error().field, "device_policy");
    EXPECT_EQ(device.error().value, "worst");
}

} // namespace
