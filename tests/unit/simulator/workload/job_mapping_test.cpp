#include "vgpusim/workload/job_mapping.hpp"
#include "vgputraces/file_source.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::HasSubstr;
using testing::SizeIs;
using vgpusim::mapping_rule;
using vgputraces::trace_job;

auto read(const std::string& text) {
    const vgputraces::file_source files;
    vgpusim::input_reader from{files};
    return vgpusim::read_mapping(text, vgpualloc::dialect_set{}, from);
}

std::string failure(const std::string& text) {
    const auto rules = read(text);
    return rules ? "" : rules.error().message();
}

trace_job job_of(std::int64_t row, std::int64_t devices, std::string queue = "") {
    trace_job job{.name = std::to_string(row)};
    job.row = row;
    job.devices = devices;
    job.queue = std::move(queue);
    return job;
}

TEST(job_mapping, reads_what_a_container_asks_for) {
    const auto rules = read(R"([{"devices": 1, "queue": "vc", "fraction": 0.3, "per": "device",
        "request": {"profile": "1g.10gb", "mode": "mig", "cpu_milli": 500}}])");
    ASSERT_TRUE(rules.has_value()) << rules.error().message();
    const mapping_rule& rule = rules->front();
    EXPECT_EQ(rule.devices_min, 1);
    EXPECT_EQ(rule.devices_max, 1);
    EXPECT_EQ(rule.queue, "vc");
    EXPECT_EQ(rule.fraction, 0.3);
    EXPECT_TRUE(rule.once_per_device);
    ASSERT_THAT(rule.request.templates, SizeIs(1));
    const auto& pod = rule.request.templates.front().request;
    EXPECT_EQ(pod.cpu, vgpualloc::milli_cpu{500});
    EXPECT_EQ(pod.containers.front().count, 1);
    EXPECT_EQ(pod.containers.front().profile, "1g.10gb");
    EXPECT_EQ(pod.containers.front().mode, "mig");
}

TEST(job_mapping, reads_manifests) {
    const auto rules = read(R"([{"devices": [2, 4], "request": {"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i",
        "resources": {"limits": {"nvidia.com/gpu": "3"}}}]}}}])");
    ASSERT_TRUE(rules.has_value()) << rules.error().message();
    EXPECT_EQ(rules->front().devices_max, 4);
    EXPECT_EQ(rules->front().request.templates.front().request.containers.front().count, 3);
}

TEST(job_mapping, names_the_rule_and_the_member_of_what_is_wrong) {
    EXPECT_THAT(failure("{}"), HasSubstr("a list of rules"));
    EXPECT_THAT(failure("[{}]"), HasSubstr("mapping: [0]: got '{}', expected an object with a member request"));
    const auto rule = [](const std::string& members) {
        return failure(R"([{"request": {"count": 1}}, {"request": {"count": 1}, )" + members + "}]");
    };
    EXPECT_THAT(rule(R"("fraction": 1.5)"), HasSubstr("mapping: [1].fraction: got '1.5', expected a number from 0"));
    EXPECT_THAT(rule(R"("fraction": "x")"), HasSubstr("[1].fraction"));
    EXPECT_THAT(rule(R"("devices": [4, 2])"), HasSubstr("[1].devices: got '2', expected a whole number from 4"));
    EXPECT_THAT(rule(R"("devices": [1])"), HasSubstr("[1].devices: got '[1]'"));
    EXPECT_THAT(rule(R"("devices": -1)"), HasSubstr("[1].devices: got '-1'"));
    EXPECT_THAT(rule(R"("queue": 3)"), HasSubstr("[1].queue: got '3', expected a text"));
    EXPECT_THAT(rule(R"("per": "node")"), HasSubstr("[1].per: got 'node', expected job or device"));
    EXPECT_THAT(rule(R"("share": 1)"), HasSubstr("got 'share', expected one of devices, queue, fraction, per"));
    const auto request = [](const std::string& value) { return failure(R"([{"request": )" + value + "}]"); };
    EXPECT_THAT(request("5"), HasSubstr("[0].request: got '5'"));
    EXPECT_THAT(request("\"-\""), HasSubstr("[0].request: got '-'"));
    EXPECT_THAT(request("\"/absent.yaml\""), HasSubstr("/absent.yaml"));
    EXPECT_THAT(request(R"({"gpus": 1})"), HasSubstr("[0].request.gpus: got 'gpus', expected one of count"));
    EXPECT_THAT(request(R"({"count": 1025})"), HasSubstr("[0].request.count: got '1025'"));
    EXPECT_THAT(request(R"({"mode": "half"})"), HasSubstr("got 'half'"));
    EXPECT_THAT(request(R"({"kind": "Service", "metadata": {"name": "s"}})"), HasSubstr("at least one Pod"));
}

TEST(job_mapping, takes_the_first_rule_that_is_for_the_job) {
    const auto rules = read(R"([{"devices": 1, "queue": "a", "request": {"profile": "1g.10gb"}},
        {"devices": [1, 2], "request": {"profile": "2g.20gb"}}])")
                           .value();
    EXPECT_EQ(vgpusim::rule_for(rules, job_of(0, 1, "a"), 1), &rules[0]);
    EXPECT_EQ(vgpusim::rule_for(rules, job_of(0, 1, "b"), 1), &rules[1]);
    EXPECT_EQ(vgpusim::rule_for(rules, job_of(0, 2, "a"), 1), &rules[1]);
    EXPECT_EQ(vgpusim::rule_for(rules, job_of(0, 3, "a"), 1), nullptr);
}

TEST(job_mapping, draws_a_fraction_of_the_jobs_by_seed_and_row) {
    const auto rules = read(R"([{"devices": 8, "fraction": 0.5, "request": {"count": 1}},
        {"devices": 1, "fraction": 0.3, "request": {"count": 1}}])")
                           .value();
    const auto without_first = read(R"([{"devices": 7, "fraction": 0.9, "request": {"count": 1}},
        {"devices": 1, "fraction": 0.3, "request": {"count": 1}}])")
                                   .value();
    int drawn = 0;
    int other_seed_differs = 0;
    constexpr int rows = 100'000;
    for (int row = 0; row < rows; ++row) {
        const bool is_drawn = vgpusim::rule_for(rules, job_of(row, 1), 42) != nullptr;
        drawn += is_drawn ? 1 : 0;
        other_seed_differs += is_drawn != (vgpusim::rule_for(rules, job_of(row, 1), 43) != nullptr) ? 1 : 0;
        // A rule for other jobs does not change who is drawn.
        EXPECT_EQ(is_drawn, vgpusim::rule_for(without_first, job_of(row, 1), 42) != nullptr);
    }
    EXPECT_NEAR(drawn, 0.3 * rows, 5 * 145); // five standard deviations
    EXPECT_NEAR(other_seed_differs, 0.42 * rows, 5 * 156);
}

} // namespace
