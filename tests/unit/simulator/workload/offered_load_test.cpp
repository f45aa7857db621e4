#include "vgpusim/workload/offered_load.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../workloads.hpp"

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using vgpualloc::milli_gpu;
using vgpualloc::ticks;
using vgpusim::offered_load_of;
using vgpusim::set_offered_load;
using vgpusim_test::at;
using vgpusim_test::built;
using vgpusim_test::cpu_only;
using vgpusim_test::gpu_node;
using vgpusim_test::share;
using vgpusim_test::whole;

constexpr milli_gpu four_gpus{4000};

vgpusim::simulation_input leaving(std::vector<vgputraces::openb_pod> pods) {
    return built({gpu_node("n", 4)}, std::move(pods), 0.0, true);
}

std::vector<std::int64_t> arrivals_s(const vgpusim::simulation_input& input) {
    std::vector<std::int64_t> seconds;
    for (const auto& pod : input.pods) {
        seconds.push_back(pod.arrival.count() / vgpualloc::ticks_per_second.count());
    }
    return seconds;
}

TEST(offered_load, is_rate_times_duration_times_gpus_of_all_gpus) {
    // 1000 x 10 + 500 x 20 + 2000 x 5 milli-GPU seconds in 100 s of arrivals, on 4000 milli-GPU.
    const auto input = leaving({at(whole("a", 1), 50, 60), at(share("b", 500), 70, 90), at(whole("c", 2), 150, 155)});
    EXPECT_DOUBLE_EQ(offered_load_of(input, four_gpus).value(), 30'000.0 / 100.0 / 4000.0);
}

TEST(offered_load, needs_pods_that_leave_and_time_between_them) {
    EXPECT_FALSE(offered_load_of(leaving({at(whole("a", 1), 1), at(whole("b", 1), 9)}), four_gpus));
    EXPECT_FALSE(offered_load_of(leaving({at(whole("a", 1), 1, 5), at(whole("b", 1), 1, 9)}), four_gpus));
    EXPECT_FALSE(offered_load_of(leaving({at(cpu_only("a"), 1, 5), at(cpu_only("b"), 3, 9)}), four_gpus));
    EXPECT_FALSE(offered_load_of(leaving({at(whole("a", 1), 1, 5), at(whole("b", 1), 3, 9)}), milli_gpu{}));
    // A pod that stays has no duration: the other one alone counts.
    EXPECT_DOUBLE_EQ(*offered_load_of(leaving({at(whole("a", 1), 0, 5), at(whole("b", 1), 10)}), four_gpus), 0.125);
}

TEST(offered_load, is_set_by_one_factor_for_all_gaps_and_durations_stay) {
    for (const double target : {0.01, 0.5, 1.0, 3.7}) {
        auto input = leaving({at(whole("a", 1), 50, 60), at(share("b", 500), 70, 90), at(whole("c", 2), 150, 155)});
        ASSERT_TRUE(set_offered_load(input, four_gpus, target));
        EXPECT_NEAR(offered_load_of(input, four_gpus).value(), target, target * 1e-6);
        EXPECT_EQ(input.pods[1].duration, 20 * vgpualloc::ticks_per_second);
        const auto gap = [&](std::size_t pod) { return (input.pods[pod].arrival - input.pods[0].arrival).count(); };
        EXPECT_NEAR(static_cast<double>(gap(2)), 5.0 * static_cast<double>(gap(1)), 5.0);
    }
    auto input = leaving({at(whole("a", 1), 50, 60), at(whole("b", 1), 70, 90), at(whole("c", 1), 150, 160)});
    ASSERT_TRUE(set_offered_load(input, four_gpus, 0.05)); // half of what it offers
    EXPECT_THAT(arrivals_s(input), ElementsAre(50, 90, 250));
}

TEST(offered_load, what_cannot_be_set_is_refused_with_the_reason) {
    const auto refusal = [](vgpusim::simulation_input input, milli_gpu gpus, double target) {
        const auto set = set_offered_load(input, gpus, target);
        EXPECT_FALSE(set.has_value());
        EXPECT_EQ(set.error().field, "offered_load");
        return set.error().expected;
    };
    const auto pods = [] { return leaving({at(whole("a", 1), 0, 5), at(whole("b", 1), 10, 20)}); };
    EXPECT_THAT(refusal(pods(), milli_gpu{}, 1.0), HasSubstr("no GPUs"));
    EXPECT_THAT(refusal(leaving({at(whole("a", 1), 0), at(whole("b", 1), 10)}), four_gpus, 1.0), HasSubstr("leaves"));
    EXPECT_THAT(refusal(leaving({at(whole("a", 1), 3, 4), at(whole("b", 1), 3, 4)}), four_gpus, 1.0),
                HasSubstr("one instant"));
    EXPECT_THAT(refusal(pods(), four_gpus, 1e-300), HasSubstr("10^12 seconds"));
    EXPECT_THAT(refusal(pods(), four_gpus, 1e300), HasSubstr("microsecond"));
}

} // namespace
