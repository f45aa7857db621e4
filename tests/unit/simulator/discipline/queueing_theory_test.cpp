// Waits of long runs against queueing theory: what is known in closed form must come out.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "../job_lists.hpp"
#include "vgpualloc/core/rng.hpp"

namespace {

using vgpualloc::ticks;

// Builds that check the ledger after every step are there to check it, with runs too short for a close mean.
constexpr std::size_t long_run = VGA_VERIFY_ENABLED ? 10'000 : 1'000'000;
constexpr double closeness = VGA_VERIFY_ENABLED ? 0.25 : 0.02;

/// Jobs of one GPU on a pool of `servers`, exponential times between arrivals (mean 1 s), and durations of mean
/// `mean_s`, exponential or all alike.
vgpusim::simulation_input single_jobs(int servers, double mean_s, bool exponential, std::size_t count) {
    auto input = vgpusim_test::workload_of({{.arrival = 0, .duration = 0}}, 1, servers);
    input.nodes.nodes.front().pods_max = 1'000'000;
    input.jobs.clear();
    input.members.clear();
    input.pods.clear();
    vgpualloc::rng random{20260101};
    const auto drawn_exponential = [&random](double mean) { return mean * random.exponential(); };
    double now = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
        now += drawn_exponential(1.0);
        const double duration = exponential ? drawn_exponential(mean_s) : mean_s;
        input.pods.push_back({.name = 0,
                              .request = 0,
                              .arrival = ticks{static_cast<std::int64_t>(now * 1e6)},
                              .duration = ticks{static_cast<std::int64_t>(duration * 1e6)}});
    }
    return input;
}

double mean_wait_s(const vgpusim::simulation_input& input, const char* discipline) {
    const vgpusim_test::ruled run{input, discipline, {.sample_interval = vgpusim_test::seconds(100'000'000)}};
    double sum = 0.0;
    for (std::size_t i = 0; i < input.pods.size(); ++i) {
        sum += static_cast<double>((run.result().times[i].start - input.pods[i].arrival).count()) / 1e6;
    }
    return sum / static_cast<double>(input.pods.size());
}

/// The mean wait of M/M/c with one arrival a second: Erlang's C formula over the free rate.
double erlang_wait_s(int servers, double mean_s) {
    const double load = mean_s; // in servers
    double term = 1.0;
    double sum = 1.0;
    for (int k = 1; k < servers; ++k) {
        term *= load / k;
        sum += term;
    }
    term *= load / servers;
    const double busy = load / servers;
    const double all_busy = term / (1.0 - busy);
    return all_busy / (sum + all_busy) / (servers / mean_s - 1.0);
}

TEST(queueing_theory, waits_of_m_m_c_are_erlangs) {
    for (const int servers : {1, 3, 8}) {
        const double mean_s = 0.7 * servers;
        const double expected = erlang_wait_s(servers, mean_s);
        EXPECT_NEAR(mean_wait_s(single_jobs(servers, mean_s, true, long_run), "fifo"), expected, closeness * expected)
            << servers;
        // Of jobs that all ask for one unit none can overtake, so every discipline is first come, first served.
        const auto some = single_jobs(servers, mean_s, true, long_run / 50);
        const double in_order = mean_wait_s(some, "fifo");
        for (const char* discipline : {"easy", "conservative", "gang", "priority"}) {
            EXPECT_EQ(mean_wait_s(some, discipline), in_order) << discipline << ' ' << servers;
        }
    }
}

TEST(queueing_theory, waits_of_m_d_1_are_pollaczek_and_khinchines) {
    for (const double busy : {0.5, 0.8}) {
        const auto input = single_jobs(1, busy, false, long_run / 2);
        const double expected = busy * busy / (2.0 * (1.0 - busy));
        EXPECT_NEAR(mean_wait_s(input, "fifo"), expected, closeness * expected) << busy;
        EXPECT_NEAR(mean_wait_s(input, "conservative"), expected, closeness * expected) << busy;
    }
}

} // namespace
