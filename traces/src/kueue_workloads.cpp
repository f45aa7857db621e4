#include "vgputraces/kueue_workloads.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "fields.hpp"
#include "pod_requests.hpp"
#include "vgpuformats/json.hpp"

namespace vgputraces {

/// Why a Workload is not replayed.
enum class kueue_omission : std::uint8_t { none, not_admitted, no_pods };

namespace {

constexpr std::array<const char*, 3> kueue_omission_words{
    "", "they are not admitted: they wait, were evicted, or finished without it", "their pod sets have no pods"};

constexpr std::int64_t pods_of_set_max = 100'000;

/// A condition that is true.
std::optional<cursor> true_condition(const cursor& status, std::string_view type) {
    if (!status.has("conditions")) return std::nullopt;
    for (const cursor& condition : status.at("conditions").items(0)) {
        if (condition.maybe_text("type") == type && condition.maybe_text("status") == "True") return condition;
    }
    return std::nullopt;
}

bool has_condition(const cursor& status, std::string_view type) {
    if (!status.has("conditions")) return false;
    return std::ranges::any_of(status.at("conditions").items(0),
                               [&](const cursor& condition) { return condition.maybe_text("type") == type; });
}

/// How many pods of each set were admitted, which may be fewer than the set has.
std::map<std::string, std::int64_t> admitted_counts(const cursor& status) {
    std::map<std::string, std::int64_t> counts;
    if (!status.has("admission") || !status.at("admission").has("podSetAssignments")) return counts;
    for (const cursor& assignment : status.at("admission").at("podSetAssignments").items(0)) {
        const auto count = assignment.maybe_integer("count", {0, pods_of_set_max});
        if (count) counts.emplace(assignment.maybe_text("name"), *count);
    }
    return counts;
}

/// What all pod sets of a Workload have in common.
accounted_job common_of(const cursor& workload) {
    const cursor metadata = workload.at("metadata");
    const cursor spec = workload.at("spec");
    accounted_job job;
    job.user = table_text(metadata.at("namespace"));
    job.id = job.user + "/" + table_text(metadata.at("name"));
    if (metadata.has("ownerReferences")) {
        for (const cursor& owner : metadata.at("ownerReferences").items(0)) {
            if (job.owner.empty()) job.owner = table_text(owner.at("kind")) + "/" + table_text(owner.at("name"));
        }
    }
    if (spec.has("queueName")) job.queue = table_text(spec.at("queueName"));
    if (const auto limit = spec.maybe_integer("maximumExecutionTimeSeconds", {0, seconds_max})) {
        job.limit = ticks{*limit * ticks_per_second.count()};
    }
    job.arrival = required_time(metadata, "creationTimestamp");
    return job;
}

/// Whether it was admitted; its times in `job` then.
bool read_workload_times(const cursor& status, accounted_job& job) {
    constexpr std::string_view changed = "lastTransitionTime";
    auto admitted = true_condition(status, "Admitted");
    if (!admitted && !has_condition(status, "Admitted")) admitted = true_condition(status, "QuotaReserved");
    if (!admitted) return false;
    const auto finished = true_condition(status, "Finished");
    job.start = required_time(*admitted, changed);
    job.arrival = std::min(job.arrival, job.start);
    job.is_running = !finished;
    job.end = finished ? required_time(*finished, changed) : job.start;
    if (job.end < job.start) {
        finished->at(changed).fail(error_code::out_of_range, "a time not before that of Admitted");
    }
    return true;
}

} // namespace

struct kueue_reader::workloads_read {
    row_options options;
    accounting result{};
    struct read_once {
        kueue_omission omission = kueue_omission::none;
        std::vector<accounted_job> jobs{};
    };
    std::map<std::string, read_once> by_id{}; ///< as it was in the last text that has it
    std::map<std::string, std::int64_t> other_kinds{};
    ticks last{}; ///< of all times, by which what runs has run

