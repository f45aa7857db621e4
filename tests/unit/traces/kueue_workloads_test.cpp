#include "vgputraces/kueue_workloads.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kueue_workloads_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using vgpualloc::ticks;
using vgpualloc::ticks_per_second;

std::string condition(const std::string& type, const std::string& hour, const std::string& status = "True") {
    return R"({"type":")" + type + R"(","status":")" + status + R"(","lastTransitionTime":"2026-11-02T)" + hour +
           R"(:00:00Z"})";
}

std::string pod_set(const std::string& name, const std::string& count, const std::string& gpus) {
    return R"({"name":")" + name + R"(","count":)" + count +
           R"(,"template":{"spec":{"containers":[{"resources":{"requests":{"cpu":"2","nvidia.com/gpu":")" + gpus +
           R"("}}}]}}})";
}

std::string workload(const std::string& name, const std::string& sets, const std::string& conditions,
                     const std::string& admission = "null") {
    return R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"Workload","metadata":{"namespace":"team","name":")" +
           name + R"(","creationTimestamp":"2026-11-02T10:00:00Z","ownerReferences":[{"kind":"Job","name":"j"}]},)" +
           R"("spec":{"queueName":"lq","maximumExecutionTimeSeconds":7200,"podSets":[)" + sets +
           R"(]},"status":{"admission":)" + admission + R"(,"conditions":[)" + conditions + "]}}";
}

std::string list(const std::vector<std::string>& items) {
    std::string text = R"({"apiVersion":"v1","kind":"List","items":[)";
    for (std::size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "\n" : ",\n") + items[i];
    return text + "]}";
}

auto read(const std::string& text, bool skip = false) -> vgpualloc::expected<vgputraces::accounting> {
    vgputraces::kueue_reader reader{{.skip_bad = skip}};
    if (auto added = reader.add(text, "workloads.json"); !added) return vgpualloc::unexpected(added.error());
    return reader.finish();
}

std::string refusal(const std::string& text) {
    const auto result = read(text);
    return result ? "" : result.error().message();
}

ticks hour(std::int64_t hours) { // of 2026-11-02
    constexpr std::int64_t day = 1'793'577'600;
    return ticks{(day + hours * 3600) * ticks_per_second.count()};
}

const std::string ran = condition("QuotaReserved", "11") + "," + condition("Admitted", "12") +
                        "," + // NOLINT(cert-err58-cpp)
                        condition("Finished", "15");

TEST(kueue, a_workload_is_created_admitted_and_finished) {
    const auto accounted = read(list({workload("a", pod_set("main", "3", "2"), ran)}));
    ASSERT_TRUE(accounted) << accounted.error().message();
    ASSERT_THAT(accounted->jobs, SizeIs(1));
    const vgputraces::accounted_job& job = accounted->jobs.front();
    EXPECT_EQ((std::vector{job.id, job.user, job.owner, job.queue, job.gang}),
              (std::vector<std::string>{"team/a", "team", "Job/j", "lq", ""}));
    EXPECT_EQ((std::vector{job.arrival, job.start, job.end}), (std::vector{hour(10), hour(12), hour(15)}));
    EXPECT_EQ(job.pods, 3);
    EXPECT_EQ(job.gpus, 6);
    EXPECT_EQ(job.limit, ticks{7200 * ticks_per_second.count()});
}

TEST(kueue, pod_sets_start_together_with_the_pods_that_were_admitted) {
    const auto accounted = read(list({workload("a", pod_set("driver", "1", "0") + "," + pod_set("workers", "8", "1"),
                                               ran, R"({"podSetAssignments":[{"name":"workers","count":5}]})")}));
    ASSERT_TRUE(accounted) << accounted.error().message();
    ASSERT_THAT(accounted->jobs, SizeIs(2));
    EXPECT_EQ(accounted->jobs[0].gang, "team/a");
    EXPECT_EQ(accounted->jobs[0].counted_as, "team/a");
    EXPECT_EQ(accounted->jobs[1].id, "team/a-1");
    EXPECT_EQ(accounted->jobs[1].pods, 5);
    EXPECT_EQ(accounted->jobs[1].gpus, 5);
}

TEST(kueue, what_is_not_admitted_is_counted_and_what_has_not_finished_stays) {
    const std::string set = pod_set("main", "1", "1");
    const auto accounted = read(
        list({workload("waits", set, ""), workload("runs", set, condition("QuotaReserved", "11")),
              workload("evicted", set, condition("QuotaReserved", "11") + "," + condition("Admitted", "13", "False")),
              workload("ran", set, condition("Admitted", "12")), workload("ran", set, ran),
              R"({"apiVersion":"v1","kind":"Pod"})"}));
    ASSERT_TRUE(accounted) << accounted.error().message();
    ASSERT_THAT(accounted->jobs, SizeIs(2));
    EXPECT_EQ(accounted->jobs[0].id, "team/ran");
    EXPECT_FALSE(accounted->jobs[0].is_running) << "as it was last";
    EXPECT_TRUE(accounted->jobs[1].is_running);
    EXPECT_EQ(accounted->jobs[1].elapsed, hour(15) - hour(11)) << "to the last time in the files";
    ASSERT_THAT(accounted->left_out, SizeIs(1));
    EXPECT_EQ(accounted->left_out[0].count, 2);
    EXPECT_THAT(accounted->notes.back(), HasSubstr("Pod (1)"));
}

TEST(kueue, errors_name_file_line_and_field) {
    const std::string set = pod_set("main", "1", "1");
    const std::string good = workload("a", set, ran);
    EXPECT_THAT(refusal("{"), HasSubstr("workloads.json:1"));
    EXPECT_THAT(refusal(list({good, workload("b", pod_set("main", "-1", "1"), ran)})),
                HasSubstr("workloads.json:3: spec.podSets[0].count: got '-1'"));
    EXPECT_THAT(refusal(list({workload("b", pod_set("main", "1", "x"), ran)})), HasSubstr("nvidia.com/gpu"));
    EXPECT_THAT(refusal(list({workload("b", set, condition("Admitted", "12") + "," + condition("Finished", "11"))})),
                HasSubstr("status.conditions[1].lastTransitionTime: got '2026-11-02T11:00:00Z', expected a time not "
                          "before that of Admitted"));
    EXPECT_THAT(refusal(list({workload("b", set, condition("Admitted", "x"))})),
                HasSubstr("lastTransitionTime: got '2026-11-02Tx:00:00Z'"));
    EXPECT_THAT(refusal(list({})), HasSubstr("at least one Workload that was admitted"));
    const auto skipped = read(list({good, workload("b", pod_set("main", "-1", "1"), ran)}), true);
    ASSERT_TRUE(skipped) << skipped.error().message();
    EXPECT_EQ(skipped->skipped.count, 1);
}

} // namespace
} // namespace kueue_workloads_test
