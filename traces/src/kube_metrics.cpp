#include "vgputraces/kube_metrics.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "device_resources.hpp"
#include "fields.hpp"
#include "pod_runs.hpp"
#include "pod_series.hpp"
#include "prometheus_answer.hpp"
#include "time_text.hpp"

namespace vgputraces {

namespace {

constexpr std::string_view requests_metric = "kube_pod_container_resource_requests";
constexpr std::string_view phase_metric = "kube_pod_status_phase";
constexpr std::string_view owner_metric = "kube_pod_owner";
constexpr std::string_view labels_metric = "kube_pod_labels";
constexpr std::array<std::string_view, pod_time_count> time_metrics{"kube_pod_created", "kube_pod_start_time",
                                                                    "kube_pod_completion_time"};
/// Labels of pods that name a queue, as kube-state-metrics calls them: Kueue's, Volcano's, YuniKorn's.
constexpr std::array<std::string_view, 3> queue_labels{"label_kueue_x_k8s_io_queue_name",
                                                       "label_scheduling_volcano_sh_queue_name", "label_queue"};

/// One series, and where it is.
class series_view {
public:
    series_view(const metric_series& series, const std::string& file) : series_{&series}, file_{&file} {}

    [[nodiscard]] std::string_view label(std::string_view name) const {
        const auto at = series_->labels.find(name);
        return at == series_->labels.end() ? std::string_view{} : std::string_view{at->second};
    }
    /// A label of the pod. Where Prometheus does not honor the labels of what it scrapes, the plain one is that of
    /// kube-state-metrics' own pod.
    [[nodiscard]] std::string_view pod_label(std::string_view name) const {
        const auto exported = series_->labels.find("exported_" + std::string{name});
        return exported == series_->labels.end() ? label(name) : std::string_view{exported->second};
    }
    /// A label that has to be there, and goes into tables.
    [[nodiscard]] expected<std::string> name_in(std::string_view name) const {
        const std::string_view text = pod_label(name);
        if (text.empty()) {
            return unexpected(
                bad_input(error_code::missing, field("metric." + std::string{name}), "missing",
                          "the label of a series of kube-state-metrics, not of an expression over such series")
                    .at(place()));
        }
        if (!is_table_text(text)) {
            return unexpected(failure("metric." + std::string{name}, text,
                                      "a name in UTF-8 without commas, quotes and control characters"));
        }
        return std::string{text};
    }
    [[nodiscard]] error failure_of_sample(std::size_t number, std::string expectation) const {
        return failure("values[" + std::to_string(number) + "]", series_->samples[number].value,
                       std::move(expectation));
    }
    [[nodiscard]] error failure(std::string_view key, std::string_view value, std::string expectation) const {
        return bad_value(error_code::malformed, field(key), value, std::move(expectation)).at(place());
    }
    [[nodiscard]] std::string place() const { return *file_ + ":" + std::to_string(series_->line); }
    [[nodiscard]] const std::vector<metric_sample>& samples() const { return series_->samples; }

    /// Calls `take` with the value and the time of every sample. Most values are those of the samples before.
    template <class Parse, class Take>
    [[nodiscard]] expected<void> for_each(const Parse& parse, const Take& take) const {
        decltype(parse(std::string_view{})) value{};
        std::string_view parsed;
        for (std::size_t i = 0; i < samples().size(); ++i) {
            const metric_sample& sample = samples()[i];
            if (i == 0 || sample.value != parsed) {
                value = parse(sample.value);
                parsed = sample.value;
                if (!value) return unexpected(failure_of_sample(i, value.error().expected));
            }
            take(*value, sample.time_ms);
        }
        return {};
    }

private:
    [[nodiscard]] std::string field(std::string_view key) const {
        return "result[" + std::to_string(series_->number) + "]." + std::string{key};
    }

    const metric_series* series_;
    const std::string* file_;
};

field_value<std::int64_t> parse_amount(std::string_view resource, std::string_view text) {
    constexpr std::int64_t cpus_of_container_max = 1'000'000;
    constexpr std::int64_t bytes_of_container_max = std::int64_t{1} << 50;
    constexpr std::int64_t milli = 1000;
    if (resource == "cpu") return parse_decimal(text, milli, cpus_of_container_max, "CPUs");
    if (resource == "memory") return parse_decimal(text, 1, bytes_of_container_max, "bytes");
    return parse_whole(text, 0, job_devices_max);
}

/// A flag of a state, which is 0 or 1.
field_value<std::int64_t> parse_flag(std::string_view text) { return parse_whole(text, 0, 1); }

} // namespace

struct kube_metrics_reader::pods_read {
    row_options options;
    std::int64_t series_count = 0;
    skipped_rows skipped{};
    pods_of_metrics pods{};
    std::map<std::string, std::int64_t> other_metrics{};
    std::map<std::string, std::int64_t> other_resources{};

    [[nodiscard]] expected<void> add_series(const series_view& series) {
        const auto metric = series.name_in("__name__");
        if (!metric) return unexpected(metric.error());
        const auto time = std::ranges::find(time_metrics, *metric);
        const bool is_known = *metric == requests_metric || *metric == phase_metric || *metric == owner_metric ||
                              *metric == labels_metric || time != time_metrics.end();
        if (!is_known) {
            ++other_metrics[*metric];
            return {};
        }
        const auto pod = pod_of(series);
        if (!pod) return unexpected(pod.error());
        if (time != time_metrics.end()) {
            return add_times(series, **pod, static_cast<pod_time>(time - time_metrics.begin()));
        }
        if (*metric == requests_metric) return add_requests(series, **pod);
        if (*metric == phase_metric) return add_phase(series, **pod);
        return add_labels(series, **pod);
    }

