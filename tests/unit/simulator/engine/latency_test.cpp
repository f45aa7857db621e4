#include "vgpusim/engine/latency.hpp"

#include <cstdint>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

namespace {

using vgpusim::latency_histogram;

/// The quantile's value when only `ns` was counted.
double alone(std::uint64_t ns) {
    latency_histogram histogram;
    histogram.add(ns);
    return histogram.quantile_us(0.5) * 1000.0;
}

TEST(latency_histogram, nothing_counted_is_zero) {
    EXPECT_EQ(latency_histogram{}.quantile_us(0.5), 0.0);
    EXPECT_EQ(latency_histogram{}.quantile_us(0.99), 0.0);
}

TEST(latency_histogram, short_durations_are_exact) {
    for (std::uint64_t ns = 0; ns < 32; ++ns) EXPECT_DOUBLE_EQ(alone(ns), static_cast<double>(ns));
}

TEST(latency_histogram, any_duration_is_at_most_one_part_in_16_too_long) {
    for (unsigned bit = 4; bit < 64; ++bit) {
        const std::uint64_t power = std::uint64_t{1} << bit;
        for (const std::uint64_t ns : {power - 1, power, power + 1, power + power / 3, power + power / 2}) {
            const auto exact = static_cast<double>(ns);
            EXPECT_GE(alone(ns), exact * (1 - 1e-12)) << ns;
            EXPECT_LE(alone(ns), exact * (1 + 1.0 / 16)) << ns;
        }
    }
    EXPECT_GE(alone(std::numeric_limits<std::uint64_t>::max()), 1.8e19);
}

TEST(latency_histogram, longer_durations_never_get_shorter_values) {
    double before = -1.0;
    for (std::uint64_t ns = 0; ns < 5000; ++ns) {
        const double now = alone(ns);
        EXPECT_GE(now, before) << ns;
        before = now;
    }
}

TEST(latency_histogram, quantiles_of_a_uniform_hundred) {
    latency_histogram histogram;
    for (std::uint64_t i = 100; i > 0; --i) histogram.add(i * 1000);
    for (const double quantile : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0}) {
        const double exact = 1.0 + static_cast<double>(static_cast<int>(quantile * 99));
        EXPECT_GE(histogram.quantile_us(quantile), exact) << quantile;
        EXPECT_LE(histogram.quantile_us(quantile), exact * (1 + 1.0 / 16)) << quantile;
    }
}

TEST(latency_histogram, a_rare_long_one_shows_in_the_tail_only) {
    latency_histogram histogram;
    for (int i = 0; i < 999; ++i) histogram.add(10);
    histogram.add(1'000'000);
    EXPECT_DOUBLE_EQ(histogram.quantile_us(0.5), 0.01);
    EXPECT_DOUBLE_EQ(histogram.quantile_us(0.99), 0.01);
    EXPECT_GE(histogram.quantile_us(1.0), 1000.0);
}

TEST(latency_clock, does_not_go_back) {
    const auto before = vgpusim::now_ns();
    EXPECT_GE(vgpusim::now_ns(), before);
}

// The rate of one of several replays at once must not count the others' work.
TEST(latency_clock, a_thread_counts_its_own_work_alone) {
    const auto work = [] {
        const double begin = vgpusim::thread_cpu_seconds();
        while (vgpusim::thread_cpu_seconds() - begin < 0.05) {
        }
    };
    const double own_before = vgpusim::thread_cpu_seconds();
    const double all_before = vgpusim::cpu_seconds();
    std::thread other{work};
    other.join();
    EXPECT_LT(vgpusim::thread_cpu_seconds() - own_before, 0.04);
    EXPECT_GE(vgpusim::cpu_seconds() - all_before, 0.04);
    work();
    EXPECT_GE(vgpusim::thread_cpu_seconds() - own_before, 0.05);
}

} // namespace
