#include "vgputraces/kube_metrics.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kube_metrics_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using vgpualloc::ticks;
using vgpualloc::ticks_per_second;

constexpr std::int64_t begin = 1'764'547'200; // 2025-12-01

/// Samples of one value, from one minute to another, both with a sample.
std::string samples(int from, int to, const std::string& value) {
    std::string text;
    for (int minute = from; minute <= to; ++minute) {
        text += (text.empty() ? "[" : ",[") + std::to_string(begin + minute * 60) + ",\"" + value + "\"]";
    }
    return text;
}

std::string series(const std::string& metric, const std::string& labels, const std::string& values) {
    return R"({"metric":{"__name__":")" + metric + R"(","namespace":"team","pod":"train")" + labels +
           R"(},"values":[)" + values + "]}";
}

std::string answer(const std::vector<std::string>& all) {
    std::string text = R"({"status":"success","data":{"resultType":"matrix","result":[)";
    for (std::size_t i = 0; i < all.size(); ++i) text += (i == 0 ? "" : ",\n") + all[i];
    return text + "]}}\n";
}

std::string requests(const std::string& labels, int from, int to, const std::string& gpus = "2") {
    return series("kube_pod_container_resource_requests",
                  labels + R"(,"container":"main","resource":"nvidia_com_gpu","unit":"integer")",
                  samples(from, to, gpus));
}

std::string phase(const std::string& labels, const std::string& name, int from, int to,
                  const std::string& value = "1") {
    return series("kube_pod_status_phase", labels + R"(,"phase":")" + name + '"', samples(from, to, value));
}

std::string time_of(const std::string& metric, const std::string& labels, int from, int to, std::int64_t second) {
    return series(metric, labels, samples(from, to, std::to_string(begin + second)));
}

const std::string uid = R"(,"uid":"u1")"; // NOLINT(cert-err58-cpp): a text

auto read(const std::vector<std::string>& texts, bool skip = false) -> vgpualloc::expected<vgputraces::accounting> {
    vgputraces::kube_metrics_reader reader{{.skip_bad = skip}};
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (auto added = reader.add(texts[i], "answer-" + std::to_string(i) + ".json"); !added) {
            return vgpualloc::unexpected(added.error());
        }
    }
    return reader.finish();
}

std::string refusal(const std::vector<std::string>& texts) {
    const auto result = read(texts);
    return result ? "" : result.error().message();
}

ticks second(std::int64_t count) { return ticks{(begin + count) * ticks_per_second.count()}; }

TEST(kube_metrics, a_pod_runs_at_the_samples_of_its_phase) {
    const auto accounted = read({answer({requests(uid, 0, 9), phase(uid, "Pending", 0, 1), phase(uid, "Running", 2, 5),
                                         phase(uid, "Running", 6, 9, "0"), phase(uid, "Succeeded", 6, 9)})});
    ASSERT_TRUE(accounted) << accounted.error().message();
    ASSERT_THAT(accounted->jobs, SizeIs(1));
    const vgputraces::accounted_job& pod = accounted->jobs.front();
    EXPECT_EQ(pod.id, "team/train");
    EXPECT_EQ(pod.arrival, second(0)) << "its first sample";
    EXPECT_EQ(pod.start, second(120));
    EXPECT_EQ(pod.end, second(360)) << "a step after the last sample";
    EXPECT_FALSE(pod.is_running);
    EXPECT_EQ(pod.gpus, 2);
    EXPECT_EQ(accounted->own_gpu_seconds, 2 * 240.0);
    EXPECT_EQ(accounted->covered->begin, second(0));
    EXPECT_EQ(accounted->covered->end, second(600));
}

TEST(kube_metrics, times_that_metrics_tell_are_exact) {
    const auto accounted =
        read({answer({requests(uid, 0, 9), phase(uid, "Running", 2, 5), phase(uid, "Succeeded", 6, 9)}),
              answer({time_of("kube_pod_created", uid, 0, 9, -3600), time_of("kube_pod_start_time", uid, 1, 9, 61),
                      time_of("kube_pod_completion_time", uid, 6, 9, 337)})});
    ASSERT_TRUE(accounted) << accounted.error().message();
    const vgputraces::accounted_job& pod = accounted->jobs.front();
    EXPECT_EQ((std::vector{pod.arrival, pod.start, pod.end}), (std::vector{second(-3600), second(61), second(337)}));
    EXPECT_EQ(pod.elapsed.count(), 276 * ticks_per_second.count());
    EXPECT_EQ(accounted->own_gpu_seconds, 2 * 240.0) << "the samples alone";
}

