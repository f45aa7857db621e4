#include "vgputraces/sacct.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sacct_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using vgpualloc::ticks;
using vgpualloc::ticks_per_second;

constexpr const char* header =
    "JobID|User|Account|Partition|QOS|Submit|Eligible|Start|End|State|Elapsed|Timelimit|AllocTRES\n";

std::string row(const std::string& id, const std::string& start, const std::string& end, const std::string& elapsed,
                const std::string& amounts) {
    return id + "|ada|lab|gpu|normal|2026-11-01T10:00:00|2026-11-01T10:00:05|" + start + "|" + end + "|COMPLETED|" +
           elapsed + "|1-00:00:00|" + amounts + "\n";
}

std::string job(const std::string& id, const std::string& amounts = "cpu=8,gres/gpu=2,mem=31.25G,node=1") {
    return row(id, "2026-11-01T10:01:00", "2026-11-01T11:02:03", "01:01:03", amounts);
}

auto read(const std::string& rows, bool skip = false) {
    return vgputraces::read_sacct(header + rows, "jobs.txt", {.skip_bad = skip});
}

std::string refusal(const std::string& rows) {
    const auto answer = read(rows);
    return answer ? "" : answer.error().message();
}

ticks seconds(std::int64_t count) { return ticks{count * ticks_per_second.count()}; }

