#include "vgpusim/study/compare.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../workloads.hpp"

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