TEST(kube_metrics, what_runs_at_the_last_sample_stays_and_what_never_ran_is_counted) {
    const auto accounted =
        read({answer({requests(uid, 0, 9), phase(uid, "Running", 3, 9), requests(R"(,"uid":"u2")", 0, 9),
                      phase(R"(,"uid":"u2")", "Pending", 0, 9), requests(R"(,"uid":"u3")", 0, 4),
                      phase(R"(,"uid":"u3")", "Failed", 0, 4), phase(R"(,"uid":"u4")", "Running", 0, 4)})});
    ASSERT_TRUE(accounted) << accounted.error().message();
    ASSERT_THAT(accounted->jobs, SizeIs(1));
    EXPECT_TRUE(accounted->jobs.front().is_running);
    std::vector<std::pair<std::string, std::int64_t>> left_out;
    for (const auto& rows : accounted->left_out) left_out.emplace_back(rows.reason.substr(0, 14), rows.count);
    EXPECT_THAT(left_out, ElementsAre(Pair("no requests of", 1), Pair("they were Runn", 1), Pair("they have ende", 1)));
}

TEST(kube_metrics, a_gap_ends_no_pod_that_has_a_uid) {
    const auto accounted =
        read({answer({requests(uid, 0, 3), phase(uid, "Running", 0, 3)}),
              answer({requests(uid, 60, 62), phase(uid, "Running", 60, 62), requests(R"(,"uid":"u2")", 0, 63),
                      phase(R"(,"uid":"u2")", "Pending", 0, 63)})});
    ASSERT_TRUE(accounted) << accounted.error().message();
    ASSERT_THAT(accounted->jobs, SizeIs(1));
    EXPECT_EQ(accounted->jobs.front().end, second(63 * 60));
    EXPECT_EQ(accounted->own_gpu_seconds, 2 * 7 * 60.0) << "of the samples that are there";
}

TEST(kube_metrics, without_uids_a_name_is_another_pod_after_five_minutes_without_samples) {
    const std::string other = R"(,"uid":"u2")";
    // Nothing has samples from minute 20 to 39: that is no gap of this pod.
    const std::vector<std::string> texts{answer(
        {requests("", 0, 3), requests("", 9, 19), requests("", 40, 41), requests("", 48, 49), requests(other, 0, 19),
         requests(other, 40, 60), phase(other, "Pending", 0, 19), phase("", "Running", 0, 3),
         phase("", "Running", 9, 19), phase("", "Running", 40, 41), phase("", "Running", 48, 49)})};
    const auto accounted = read(texts);
    ASSERT_TRUE(accounted) << accounted.error().message();
    ASSERT_THAT(accounted->jobs, SizeIs(2));
    EXPECT_EQ(accounted->jobs[0].end, second(42 * 60));
    EXPECT_EQ(accounted->jobs[1].id, "team/train.2");
    EXPECT_EQ(accounted->jobs[1].start, second(48 * 60));
}

TEST(kube_metrics, resources_get_back_the_names_that_pods_write) {
    const auto of = [&](const std::string& resource, const std::string& amount, const std::string& container) {
        return series("kube_pod_container_resource_requests",
                      uid + R"(,"container":")" + container + R"(","resource":")" + resource + '"',
                      samples(0, 2, amount));
    };
    const auto accounted =
        read({answer({of("nvidia_com_mig_1g_10gb", "2", "a"), of("nvidia_com_mig_1g_10gb_me", "1", "a"),
                      of("cpu", "0.25", "a"), of("volcano_sh_vgpu_number", "1", "b"),
                      of("volcano_sh_vgpu_memory", "8192", "b"), of("memory", "1073741824", "b"),
                      of("nvidia_com_gpu_shared", "1", "c"), of("huawei_com_Ascend910B3_memory", "9", "c"),
                      of("example_com_fpga", "1", "c"), of("nvidia_com_gpu", "0", "d")})});
    ASSERT_TRUE(accounted) << accounted.error().message();
    const auto& containers = accounted->jobs.front().containers;
    ASSERT_THAT(containers, SizeIs(4));
    EXPECT_THAT(containers[0].devices,
                ElementsAre(Pair("nvidia.com/mig-1g.10gb", 2), Pair("nvidia.com/mig-1g.10gb.me", 1)));
    EXPECT_EQ(containers[0].cpu, vgpualloc::milli_cpu{250});
    EXPECT_THAT(containers[1].devices,
                ElementsAre(Pair("volcano.sh/vgpu-memory", 8192), Pair("volcano.sh/vgpu-number", 1)));
    EXPECT_EQ(containers[1].memory, vgpualloc::bytes{std::int64_t{1} << 30});
    EXPECT_THAT(containers[2].devices,
                ElementsAre(Pair("huawei.com/Ascend910B3-memory", 9), Pair("nvidia.com/gpu.shared", 1)));
    EXPECT_THAT(containers[3].devices, IsEmpty());
    EXPECT_EQ(accounted->jobs.front().gpus, 5) << "memory of slices is no GPU";
    EXPECT_THAT(accounted->notes.back(), HasSubstr("example_com_fpga (1 series)"));
}

