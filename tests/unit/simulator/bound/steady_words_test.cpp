// What is said of bounds on means.
#include "vgpusim/bound/steady_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::HasSubstr;
using testing::Not;
using vgpusim::least_wait;
using vgpusim::share_bound;

TEST(steady_words, parts_of_the_possible) {
    EXPECT_EQ(part_achieved(share_bound{.most = 0.8}), std::nullopt);
    EXPECT_DOUBLE_EQ(*part_achieved(share_bound{.most = 0.8, .achieved = 0.6}), 0.75);
    EXPECT_DOUBLE_EQ(*part_achieved(share_bound{.most = 0.7, .luck = 0.1, .achieved = 0.6}), 0.75);
    EXPECT_DOUBLE_EQ(*part_achieved(share_bound{.most = 0.95, .luck = 0.1, .achieved = 0.6}),
                     0.6); // of all, not of more
    EXPECT_DOUBLE_EQ(*part_achieved(share_bound{.most = 0.0, .achieved = 0.0}), 1.0);
    EXPECT_EQ(part_unavoidable(least_wait{.mean_s = 3.0}), std::nullopt);
    EXPECT_DOUBLE_EQ(*part_unavoidable(least_wait{.mean_s = 3.0, .achieved_mean_s = 12.0}), 0.25);
    EXPECT_DOUBLE_EQ(*part_unavoidable(least_wait{.mean_s = 0.0, .achieved_mean_s = 5.0}), 0.0);
    EXPECT_DOUBLE_EQ(*part_unavoidable(least_wait{.mean_s = 0.0, .achieved_mean_s = 0.0}), 1.0);
}

TEST(steady_words, loss) {
    const vgpusim::steady_figures figures{.seconds = 100.0,
                                          .served = {.most = 0.9, .achieved = 0.81},
                                          .accepted = share_bound{.most = 0.95, .achieved = 0.76},
                                          .blind = share_bound{.most = 0.8, .luck = -0.04, .achieved = 0.76},
                                          .why_no_wait = "nobody waits under try_once"};
    const std::string text = steady_words(figures);
    EXPECT_THAT(text,
                HasSubstr("at most 90.00 % of all GPUs on average until the last pod has arrived; achieved 90.00 %"));
    EXPECT_THAT(text,
                HasSubstr("at most 80.00 % of the GPUs asked for on average, by policies that do not know how long "
                          "pods run; achieved 100.00 % of that"));
    EXPECT_THAT(text, HasSubstr("at most 95.00 % by policies that know all arrivals and durations; achieved 80.00 %"));
    EXPECT_THAT(text, HasSubstr("wait             no bound: nobody waits under try_once"));
    EXPECT_THAT(steady_answer(figures), HasSubstr("accepts 76.00 % of the GPUs asked for"));
    EXPECT_THAT(steady_answer(figures), HasSubstr("could accept 80.00 % on average: 100.00 % of the possible."));
    const auto json = steady_document(figures);
    EXPECT_EQ(json.find("accepted_gpus_blind")->find("luck_ratio")->real(), -0.04);
    EXPECT_EQ(json.find("accepted_gpus")->find("luck_ratio"), nullptr);
    EXPECT_EQ(json.find("served")->find("achieved_ratio")->real(), 0.81 / 0.9);
    EXPECT_EQ(json.find("no_wait_s")->text, "nobody waits under try_once");
}

TEST(steady_words, waits) {
    vgpusim::steady_figures figures{
        .why_no_accepted = "with a queue every pod starts in the end",
        .wait = least_wait{.mean_s = 20.0, .gpu_mean_s = 30.0, .pods = 7, .conditions = 3, .achieved_mean_s = 80.0}};
    EXPECT_THAT(steady_words(figures),
                HasSubstr("at least 20.0 s on average, 30.0 s for a GPU that is asked for; pods waited "
                          "80.0 s, of which 25.00 % could not be avoided"));
    EXPECT_THAT(steady_answer(figures),
                HasSubstr("Pods wait 80.0 s on average; under no policy could it be less than 20.0 s."));
    const auto json = steady_document(figures);
    EXPECT_EQ(json.find("wait_s")->find("unavoidable_ratio")->real(), 0.25);
    EXPECT_EQ(json.find("no_accepted_gpus")->text, "with a queue every pod starts in the end");
    figures.wait->achieved_mean_s.reset();
    EXPECT_THAT(steady_words(figures), Not(HasSubstr("pods waited")));
    EXPECT_EQ(steady_answer(figures), "");
}

} // namespace
