#include "vgpusim/study/compare_seeds.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::HasSubstr;

vgpusim::compared_figures figures(std::size_t measure, std::vector<double> first, std::vector<double> second) {
    return {
        .measure = &vgpusim::compared_measures[measure],
        .policies = {{.policy = "one", .values = std::move(first)}, {.policy = "two", .values = std::move(second)}}};
}

TEST(compare_seeds, says_better_worse_or_no_difference) {
    EXPECT_THAT(difference_in_words(figures(0, {0.1, 0.2, 0.3}, {0.2, 0.3, 0.4}), 1),
                HasSubstr("two is better than one by 10.000"));
    EXPECT_THAT(difference_in_words(figures(0, {0.2, 0.3, 0.4}, {0.1, 0.2, 0.3}), 1),
                HasSubstr("two is worse than one by 10.000"));
    EXPECT_THAT(difference_in_words(figures(2, {2000, 3000}, {1000, 2000}), 1), // less fragmentation is better
                HasSubstr("two is better than one by 1.000"));
    EXPECT_THAT(difference_in_words(figures(0, {0.1, 0.2, 0.3}, {0.2, 0.1, 0.3}), 1),
                HasSubstr("no difference shown between two and one"));
    EXPECT_THAT(difference_in_words(figures(3, {5, 5}, {5, 5}), 1), HasSubstr("no difference shown"));
    EXPECT_THAT(difference_in_words(figures(3, {5, 5}, {7, 7}), 1),
                HasSubstr("by 2.000 (the seed changes nothing: all runs are one)"));
}

TEST(compare_seeds, more_pods_are_more_and_not_better) {
    EXPECT_THAT(difference_in_words(figures(3, {5, 6, 7}, {7, 8, 9}), 1), HasSubstr("two has more than one by 2.000"));
    EXPECT_THAT(difference_in_words(figures(3, {7, 8, 9}, {5, 6, 7}), 1), HasSubstr("two has less than one by 2.000"));
    EXPECT_THAT(difference_in_words(figures(8, {0.5, 0.6}, {0.6, 0.7}), 1),
                HasSubstr("accepted, % of the GPUs asked for: two is better than one by 10.000"));
}

TEST(compare_seeds, means_of_other_numbers_of_jobs_are_not_compared) {
    auto waits = figures(4, {100, 110}, {5, 6});
    waits.policies[0].jobs = {10, 10};
    for (const std::vector<std::size_t>& jobs : {std::vector<std::size_t>{10, 9}, {10, 0}}) {
        waits.policies[1].jobs = jobs;
        EXPECT_FALSE(is_comparable(waits, 1));
        EXPECT_THAT(difference_in_words(waits, 1), HasSubstr("two and one are not compared, as theirs are of 1"));
    }
    waits.policies[1].jobs = {10, 10};
    EXPECT_TRUE(is_comparable(waits, 1));
    for (auto& policy : waits.policies) policy.jobs = {10, 0};
    EXPECT_FALSE(is_comparable(waits, 1));
}

TEST(compare_seeds, one_seed_and_standard_input_are_refused) {
    vgpusim::run_config config;
    EXPECT_TRUE(vgpusim::check_seeds(config, {1, 2}));
    EXPECT_EQ(vgpusim::check_seeds(config, {1, 1}).error().field, "--seeds");
    config.pods = "-";
    EXPECT_EQ(vgpusim::check_seeds(config, {1, 2}).error().field, "pods");
}

} // namespace