    [[nodiscard]] expected<void> add_object(const document& object, const std::string& name) {
        std::optional<error> failure;
        const cursor from{object, name, failure, vgpuformats::place_style::line};
        const std::string kind = from.at("kind").filled_text();
        if (!failure && (kind != "Workload" || !from.maybe_text("apiVersion").starts_with("kueue.x-k8s.io/"))) {
            ++other_kinds[kind];
            return {};
        }
        ++result.rows;
        std::vector<accounted_job> jobs;
        std::string id;
        const kueue_omission omission = failure ? kueue_omission::none : read_workload(from, id, jobs);
        if (failure) return result.skipped.take(*std::move(failure), options);
        by_id.insert_or_assign(id, read_once{.omission = omission, .jobs = std::move(jobs)});
        return {};
    }

    [[nodiscard]] kueue_omission read_workload(const cursor& workload, std::string& id,
                                               std::vector<accounted_job>& jobs) {
        accounted_job common = common_of(workload);
        id = common.id;
        common.row = result.rows - 1;
        const bool has_status = workload.has("status");
        const bool is_admitted = has_status && read_workload_times(workload.at("status"), common);
        const auto counts = has_status ? admitted_counts(workload.at("status")) : std::map<std::string, std::int64_t>{};
        for (const cursor& set : workload.at("spec").at("podSets").items(0)) {
            const auto count = counts.find(set.maybe_text("name"));
            accounted_job job = common;
            job.pods = count == counts.end() ? set.at("count").integer({0, pods_of_set_max}) : count->second;
            if (job.pods == 0) continue;
            set_containers(job, containers_in(set.at("template").at("spec")));
            jobs.push_back(std::move(job));
        }
        if (workload.failed()) return kueue_omission::none;
        last = std::max({last, common.arrival, common.start, common.end});
        if (!is_admitted) return kueue_omission::not_admitted;
        for (std::size_t i = 0; jobs.size() > 1 && i < jobs.size(); ++i) {
            jobs[i].gang = common.id;
            jobs[i].counted_as = common.id;
            jobs[i].id += "-" + std::to_string(i);
        }
        return jobs.empty() ? kueue_omission::no_pods : kueue_omission::none;
    }
};

kueue_reader::kueue_reader(const row_options& options)
    : read_{std::make_unique<workloads_read>(workloads_read{.options = options})} {}
kueue_reader::~kueue_reader() = default;

expected<void> kueue_reader::add(const vgpuformats::list_content& content, const std::string& name) {
    if (content.table != nullptr) return unexpected(vgpuformats::columns_not_taken(name));
    vgpualloc::stop_signal stop = content.stop;
    const auto objects = vgpuformats::parse_json_stream(content.text, name);
    if (!objects) return unexpected(objects.error());
    for (const document& object : *objects) {
        if (stop.poll()) return unexpected(vgpualloc::stop_signal::stopped());
        auto added = for_each_object(object, name, [&](const document& item) { return read_->add_object(item, name); });
        if (!added) return added;
    }
    return {};
}

expected<accounting> kueue_reader::finish() {
    accounting& result = read_->result;
    result.source = accounting_source::kueue;
    std::array<std::int64_t, kueue_omission_words.size()> omitted{};
    for (auto& [id, workload] : read_->by_id) {
        ++omitted[static_cast<std::size_t>(workload.omission)];
        if (workload.omission == kueue_omission::none)
            std::ranges::move(workload.jobs, std::back_inserter(result.jobs));
    }
    for (accounted_job& job : result.jobs) {
        if (job.is_running) job.end = std::max(job.start, read_->last);
        job.elapsed = job.end - job.start;
    }
    for (std::size_t i = 1; i < kueue_omission_words.size(); ++i) {
        if (omitted[i] > 0) result.left_out.push_back({.reason = kueue_omission_words[i], .count = omitted[i]});
    }
    for (const auto& [kind, count] : read_->other_kinds) {
        result.notes.push_back("objects that are no Workloads: " + kind + " (" + std::to_string(count) + ")");
    }
    if (result.jobs.empty()) {
        return unexpected(bad_input(error_code::missing, "", "missing", "at least one Workload that was admitted"));
    }
    std::ranges::stable_sort(result.jobs, {}, &accounted_job::arrival);
    return std::move(result);
}

} // namespace vgputraces
