#include "vgpusim/study/study_files.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::HasSubstr;

vgpusim::load_point filled(double value) {
    vgpusim::load_point point{};
    point.fill(value);
    return point;
}

/// One policy and one list with two seeds, of which the second ends at a lower load.
vgpusim::experiment study() {
    const std::string policy = "weighted:fgd=1,spread=2";
    return {.run = {}, .lists = {.policies = {{policy, policy}}, .pods = {"a \"b\".csv"}, .seeds = {1, 2}}};
}

vgpusim::study_results results() {
    vgpusim::study_results both;
    both.runs = {{.curve = {filled(0.25), std::nullopt, filled(0.5)}, .arrived = 4, .failed = 2},
                 {.curve = {filled(0.75)}, .arrived = 4, .failed = 1}};
    return both;
}

TEST(study_files, a_row_has_mean_deviation_and_number_of_seeds) {
    const std::string table = study_csv(study(), results());
    const std::string names = R"("weighted:fgd=1,spread=2","a ""b"".csv",)";
    EXPECT_THAT(table, testing::StartsWith("policy,list,load_pct,metric,mean,sd,n\n" + names +
                                           "0,allocation_ratio,0.500000,0.353553,2\n"));
    EXPECT_THAT(table, HasSubstr(names + "2,active_gpus,0.500000,,1\n"));
    EXPECT_EQ(std::ranges::count(table, '\n'), 1 + 2 * 8); // nobody is near 1 %
}

TEST(study_files, the_headline_is_at_the_last_load_that_all_seeds_reach) {
    const auto headlines = headlines_of(study(), results());
    ASSERT_EQ(headlines.size(), 1U);
    EXPECT_EQ(headlines[0].load_pct, 0U);
    EXPECT_DOUBLE_EQ(headlines[0].mean[0], 0.5);
    EXPECT_DOUBLE_EQ(headlines[0].failed, 1.5);
}

TEST(study_files, the_headline_says_what_was_accepted_until_the_end) {
    auto both = results();
    for (std::size_t seed = 0; seed < 2; ++seed) {
        both.runs[seed].accepted.count(500, true);
        both.runs[seed].accepted.count(1500, seed == 0);
    }
    both.runs[1].accepted.count(2000, true); // which the other seed does not have
    const auto headline = headlines_of(study(), both).at(0);
    EXPECT_THAT(headline.accepted_gpus.by_seed, testing::ElementsAre(1.0, 0.625));
    EXPECT_THAT(headline.accepted_pods.by_seed, testing::ElementsAre(1.0, 2.0 / 3.0));
    ASSERT_EQ(headline.by_size.size(), 3U);
    EXPECT_EQ(headline.by_size[1].first, "1");
    EXPECT_THAT(headline.by_size[1].second.by_seed, testing::ElementsAre(1.0, 0.0));
    EXPECT_THAT(headline.by_size[2].second.by_seed, testing::ElementsAre(1.0));
    const std::string summary = study_json(study(), {}, {7}, both);
    EXPECT_THAT(summary, HasSubstr(R"("accepted_gpu_ratio")"));
    EXPECT_THAT(summary, HasSubstr(R"("2 to 3")"));
}

TEST(study_files, the_summary_names_lists_and_files) {
    const std::string summary =
        study_json(study(), {{.path = "n", .sha256 = "x"}, {.path = "p", .sha256 = "y"}}, {7}, results());
    EXPECT_THAT(summary, HasSubstr(R"("pods": 7)"));
    EXPECT_THAT(summary, HasSubstr(R"("sha256": "y")"));
    EXPECT_THAT(summary, HasSubstr(R"("runs": 2)"));
    EXPECT_THAT(summary, HasSubstr(R"("seeds": "1..2")"));
}

} // namespace
