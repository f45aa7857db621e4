#include "vgputraces/dlrm.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::HasSubstr;
using testing::SizeIs;
using vgpualloc::ticks;
using vgpualloc::ticks_per_second;

class dlrm : public testing::Test {
protected:
    [[nodiscard]] static auto jobs(const std::string& lines, bool skip = false) {
        return vgputraces::read_dlrm("instance_sn,role,app_name,cpu_request,gpu_request,memory_request,"
                                     "max_instance_per_node,creation_time,deletion_time\n" +
                                         lines,
                                     "d.csv", {.skip_bad = skip});
    }
    [[nodiscard]] static std::string failure(const std::string& line) {
        const auto list = jobs(line + "\n");
        return list ? "" : list.error().message();
    }
};

TEST_F(dlrm, reads_what_instances_ask_for) {
    const auto list = jobs("i0,HN,app_0,12,1,120.5,8,475.00000000000006,1000\ni1,CN,app_1,0.5,0,0.001,-1,500,\n");
    ASSERT_TRUE(list.has_value()) << list.error().message();
    EXPECT_EQ(list->jobs.front(), (vgputraces::trace_job{.name = "i0",
                                                         .row = 0,
                                                         .arrival = {},
                                                         .duration = 525 * ticks_per_second,
                                                         .estimate = {},
                                                         .devices = 1,
                                                         .cpu = vgpualloc::milli_cpu{12000},
                                                         .memory = to_bytes(vgpualloc::mib{123392}),
                                                         .queue = "app_0"}));
    const auto& on_cpus = list->jobs.back();
    EXPECT_EQ(on_cpus.arrival, 25 * ticks_per_second);
    EXPECT_FALSE(on_cpus.duration);
    EXPECT_EQ(on_cpus.cpu, vgpualloc::milli_cpu{500});
    EXPECT_EQ(on_cpus.memory, vgpualloc::bytes{1'073'741});
    EXPECT_EQ(on_cpus.devices, 0);
}

TEST_F(dlrm, begins_at_the_earliest_time_and_takes_instances_without_creation_from_there) {
    const auto list = jobs("a,HN,x,1,1,1,-1,200,\nb,HN,x,1,1,1,-1,,\nc,HN,x,1,1,1,-1,,75\nd,HN,x,1,1,1,-1,,100\n");
    ASSERT_TRUE(list.has_value()) << list.error().message();
    ASSERT_THAT(list->jobs, SizeIs(4));
    EXPECT_EQ(list->jobs[0].name, "b");
    EXPECT_FALSE(list->jobs[0].duration);
    EXPECT_EQ(list->jobs[1].duration, ticks{0});
    EXPECT_EQ(list->jobs[2].duration, 25 * ticks_per_second);
    EXPECT_EQ(list->jobs[3].arrival, 125 * ticks_per_second);
    EXPECT_EQ(jobs("b,HN,x,1,1,1,-1,,\n")->jobs.front().arrival, ticks{0});
}

TEST_F(dlrm, names_line_column_and_value_of_what_is_wrong) {
    EXPECT_THAT(failure(",HN,x,1,1,1,-1,,"), HasSubstr("d.csv:2: instance_sn: missing; expected a name"));
    EXPECT_THAT(failure("i,hn,x,1,1,1,-1,,"), HasSubstr("d.csv:2: role: got 'hn', expected HN or CN"));
    EXPECT_THAT(failure("i,CN,x,1,1,1,-1,,"), HasSubstr("d.csv:2: gpu_request: got '1', expected 0"));
    EXPECT_THAT(failure("i,HN,x\x7f,1,1,1,-1,,"), HasSubstr("d.csv:2: app_name: got"));
    for (const char* bad : {"-1", "NaN", "x", "1000000.5", "1000001", "1e3"}) {
        EXPECT_THAT(failure("i,HN,x," + std::string{bad} + ",1,1,-1,,"), HasSubstr("d.csv:2: cpu_request: got"));
        EXPECT_THAT(failure("i,HN,x,1,1," + std::string{bad} + ",-1,,"), HasSubstr("d.csv:2: memory_request: got"));
    }
    EXPECT_THAT(failure("i,HN,x,1,,1,-1,,"), HasSubstr("d.csv:2: gpu_request: missing"));
    EXPECT_THAT(failure("i,HN,x,1,1,1,-1,-5,"), HasSubstr("d.csv:2: creation_time: got '-5'"));
    EXPECT_THAT(failure("i,HN,x,1,1,1,-1,5,inf"), HasSubstr("d.csv:2: deletion_time: got 'inf'"));
    EXPECT_THAT(failure("i,HN,x,1,1,1,-1,5,4.9"), HasSubstr("d.csv:2: deletion_time: got '4.9', expected a time not"));
    EXPECT_THAT(failure("i,HN,x,1,1,1,-1,,\ni,HN,x,1,1,1,-1,,"), HasSubstr("d.csv:3: instance_sn: got 'i'"));
    const auto list = vgputraces::read_dlrm("instance_sn\n", "d.csv");
    EXPECT_THAT(list.error().message(), HasSubstr("d.csv:1: role: missing; expected this column"));
}

} // namespace
