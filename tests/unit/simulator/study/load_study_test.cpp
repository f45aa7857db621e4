#include "vgpusim/study/load_study.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../workloads.hpp"

namespace {

using vgpusim::check_study;
using vgpusim::run_study;
using vgpusim_test::gpu_node;
using vgpusim_test::share;
using vgpusim_test::whole;

vgpusim::run_config config() {
    vgpusim::run_config result;
    result.nodes = "nodes.csv";
    return result;
}

vgpusim::study_inputs inputs() {
    return {.nodes = {gpu_node("n", 4), gpu_node("m", 2)},
            .pods = {{whole("a", 2), share("b", 500), share("c", 700)}, {whole("d", 1), whole("e", 4)}},
            .files = {{.path = "nodes.csv", .sha256 = ""},
                      {.path = "one.csv", .sha256 = ""},
                      {.path = "two.csv", .sha256 = ""}}};
}

TEST(load_study, runs_are_kept_by_list_then_policy_then_seed) {
    const auto study = check_study(config(), {.policies = {{"fgd", "fgd"}, {"spread", "spread"}},
                                              .pods = {"one.csv", "two.csv"},
                                              .seeds = {3, 5}})
                           .value();
    for (const std::size_t jobs : {1U, 3U}) {
        std::size_t told = 0;
        const auto results =
            run_study(study, inputs(), {.jobs = jobs, .tell = [&told](std::size_t done) { told = done; }});
        ASSERT_TRUE(results);
        ASSERT_EQ(results->runs.size(), 12U);
        EXPECT_EQ(told, 12U);
        for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(results->runs[i].arrived, i / 6 == 0 ? 3 : 2) << i;
    }
}

TEST(load_study, refuses_what_does_not_go_together) {
    const vgpusim::study_lists lists{.policies = {{"fgd", "fgd"}}, .pods = {"one.csv"}, .seeds = {1, 2}};
    EXPECT_TRUE(check_study(config(), lists));
    auto changed = config();
    changed.pods = "other.csv";
    EXPECT_EQ(check_study(changed, lists).error().field, "pods");
    changed = config();
    changed.sample_interval_s = 5;
    EXPECT_EQ(check_study(changed, lists).error().field, "sample_interval_s");
    EXPECT_EQ(check_study({}, lists).error().field, "nodes");
    auto of_models = lists;
    of_models.loads = {1.0};
    EXPECT_EQ(check_study(config(), of_models).error().field, "loads");
    of_models = lists;
    of_models.policies.front().settings = {{"discipline", "fifo"}};
    EXPECT_EQ(check_study(config(), of_models).error().field, "policies");
    EXPECT_EQ(check_study(config(), {.policies = {{"fgd", "fgd"}, {"fgd", "fgd"}}, .pods = {"one.csv"}}).error().field,
              "--policy");
    EXPECT_EQ(check_study(config(), {.policies = {{"fgd", "fgd"}}, .pods = {}}).error().field, "--pods");
}

} // namespace
