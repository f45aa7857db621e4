// What kube-state-metrics has said of pods, as a Prometheus kept it: answers to range queries, as pods that have run.
#pragma once

#include <memory>
#include <string>

#include "vgpuformats/list_content.hpp"
#include "vgputraces/accounting.hpp"
#include "vgputraces/core_names.hpp"

namespace vgputraces {

/// Reads answers of /api/v1/query_range, text by text. Needed is kube_pod_container_resource_requests. Read where they
/// are there: kube_pod_status_phase, kube_pod_created, kube_pod_start_time, kube_pod_completion_time, kube_pod_owner,
/// kube_pod_labels (a queue). Series of other metrics are counted.
///
/// A pod has what it requests at the samples at which its phase is Running, or where no phase is there, at those of its
/// requests. It starts and ends at kube_pod_start_time and kube_pod_completion_time; without them at the first such
/// sample, and one step after the last. A pod that runs at the last sample of all stays. A gap in samples is no end:
/// a pod is one by its uid, or without uids by its namespace and name, until it has no samples for more than
/// gap_seconds_max in which other series have some.
class kube_metrics_reader {
public:
    static constexpr std::int64_t gap_seconds_max = 300;

    explicit kube_metrics_reader(const row_options& options);
    ~kube_metrics_reader();
    kube_metrics_reader(const kube_metrics_reader&) = delete;
    kube_metrics_reader& operator=(const kube_metrics_reader&) = delete;

    /// Errors name file, line, series and value: no answer of a range query; and unless bad rows are skipped, a series
    /// without a metric's name, without namespace or pod, with an amount that is none.
    [[nodiscard]] expected<void> add(const vgpuformats::list_content& content, const std::string& name);

    /// Once, after all texts. Errors: fewer than two times; times that are not a whole number of steps apart; no pod
    /// that has run.
    [[nodiscard]] expected<accounting> finish();

private:
    struct pods_read;
    std::unique_ptr<pods_read> read_;
};

} // namespace vgputraces
