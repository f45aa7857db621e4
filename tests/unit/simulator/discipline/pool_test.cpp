// The disciplines against a straight implementation, on one pool and random jobs.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../replayed.hpp"
#include "pool_reference.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/dialect/openb.hpp"
#include "vgpusim/discipline/all.hpp"
#include "vgpusim/engine/simulation.hpp"

namespace {

using vgpusim_test::pool_job;
using vgpusim_test::seconds;

/// The jobs on `nodes` nodes with `units` GPUs each.
vgpusim::simulation_input input_of(const std::vector<pool_job>& jobs, int nodes, int units) {
    vgpusim::simulation_input input;
    for (int i = 0; i < nodes; ++i) {
        vgpualloc::openb::add_node(input.nodes, "pool" + std::to_string(i), vgpualloc::milli_cpu{0}, vgpualloc::mib{0},
                                   units, "G", *vgpusim_test::shared_mode());
    }
    for (int gpus = 0; gpus <= units; ++gpus) {
        input.requests.push_back(
            vgpualloc::openb::make_request({}, {}, gpus, vgpualloc::milli_gpu{gpus > 0 ? 1000 : 0}, ""));
        input.requested.add(vgpusim::requested_milli(gpus, vgpualloc::whole_gpu));
    }
    for (const pool_job& job : jobs) {
        const auto number = static_cast<std::uint32_t>(input.pods.size());
        input.names.push_back("j" + std::to_string(number));
        input.pods.push_back({.name = number,
                              .request = static_cast<std::uint32_t>(job.units),
                              .arrival = seconds(job.arrival),
                              .duration = seconds(job.duration)});
        input.jobs.push_back({.first = number, .estimate = seconds(job.estimate)});
        input.members.push_back(number);
    }
    return input;
}

vgpusim::simulation_result result_under(const vgpusim::simulation_input& input, const std::string& discipline) {
    vgpualloc::ledger book{input.nodes};
    const auto policy = vgpusim_test::policy_for(input, "binpack");
    vgpualloc::allocator alloc{book, {.node = policy.get(), .device = policy.get()}};
    const auto rules = (*vgpusim::find_discipline(discipline))->make();
    vgpusim::simulation loop{input, book, alloc, *rules, vgpusim_test::measure_for(input), {}};
    auto result = loop.run({});
    book.check();
    return result;
}

/// Jobs that keep a pool of `units` busy, with what people say of them: the truth, or too much.
std::vector<pool_job> random_jobs(std::uint64_t seed, int count, int units, bool exact) {
    vgpualloc::rng random{seed};
    const auto below = [&random](std::int64_t bound) {
        return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
    };
    std::vector<pool_job> jobs;
    std::int64_t now = 0;
    for (int i = 0; i < count; ++i) {
        now += below(12) == 0 ? below(200) : below(8);
        pool_job job{.arrival = now};
        job.units = 1 + below(below(3) == 0 ? units : std::min(units, 3));
        job.duration = below(5) == 0 ? below(300) : below(40);
        job.estimate = exact || below(4) == 0 ? job.duration : job.duration + below(200);
        jobs.push_back(job);
    }
    return jobs;
}

/// The straight implementation takes the cube of it, and the build that verifies each step is slow as it is.
#ifdef VGA_VERIFY_EACH_STEP
constexpr int random_jobs_count = 120;
#else
constexpr int random_jobs_count = 250;
#endif

TEST(disciplines_on_a_pool, start_every_job_when_a_straight_implementation_does) {
    for (const bool exact : {true, false}) {
        for (std::uint64_t seed = 1; seed <= 12; ++seed) {
            const int units = 1 + static_cast<int>(seed % 9);
            const auto jobs = random_jobs(seed, random_jobs_count, units, exact);
            const auto input = input_of(jobs, 1, units);
            for (const char* discipline : {"fifo", "easy", "conservative"}) {
                const auto expected = vgpusim_test::pool_reference{jobs, units}.run(discipline);
                const auto result = result_under(input, discipline);
                for (std::size_t i = 0; i < jobs.size(); ++i) {
                    ASSERT_EQ(result.times[i].start, seconds(expected[i].start))
                        << discipline << " seed " << seed << " job " << i << (exact ? " exact" : " estimated");
                    ASSERT_EQ(result.times[i].end, seconds(expected[i].start + jobs[i].duration));
                    ASSERT_EQ(result.times[i].starts, 1U);
                }
            }
        }
    }
}

} // namespace