TEST(kube_metrics, two_series_of_one_request_count_once) {
    const auto accounted =
        read({answer({requests(uid + R"(,"instance":"a","node":"")", 0, 5), phase(uid, "Running", 0, 9),
                      requests(uid + R"(,"instance":"b","node":"n")", 4, 9)})});
    ASSERT_TRUE(accounted) << accounted.error().message();
    EXPECT_EQ(accounted->jobs.front().gpus, 2);
    EXPECT_EQ(accounted->own_gpu_seconds, 2 * 600.0);
}

TEST(kube_metrics, labels_of_the_pod_go_before_those_of_the_scrape) {
    const auto accounted = read({answer({series(
        "kube_pod_container_resource_requests",
        R"(,"exported_namespace":"vision","exported_pod":"x","exported_container":"c","resource":"nvidia_com_gpu")",
        samples(0, 3, "1"))})});
    ASSERT_TRUE(accounted) << accounted.error().message();
    EXPECT_EQ(accounted->jobs.front().id, "vision/x");
    EXPECT_THAT(accounted->notes[1], HasSubstr("no kube_pod_status_phase"));
}

TEST(kube_metrics, owners_and_queues_are_read) {
    const auto accounted =
        read({answer({requests(uid, 0, 3),
                      series("kube_pod_owner", uid + R"(,"owner_kind":"Job","owner_name":"j")", samples(0, 3, "1")),
                      series("kube_pod_labels", uid + R"(,"label_kueue_x_k8s_io_queue_name":"lq")", samples(0, 3, "1")),
                      series("kube_node_info", "", samples(0, 3, "1"))})});
    ASSERT_TRUE(accounted) << accounted.error().message();
    EXPECT_EQ(accounted->jobs.front().owner, "Job/j");
    EXPECT_EQ(accounted->jobs.front().queue, "lq");
    EXPECT_THAT(accounted->notes.back(), HasSubstr("kube_node_info (1 series)"));
}

TEST(kube_metrics, errors_name_file_line_and_field) {
    const std::string good = requests(uid, 0, 3);
    const auto with = [&](const std::string& bad) { return refusal({answer({good, bad})}); };
    EXPECT_THAT(with(R"({"metric":{},"values":[]})"), HasSubstr("answer-0.json:2: result[1].metric.__name__: missing"));
    EXPECT_THAT(with(requests(uid, 0, 3, "-1")), HasSubstr("answer-0.json:2: result[1].values[0]: got '-1'"));
    EXPECT_THAT(with(requests(uid, 0, 3, "NaN")), HasSubstr("got 'NaN', expected a whole number"));
    EXPECT_THAT(with(phase(uid, "Running", 0, 3, "2")), HasSubstr("got '2', expected a whole number from 0 to 1"));
    EXPECT_THAT(with(R"({"metric":{},"value":[1,"2"]})"), HasSubstr("result[1].values: got 'missing'"));
    EXPECT_THAT(with(series("kube_pod_created", uid, "[5,\"1\"],[5,\"1\"]")),
                HasSubstr("samples by time, each time once"));
    EXPECT_THAT(with(series("kube_pod_created", uid, "[5,\"1\"]")), HasSubstr("a whole number of steps of 60 s"));
    EXPECT_THAT(with("7"), HasSubstr("answer-0.json:2: result[1].metric: got '7"));
    EXPECT_THAT(refusal({R"({"status":"error","errorType":"bad_data","error":"x"})"}),
                HasSubstr("got 'error', expected success"));
    EXPECT_THAT(refusal({R"({"status":"success","data":{"resultType":"vector","result":[]}})"}),
                HasSubstr("got 'vector', expected matrix"));
    EXPECT_THAT(refusal({answer({good}).substr(0, 300)}), HasSubstr("answer-0.json:1: "));
    EXPECT_THAT(refusal({""}), HasSubstr("kube_pod_container_resource_requests: missing"));
    EXPECT_THAT(refusal({answer({requests(uid, 0, 0)})}), HasSubstr("no series has two samples"));
    EXPECT_THAT(refusal({answer({good, phase(uid, "Pending", 0, 3)})}), HasSubstr("at least one pod that has run"));
    EXPECT_THAT(refusal({"[]"}), HasSubstr("expected the answer of a range query"));
    EXPECT_THAT(refusal({answer({good, phase(uid, "Running", 0, 3), time_of("kube_pod_start_time", uid, 0, 3, 100),
                                 time_of("kube_pod_completion_time", uid, 0, 3, 99)})}),
                HasSubstr("kube_pod_completion_time of team/train: got '2025-12-01T00:01:39Z'"));
}

TEST(kube_metrics, bad_series_can_be_skipped_and_answers_follow_each_other) {
    const auto accounted =
        read({answer({requests(uid, 0, 3)}) + answer({requests(uid, 0, 3, "x"), phase(uid, "Running", 0, 3)})}, true);
    ASSERT_TRUE(accounted) << accounted.error().message();
    EXPECT_EQ(accounted->skipped.count, 1);
    EXPECT_EQ(accounted->rows, 3);
    EXPECT_EQ(accounted->own_gpu_seconds, 2 * 240.0);
}

} // namespace
} // namespace kube_metrics_test
