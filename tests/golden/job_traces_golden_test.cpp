// The published lists of jobs, read whole: sums that an independent reading (Python's csv, datetime and decimal) gives.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "vgpuformats/input.hpp"
#include "vgputraces/dlrm.hpp"
#include "vgputraces/philly.hpp"
#include "vgputraces/swf.hpp"

namespace {

using vgpualloc::ticks;
using vgpualloc::ticks_per_second;

/// The text of a file of the evidence; empty, with the test skipped or failed, where it is not there.
std::string text_of(const char* variable, const std::string& file) {
    const char* folder = std::getenv(variable);
    const auto path = std::filesystem::path{folder != nullptr ? folder : ""} / file;
    if (folder != nullptr && std::filesystem::exists(path)) return vgpuformats::read_input(path.string()).value().text;
    const char* ci = std::getenv("CI");
    [&] {
        if (ci != nullptr && std::string{ci} == "true") FAIL() << variable << " names no folder that has " << file;
        GTEST_SKIP() << variable << " names no folder that has " << file;
    }();
    return "";
}

struct totals {
    std::size_t jobs = 0;
    ticks last_arrival;
    std::int64_t device_seconds = 0; ///< of the jobs that end
    std::int64_t devices = 0;
    std::size_t staying = 0;
    std::size_t queues = 0;

    explicit totals(const vgputraces::job_list& list) : jobs{list.jobs.size()}, last_arrival{list.jobs.back().arrival} {
        std::int64_t device_ticks = 0;
        std::set<std::string> names;
        for (const auto& job : list.jobs) {
            devices += job.devices;
            names.insert(job.queue);
            if (job.duration) device_ticks += job.devices * job.duration->count();
            if (!job.duration) ++staying;
        }
        device_seconds = device_ticks / ticks_per_second.count();
        queues = names.size();
    }
};

TEST(job_traces, philly) {
    const std::string text = text_of("VGPUALLOC_TRACES", "philly.csv");
    if (text.empty()) return;
    const auto list = vgputraces::read_philly(text, "philly.csv");
    ASSERT_TRUE(list.has_value()) << list.error().message();
    const totals sums{*list};
    EXPECT_EQ(sums.jobs, 82'247U);
    EXPECT_EQ(list->jobs.front().name, "31566");
    EXPECT_EQ(list->jobs.front().arrival, ticks{0});
    EXPECT_EQ(sums.last_arrival, 9'408'690 * ticks_per_second);
    EXPECT_EQ(sums.device_seconds, 3'521'082'502);
    EXPECT_EQ(sums.queues, 15U);
}

TEST(job_traces, dlrm) {
    const std::string text = text_of("VGPUALLOC_TRACES", "alibaba_dlrm_2025.csv");
    if (text.empty()) return;
    const auto list = vgputraces::read_dlrm(text, "alibaba_dlrm_2025.csv");
    ASSERT_TRUE(list.has_value()) << list.error().message();
    const totals sums{*list};
    EXPECT_EQ(sums.jobs, 23'871U);
    EXPECT_EQ(list->jobs.front().arrival, ticks{0});
    EXPECT_EQ(sums.last_arrival, 2'676'561 * ticks_per_second);
    EXPECT_EQ(sums.staying, 8878U);
    EXPECT_EQ(sums.devices, 7386);
    EXPECT_EQ(sums.device_seconds, 1'253'407'221);
    EXPECT_EQ(sums.queues, 156U);
}

TEST(job_traces, swf) {
    const std::string text = text_of("VGPUALLOC_EVIDENCE", "golden/queue/synthetic-1.swf");
    if (text.empty()) return;
    const auto list = vgputraces::read_swf(text, "synthetic-1.swf");
    ASSERT_TRUE(list.has_value()) << list.error().message();
    const totals sums{*list};
    EXPECT_EQ(sums.jobs, 10'000U);
    EXPECT_EQ(list->jobs.front().arrival, 21 * ticks_per_second);
    EXPECT_EQ(sums.last_arrival, 729'497 * ticks_per_second);
    EXPECT_EQ(sums.device_seconds, 180'492'390);
    EXPECT_TRUE(list->left_out.empty());
}

} // namespace
