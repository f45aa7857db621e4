#include "vgpusim/study/compare.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../workloads.hpp"
#include "vgpusim/outputs/figures.hpp"

namespace {

using testing::ElementsAre;
using vgpusim_test::at;
using vgpusim_test::built;
using vgpusim_test::gpu_node;
using vgpusim_test::whole;

vgpusim::loaded_input loaded() {
    return {.input =
                built({gpu_node("n", 4)}, {at(whole("a", 4), 0, 1), at(whole("b", 2), 1, 3), at(whole("c", 1), 4)}),
            .files = {}};
}

TEST(compare, refuses_fewer_than_two_policies_and_folders_that_are_one) {
    EXPECT_TRUE(vgpusim::check_policies({"fgd", "best_fit"}));
    for (const std::vector<std::string>& policies :
         {std::vector<std::string>{"fgd"}, {"fgd", "fgd"}, {"compat:fgd", "compat-fgd"}}) {
        const auto checked = vgpusim::check_policies(policies);
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().field, "--policy");
    }
}

TEST(compare, refuses_a_policy_that_is_unknown_before_the_first_replay) {
    EXPECT_TRUE(vgpusim::check_policy_names({"fgd", "weighted:fgd=1,binpack=2"}));
    const auto checked = vgpusim::check_policy_names({"fgd", "nonsense"});
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().value, "nonsense");
}

TEST(compare, replays_each_policy_and_tells_each_its_own_progress) {
    std::vector<std::string> announced;
    const auto records = vgpusim::compare({}, loaded(), {"best_fit", "spread"}, [&](const std::string& policy) {
        announced.push_back(policy);
        return vgpusim::simulation::progress{};
    });
    ASSERT_TRUE(records);
    EXPECT_THAT(announced, ElementsAre("best_fit", "spread"));
    EXPECT_EQ((*records)[0].config.policy, "best_fit");
    EXPECT_EQ((*records)[1].config.policy, "spread");
    EXPECT_GT((*records)[1].result.placed, 0);
}

TEST(compare, means_are_over_one_span_however_early_a_policy_is_done) {
    // Two nodes of five GPUs: spread leaves no room for the pod of five, which would run for 100 s.
    vgpusim::loaded_input input{
        .input = built({gpu_node("n", 5), gpu_node("m", 5)},
                       {at(whole("a", 1), 0, 10), at(whole("b", 1), 0, 10), at(whole("c", 5), 1, 101)}, 0.0, true),
        .files = {}};
    const auto runs = vgpusim::compare({}, input, {"binpack", "spread"}, {}).value();
    ASSERT_EQ(runs[0].rows.placed, 3);
    ASSERT_EQ(runs[1].rows.placed, 2);
    for (const auto& run : runs) EXPECT_EQ(vgpusim::time_figures_of(run)->seconds, 101.0);
    EXPECT_DOUBLE_EQ(vgpusim::figures_of(runs[0]).served_ratio, (2 * 10 + 5 * 100) / 10.0 / 101.0);
    EXPECT_DOUBLE_EQ(vgpusim::figures_of(runs[1]).served_ratio, 2 * 10 / 10.0 / 101.0);
    EXPECT_EQ(runs[1].result.ended.count(), 10'000'000);
}

TEST(compare, pods_that_stay_are_counted_until_the_end_of_the_span) {
    vgpusim::loaded_input input{
        .input = built({gpu_node("n", 5), gpu_node("m", 5)},
                       {at(whole("a", 1), 0), at(whole("b", 1), 0, 10), at(whole("c", 5), 1, 101)}, 0.0, true),
        .files = {}};
    const auto runs = vgpusim::compare({}, input, {"binpack", "spread"}, {}).value();
    EXPECT_DOUBLE_EQ(vgpusim::figures_of(runs[1]).served_ratio, (1 * 101 + 1 * 10) / 10.0 / 101.0);
}

TEST(compare, leaves_the_files_that_it_names) {
    const std::vector<std::string> policies{"compat:fgd", "spread"};
    const auto input = loaded();
    const auto records = vgpusim::compare({}, input, policies, {}).value();
    std::vector<std::string> names;
    for (const auto& [name, text] : vgpusim::comparison_files(records, input)) {
        names.push_back(name);
        EXPECT_FALSE(text.empty()) << name;
    }
    EXPECT_THAT(names, testing::UnorderedElementsAreArray(vgpusim::comparison_file_names({}, policies)));
    EXPECT_THAT(names, testing::Contains("compat-fgd/summary.json"));
}

TEST(compare, with_traces_leaves_one_for_each_policy) {
    vgpusim::run_config config;
    config.trace = true;
    const std::vector<std::string> policies{"best_fit", "spread"};
    const auto input = loaded();
    const auto records = vgpusim::compare(config, input, policies, {}).value();
    std::vector<std::string> names;
    for (const auto& [name, text] : vgpusim::comparison_files(records, input)) names.push_back(name);
    EXPECT_THAT(names, testing::UnorderedElementsAreArray(vgpusim::comparison_file_names(config, policies)));
    EXPECT_THAT(names, testing::IsSupersetOf({"best_fit/trace.json", "spread/trace.json"}));
}

} // namespace