TEST(sacct, reads_a_job) {
    const auto accounted = read(job("12"));
    ASSERT_TRUE(accounted) << accounted.error().message();
    ASSERT_THAT(accounted->jobs, SizeIs(1));
    const vgputraces::accounted_job& first = accounted->jobs.front();
    EXPECT_EQ(first.id, "12");
    EXPECT_EQ((std::vector{first.user, first.owner, first.queue, first.qos}),
              (std::vector<std::string>{"ada", "lab", "gpu", "normal"}));
    EXPECT_EQ(first.start - first.arrival, seconds(55)) << "from when it was eligible";
    EXPECT_EQ(first.elapsed, seconds(3663));
    EXPECT_EQ(first.end - first.start, seconds(3663));
    EXPECT_EQ(first.limit, seconds(86'400));
    EXPECT_EQ(first.gpus, 2);
    EXPECT_EQ(first.cpu, vgpualloc::milli_cpu{8000});
    EXPECT_EQ(first.memory, vgpualloc::bytes{std::int64_t{32'000} << 20});
    EXPECT_FALSE(first.is_running);
}

TEST(sacct, counts_gpus_of_types_once) {
    const auto accounted =
        read(job("1", "gres/gpu:a100=4,gres/gpu=4,node=2") + job("2", "gres/gpu:v100=3,node=1") +
             job("3", "gres/gpu=3,gres/gpu:a100=1,gres/gpu:a40=2,node=1") + job("4", "cpu=1,node=1"));
    ASSERT_TRUE(accounted) << accounted.error().message();
    std::vector<std::pair<std::int64_t, std::string>> gpus;
    for (const auto& entry : accounted->jobs) gpus.emplace_back(entry.gpus, entry.gpu_type);
    EXPECT_THAT(gpus, ElementsAre(std::pair{4, "a100"}, std::pair{3, "v100"}, std::pair{3, ""}, std::pair{0, ""}));
    EXPECT_EQ(accounted->jobs[0].pods, 2);
}

TEST(sacct, leaves_out_steps_and_what_never_started) {
    const auto accounted =
        read(job("1") + job("1.batch") + job("1.0") + row("2", "Unknown", "Unknown", "00:00:00", "") +
             row("3_[4-9]", "None", "2026-11-01T10:01:00", "00:00:00", "") +
             row("5", "2026-11-01T10:01:00", "2026-11-01T10:01:00", "00:00:00", ""));
    ASSERT_TRUE(accounted) << accounted.error().message();
    EXPECT_EQ(accounted->rows, 6);
    ASSERT_THAT(accounted->left_out, SizeIs(3));
    EXPECT_EQ(accounted->left_out[0].count, 2);
    EXPECT_THAT(accounted->left_out[0].reason, HasSubstr("steps"));
    EXPECT_EQ(accounted->left_out[1].count, 2);
    EXPECT_THAT(accounted->left_out[1].reason, HasSubstr("never started"));
    EXPECT_EQ(accounted->left_out[2].count, 1);
}

TEST(sacct, tells_starts_and_components_apart) {
    const auto accounted =
        read(row("7", "2026-11-01T10:01:00", "2026-11-01T10:02:00", "01:00", "node=1,cpu=1") +
             row("7", "2026-11-01T10:05:00", "Unknown", "2-00:00:10", "node=1,cpu=1") + job("8+0") + job("8+1"));
    ASSERT_TRUE(accounted) << accounted.error().message();
    std::vector<std::string> ids;
    for (const auto& entry : accounted->jobs) ids.push_back(entry.id);
    EXPECT_THAT(ids, ElementsAre("7", "7.2", "8+0", "8+1"));
    EXPECT_TRUE(accounted->jobs[1].is_running);
    EXPECT_EQ(accounted->jobs[1].elapsed, seconds(2 * 86'400 + 10));
    EXPECT_EQ(accounted->jobs[1].end - accounted->jobs[1].start, seconds(2 * 86'400 + 10));
    EXPECT_EQ(accounted->jobs[2].gang, "8");
    EXPECT_EQ(accounted->jobs[3].gang, "8");
    EXPECT_THAT(refusal(job("9") + job("9")), HasSubstr("jobs.txt:3: JobID: got '9', expected a job that starts once"));
}

TEST(sacct, names_what_cannot_be_read) {
    EXPECT_THAT(refusal("1|ada\n"), HasSubstr("jobs.txt:2: expected 13 fields, as in the header, found 2"));
    EXPECT_THAT(refusal(row("1", "yesterday", "Unknown", "00:01", "node=1")),
                HasSubstr("jobs.txt:2: Start: got 'yesterday'"));
    EXPECT_THAT(refusal(row("1", "2026-11-01T10:01:00", "2026-11-01T10:00:59", "00:01", "node=1")),
                HasSubstr("End: got '2026-11-01T10:00:59', expected a time not before Start"));
    EXPECT_THAT(refusal(row("1", "2026-11-01T10:01:00", "Unknown", "12", "node=1")), HasSubstr("Elapsed: got '12'"));
    for (const char* const amounts : {"gres/gpu=x", "cpu=-1", "mem=4Q", "node", "mem=9999P", "gres/gpu=99999999"}) {
        EXPECT_THAT(refusal(job("1", amounts)), HasSubstr("jobs.txt:2: AllocTRES: got '")) << amounts;
    }
    EXPECT_THAT(refusal(job("a,b")), HasSubstr("JobID: got 'a,b'"));
    const auto skipped = read(job("1", "cpu=x") + job("2"), true);
    ASSERT_TRUE(skipped);
    EXPECT_EQ(skipped->skipped.count, 1);
    EXPECT_THAT(skipped->jobs, SizeIs(1));
    EXPECT_THAT(refusal(""), HasSubstr("jobs.txt: missing; expected at least one job that has started"));
}

TEST(sacct, needs_a_header_with_the_fields_that_it_reads) {
    const auto of = [](const std::string& text) { return vgputraces::read_sacct(text, "jobs.txt").error().message(); };
    EXPECT_THAT(of("12|COMPLETED\n"), HasSubstr("jobs.txt:1: JobID: missing"));
    EXPECT_THAT(of("JobID|Submit|Start|State|AllocTRES\n"), HasSubstr("End: missing"));
    const auto trailing =
        vgputraces::read_sacct("JobID|Submit|Start|End|State|ElapsedRaw|TimelimitRaw|AllocTRES|\n"
                               "1|2026-11-01T10:00:00|2026-11-01T10:00:00|Unknown|RUNNING|90|2|node=1|\n",
                               "jobs.txt");
    ASSERT_TRUE(trailing) << trailing.error().message();
    EXPECT_EQ(trailing->jobs.front().elapsed, seconds(90));
    EXPECT_EQ(trailing->jobs.front().limit, seconds(120)) << "TimelimitRaw is in minutes";
}

TEST(sacct, a_job_without_elapsed_ran_from_its_start_to_its_end) {
    const std::string some = "JobID|Submit|Start|End|State|AllocTRES\n";
    const std::string ended = "1|2026-11-01T10:00:00|2026-11-01T10:01:00|2026-11-01T11:02:03|COMPLETED|node=1\n";
    const auto accounted = vgputraces::read_sacct(some + ended, "jobs.txt");
    ASSERT_TRUE(accounted) << accounted.error().message();
    EXPECT_EQ(accounted->jobs.front().elapsed, seconds(3663));
    const auto refused = vgputraces::read_sacct(
        some + ended + "2|2026-11-01T10:00:00|2026-11-01T10:01:00|Unknown|RUNNING|node=1\n", "jobs.txt");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("jobs.txt:3: End: got 'Unknown', expected a time, or a header "
                                                     "with ElapsedRaw"));
}

} // namespace
} // namespace sacct_test