    void add_to_grid(const metric_series& series) {
        for (std::size_t i = 0; i < series.samples.size(); ++i) {
            const std::int64_t now = series.samples[i].time_ms;
            pods.grid.add(now);
            if (i > 0) pods.grid.note_distance(now - series.samples[i - 1].time_ms);
        }
    }

private:
    [[nodiscard]] expected<pod_series*> pod_of(const series_view& series) {
        auto space = series.name_in("namespace");
        if (!space) return unexpected(std::move(space).error());
        auto name = series.name_in("pod");
        if (!name) return unexpected(std::move(name).error());
        const std::string_view uid = series.pod_label("uid");
        pod_series& pod = pods.by_key[{*space, *name, std::string{uid}}];
        if (pod.name.empty()) {
            pod.space = *std::move(space);
            pod.name = *std::move(name);
            pod.has_uid = !uid.empty();
            pod.place = series.place();
        }
        return &pod;
    }

    [[nodiscard]] expected<void> add_requests(const series_view& series, pod_series& pod) {
        const auto label = series.name_in("resource");
        if (!label) return unexpected(label.error());
        const bool is_of_host = *label == "cpu" || *label == "memory";
        const auto resource = is_of_host ? std::optional{*label} : device_resource_of_label(*label);
        if (!resource) {
            ++other_resources[*label];
            return {};
        }
        pods.has_requests = true;
        std::vector<requested_at>& amounts = pod.requests[{std::string{series.pod_label("container")}, *resource}];
        std::size_t current = 0;
        return series.for_each([&](std::string_view text) { return parse_amount(*resource, text); },
                               [&](std::int64_t amount, std::int64_t time_ms) {
                                   if (current >= amounts.size() || amounts[current].amount != amount) {
                                       const auto at = std::ranges::find(amounts, amount, &requested_at::amount);
                                       current = static_cast<std::size_t>(at - amounts.begin());
                                       if (at == amounts.end()) amounts.push_back({.amount = amount});
                                   }
                                   amounts[current].times.add(time_ms);
                               });
    }

    [[nodiscard]] expected<void> add_phase(const series_view& series, pod_series& pod) {
        const auto phase = series.name_in("phase");
        if (!phase) return unexpected(phase.error());
        pods.has_phases = true;
        sample_times& times = *phase == "Running"                           ? pod.running
                              : *phase == "Succeeded" || *phase == "Failed" ? pod.ended
                                                                            : pod.others;
        return series.for_each(parse_flag, [&](std::int64_t is_in_phase, std::int64_t time_ms) {
            if (is_in_phase == 1) times.add(time_ms);
        });
    }

    [[nodiscard]] static expected<void> add_times(const series_view& series, pod_series& pod, pod_time which) {
        return series.for_each(parse_seconds,
                               [&](ticks value, std::int64_t time_ms) { pod.note(which, value, time_ms); });
    }

    [[nodiscard]] static expected<void> add_labels(const series_view& series, pod_series& pod) {
        const std::string_view owner = series.label("owner_name");
        if (pod.owner.empty() && !owner.empty() && owner != "<none>") {
            auto name = series.name_in("owner_name");
            if (!name) return unexpected(std::move(name).error());
            pod.owner = std::string{series.label("owner_kind")} + "/" + *name;
        }
        for (const std::string_view label : queue_labels) {
            if (!pod.queue.empty() || series.label(label).empty()) continue;
            auto name = series.name_in(label);
            if (!name) return unexpected(std::move(name).error());
            pod.queue = *std::move(name);
        }
        return {};
    }
};

kube_metrics_reader::kube_metrics_reader(const row_options& options)
    : read_{std::make_unique<pods_read>(pods_read{.options = options})} {}
kube_metrics_reader::~kube_metrics_reader() = default;

expected<void> kube_metrics_reader::add(const vgpuformats::list_content& content, const std::string& name) {
    if (content.table != nullptr) return unexpected(vgpuformats::columns_not_taken(name));
    vgpualloc::stop_signal stop = content.stop;
    prometheus_answer_reader answers{content.text, name};
    metric_series series;
    while (true) {
        if (stop.poll()) return unexpected(vgpualloc::stop_signal::stopped());
        const auto has_series = answers.next(series);
        if (!has_series) return unexpected(has_series.error());
        if (!*has_series) return {};
        ++read_->series_count;
        if (auto added = read_->add_series(series_view{series, name}); !added) {
            auto taken = read_->skipped.take(std::move(added).error(), read_->options);
            if (!taken) return unexpected(std::move(taken).error());
        } else {
            read_->add_to_grid(series);
        }
    }
}

expected<accounting> kube_metrics_reader::finish() {
    const auto in_words = [](const std::map<std::string, std::int64_t>& counts) {
        std::string words;
        for (const auto& [what, count] : counts) {
            words += (words.empty() ? "" : ", ") + what + " (" + std::to_string(count) + " series)";
        }
        return words;
    };
    auto result = accounting_of(read_->pods, read_->options, std::move(read_->skipped));
    if (!result) return result;
    result->rows = read_->series_count;
    if (!read_->other_resources.empty()) {
        result->notes.push_back("resources that are not read: " + in_words(read_->other_resources));
    }
    if (!read_->other_metrics.empty()) {
        result->notes.push_back("metrics that are not read: " + in_words(read_->other_metrics));
    }
    return result;
}

} // namespace vgputraces
