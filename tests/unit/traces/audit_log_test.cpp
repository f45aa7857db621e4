#include "vgputraces/audit_log.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace audit_log_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;
using vgpualloc::ticks;
using vgpualloc::ticks_per_second;

std::string event(const std::string& verb, const std::string& part, const std::string& time, const std::string& rest,
                  const std::string& name = "train") {
    return R"({"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","requestURI":"/api/v1","verb":")" +
           verb + R"(","objectRef":{"resource":"pods","namespace":"team","name":")" + name + R"(","subresource":")" +
           part + R"("},"responseStatus":{"code":200},"stageTimestamp":"2026-11-02T)" + time + R"(.000000Z")" + rest +
           "}\n";
}

std::string object(const std::string& uid, const std::string& status = "{}", const std::string& spec = "") {
    return R"(,"responseObject":{"kind":"Pod","metadata":{"name":"train","uid":")" + uid +
           R"(","creationTimestamp":"2026-11-02T10:00:00Z","labels":{"kueue.x-k8s.io/queue-name":"lq"},)" +
           R"("ownerReferences":[{"kind":"Job","name":"j"}]},"spec":{)" + spec +
           R"("containers":[{"name":"a","resources":{"limits":{"nvidia.com/gpu":"2","cpu":"500m"},)" +
           R"("requests":{"cpu":"250m","memory":"1Gi"}}}]},"status":)" + status + "}";
}

auto read(const std::string& text, bool skip = false) -> vgpualloc::expected<vgputraces::accounting> {
    vgputraces::audit_log_reader reader{{.skip_bad = skip}};
    if (auto added = reader.add(text, "audit.log"); !added) return vgpualloc::unexpected(added.error());
    return reader.finish();
}

std::string refusal(const std::string& text) {
    const auto result = read(text);
    return result ? "" : result.error().message();
}

ticks hour(double hours) { // of 2026-11-02
    constexpr std::int64_t day = 1'793'577'600;
    return ticks{(day + static_cast<std::int64_t>(hours * 3600)) * ticks_per_second.count()};
}

const std::string created = event("create", "", "10:00:01", object("u1")); // NOLINT(cert-err58-cpp)
const std::string bound = event("create", "binding", "11:00:00", "");      // NOLINT(cert-err58-cpp)
const std::string succeeded = event(                                       // NOLINT(cert-err58-cpp)
    "patch", "status", "13:00:05",
    object(
        "u1",
        R"({"phase":"Succeeded","containerStatuses":[{"state":{"terminated":{"finishedAt":"2026-11-02T13:00:00Z"}}}]})"));

TEST(audit_log, a_pod_is_created_bound_and_ends) {
    const auto accounted = read(succeeded + bound + created + event("delete", "", "20:00:00", ""));
    ASSERT_TRUE(accounted) << accounted.error().message();
    ASSERT_THAT(accounted->jobs, SizeIs(1));
    const vgputraces::accounted_job& pod = accounted->jobs.front();
    EXPECT_EQ((std::vector{pod.id, pod.user, pod.owner, pod.queue}),
              (std::vector<std::string>{"team/train", "team", "Job/j", "lq"}));
    EXPECT_EQ((std::vector{pod.arrival, pod.start, pod.end}), (std::vector{hour(10), hour(11), hour(13)}));
    EXPECT_FALSE(pod.is_running);
    EXPECT_EQ(pod.gpus, 2);
    EXPECT_EQ(pod.containers.front().cpu, vgpualloc::milli_cpu{250}) << "requests go before limits";
    EXPECT_THAT(pod.containers.front().devices, ElementsAre(Pair("nvidia.com/gpu", 2)));
    EXPECT_EQ(accounted->covered->end, hour(20));
}

TEST(audit_log, the_last_delete_ends_a_pod_and_another_of_its_name_is_another_pod) {
    const auto accounted = read(created + bound + event("delete", "", "12:00:00", "") +
                                event("delete", "", "12:00:36", "") + event("create", "", "12:30:00", object("u2")) +
                                event("create", "binding", "13:00:00", "") + event("patch", "status", "14:00:00", ""));
    ASSERT_TRUE(accounted) << accounted.error().message();
    ASSERT_THAT(accounted->jobs, SizeIs(2));
    EXPECT_EQ(accounted->jobs[0].end, hour(12.01));
    EXPECT_EQ(accounted->jobs[1].id, "team/train.2");
    EXPECT_TRUE(accounted->jobs[1].is_running);
    EXPECT_EQ(accounted->jobs[1].elapsed, hour(14) - hour(13));
}

TEST(audit_log, a_pod_that_is_older_than_the_log_is_known_by_its_status) {
    const auto accounted =
        read(event("patch", "status", "12:00:00",
                   object("u1",
                          R"({"phase":"Running","startTime":"2026-11-02T10:30:00Z","conditions":[)"
                          R"({"type":"PodScheduled","status":"True","lastTransitionTime":"2026-11-02T10:15:00Z"}]})",
                          R"("nodeName":"n",)")));
    ASSERT_TRUE(accounted) << accounted.error().message();
    EXPECT_EQ(accounted->jobs.front().start, hour(10.25));
}

TEST(audit_log, what_changes_no_pod_is_passed_over_and_what_is_no_job_is_counted) {
    std::string failed = event("delete", "", "11:30:00", "");
    failed.replace(failed.find("200"), 3, "409");
    std::string dry = event("delete", "", "11:30:00", "");
    dry.replace(dry.find("/api/v1"), 7, "/api/v1?dryRun=All");
    std::string early = event("delete", "", "11:30:00", "");
    early.replace(early.find("ResponseComplete"), 16, "RequestReceived");
    const auto accounted =
        read(created + bound + failed + dry + early + event("create", "", "11:00:00", "", "nothing") +
             event("create", "", "11:00:00",
                   R"(,"requestObject":{"metadata":{"generateName":"x-"},"spec":{"containers":[]}})", "waits"));
    ASSERT_TRUE(accounted) << accounted.error().message();
    EXPECT_TRUE(accounted->jobs.front().is_running);
    std::int64_t left_out = 0;
    for (const auto& rows : accounted->left_out) left_out += rows.count;
    EXPECT_EQ(left_out, 2);
    EXPECT_EQ(accounted->rows, 7);
}

TEST(audit_log, errors_name_file_line_and_field) {
    EXPECT_THAT(refusal(created + "{"), HasSubstr("audit.log:2:"));
    EXPECT_THAT(refusal(created + "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}"),
                HasSubstr("audit.log:2: apiVersion: got 'v1'"));
    std::string bad = created;
    bad.replace(bad.find("\"2\""), 3, "\"x\"");
    EXPECT_THAT(refusal(bad), HasSubstr("audit.log:1: responseObject.spec.containers[0].resources.limits"));
    EXPECT_THAT(refusal(event("delete", "", "99:00:00", "")),
                HasSubstr("audit.log:1: stageTimestamp: got '2026-11-02T99"));
    EXPECT_THAT(refusal(created), HasSubstr("at least one pod that was bound"));
    const auto skipped = read(created + bad + bound, true);
    ASSERT_TRUE(skipped) << skipped.error().message();
    EXPECT_EQ(skipped->skipped.count, 1);
}

} // namespace
} // namespace audit_log_test
