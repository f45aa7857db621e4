#include "vgputraces/audit_log.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fields.hpp"
#include "pod_requests.hpp"
#include "vgpuformats/json.hpp"

namespace vgputraces {

/// What an event says of a pod.
struct audited_pod_event {
    ticks time{};
    std::string pod{}; ///< "<namespace>/<name>"
    std::string uid{};
    bool is_create = false;
    std::optional<ticks> bound{};
    std::optional<ticks> ended{};   ///< by its phase
    std::optional<ticks> deleted{}; ///< or asked to go
    // Of an object with a spec:
    std::vector<accounted_container> containers{};
    std::optional<ticks> created{};
    std::string owner{};
    std::string queue{};
};

namespace {

struct audited_pod {
    std::string uid{};
    audited_pod_event sum{}; ///< of all its events
};

enum class audit_omission : std::uint8_t { none, no_object, never_bound };
constexpr std::array<const char*, 3> audit_omission_words{
    "", "no object of them with a spec is in the log (its level is below RequestResponse, or they are older)",
    "they were not bound to a node"};

constexpr std::array<const char*, 3> audited_queue_labels{"kueue.x-k8s.io/queue-name",
                                                          "scheduling.volcano.sh/queue-name", "queue"};

std::string audited_queue(const cursor& metadata) {
    for (const char* key : {"labels", "annotations"}) { // Volcano's is an annotation
        if (!metadata.has(key)) continue;
        for (const char* label : audited_queue_labels) {
            if (metadata.at(key).has(label)) return table_text(metadata.at(key).at(label));
        }
    }
    return "";
}

void read_status(const cursor& status, audited_pod_event& event) {
    const std::string phase = status.maybe_text("phase");
    if (phase != "Succeeded" && phase != "Failed") return;
    if (status.has("containerStatuses")) {
        for (const cursor& container : status.at("containerStatuses").items(0)) {
            if (!container.has("state") || !container.at("state").has("terminated")) continue;
            const auto finished = maybe_time(container.at("state").at("terminated"), "finishedAt");
            if (finished && (!event.ended || *finished > *event.ended)) event.ended = finished;
        }
    }
    if (!event.ended) event.ended = event.time;
}

/// When a pod was scheduled, by its object.
std::optional<ticks> scheduled_at(const cursor& pod, const audited_pod_event& event) {
    if (!pod.at("spec").has("nodeName")) return std::nullopt;
    if (!pod.has("status")) return event.created;
    const cursor status = pod.at("status");
    if (status.has("conditions")) {
        for (const cursor& condition : status.at("conditions").items(0)) {
            const bool is_scheduled =
                condition.maybe_text("type") == "PodScheduled" && condition.maybe_text("status") == "True";
            if (is_scheduled && condition.has("lastTransitionTime")) return maybe_time(condition, "lastTransitionTime");
        }
    }
    const auto started = maybe_time(status, "startTime");
    return started ? started : event.created;
}

void read_pod_object(const cursor& pod, audited_pod_event& event) {
    if (!pod.has("metadata") || !pod.has("spec") || !pod.at("spec").has("containers")) return;
    const cursor metadata = pod.at("metadata");
    if (event.uid.empty()) event.uid = metadata.maybe_text("uid");
    event.containers = containers_in(pod.at("spec"));
    event.created = maybe_time(metadata, "creationTimestamp");
    if (!event.created) event.created = event.time;
    if (metadata.has("ownerReferences")) {
        for (const cursor& owner : metadata.at("ownerReferences").items(0, 1000)) {
            if (event.owner.empty()) event.owner = table_text(owner.at("kind")) + "/" + table_text(owner.at("name"));
        }
    }
    event.queue = audited_queue(metadata);
    event.bound = scheduled_at(pod, event);
}

std::string pod_name_in(const cursor& event) {
    const cursor reference = event.at("objectRef");
    const std::string space = table_text(reference.at("namespace"));
    if (reference.has("name")) return space + "/" + table_text(reference.at("name"));
    if (event.has("responseObject") && event.at("responseObject").has("metadata")) {
        return space + "/" + table_text(event.at("responseObject").at("metadata").at("name"));
    }
    return ""; // generateName, of which only the response has what it became
}

bool has_failed(const cursor& event) {
    constexpr std::int64_t http_code_max = 999;
    constexpr std::int64_t first_not_success = 300;
    if (!event.has("responseStatus") || !event.at("responseStatus").has("code")) return false;
    return event.at("responseStatus").at("code").integer({0, http_code_max}) >= first_not_success;
}

/// Nothing if the event does not change a pod.
std::optional<audited_pod_event> event_in(const cursor& event) {
    if (event.at("stage").text() != "ResponseComplete" || !event.has("objectRef")) return std::nullopt;
    const cursor reference = event.at("objectRef");
    if (reference.maybe_text("resource") != "pods" || has_failed(event)) return std::nullopt;
    if (event.maybe_text("requestURI").find("dryRun=") != std::string::npos) return std::nullopt;
    const std::string verb = event.at("verb").text();
    const std::string part = reference.maybe_text("subresource");
    const bool is_change = verb == "patch" || verb == "update";
    const bool is_create = verb == "create" && part.empty();
    const bool is_binding = verb == "create" && part == "binding";
    const bool is_delete = (verb == "delete" && part.empty()) || (verb == "create" && part == "eviction");
    if (!is_create && !is_binding && !is_delete && !(is_change && part == "status")) return std::nullopt;
    audited_pod_event result{.is_create = is_create};
    result.time = required_time(event, "stageTimestamp");
    result.pod = pod_name_in(event);
    result.uid = reference.maybe_text("uid");
    if (is_binding) result.bound = result.time;
    if (is_delete) result.deleted = result.time;
    for (const char* key : {"requestObject", "responseObject"}) {
        if (is_binding || is_delete || !event.has(key)) continue;
        const cursor object = event.at(key);
        read_pod_object(object, result);
        if (object.has("status") && object.at("status").value()->is_map()) read_status(object.at("status"), result);
    }
    return result;
}

} // namespace

struct audit_log_reader::events_read {
    row_options options;
    std::vector<audited_pod_event> events{};
    accounting result{};
    std::int64_t nameless = 0;

    [[nodiscard]] expected<void> add_object(const document& object, const std::string& name) {
        std::optional<error> failure;
        const cursor from{object, name, failure, vgpuformats::place_style::line};
        ++result.rows;
        if (from.at("kind").text() != "Event" || !from.at("apiVersion").text().starts_with("audit.k8s.io/")) {
            from.at("apiVersion").fail(error_code::malformed, "audit.k8s.io/v1, of kind Event");
        }
        auto event = failure ? std::nullopt : event_in(from);
        if (failure) return result.skipped.take(*std::move(failure), options);
        if (event && event->pod.empty()) ++nameless;
        if (event && !event->pod.empty()) events.push_back(*std::move(event));
        return {};
    }

    /// Pods by their events, which are sorted.
    [[nodiscard]] std::vector<audited_pod> pods() const {
        std::vector<audited_pod> all;
        std::unordered_map<std::string, std::size_t> current; // by name; only looked up, never walked
        for (const audited_pod_event& event : events) {
            const auto [at, is_new] = current.try_emplace(event.pod, all.size());
            const bool is_other = !is_new && (event.is_create || (!event.uid.empty() && !all[at->second].uid.empty() &&
                                                                  event.uid != all[at->second].uid));
            if (is_other) at->second = all.size();
            if (at->second == all.size()) all.push_back({.sum = {.pod = event.pod}});
            add_to(all[at->second], event);
        }
        return all;
    }

    static void add_to(audited_pod& pod, const audited_pod_event& event) {
        audited_pod_event& sum = pod.sum;
        if (pod.uid.empty()) pod.uid = event.uid;
        if (!event.containers.empty() && sum.containers.empty()) {
            sum.containers = event.containers;
            sum.created = event.created;
            sum.owner = event.owner;
            sum.queue = event.queue;
        }
        if (!sum.bound) sum.bound = event.bound;
        if (!sum.ended) sum.ended = event.ended;
        if (event.deleted) sum.deleted = event.deleted; // the last one: kubelet's, once the containers have gone
    }
};

audit_log_reader::audit_log_reader(const row_options& options)
    : read_{std::make_unique<events_read>(events_read{.options = options})} {}
audit_log_reader::~audit_log_reader() = default;

expected<void> audit_log_reader::add(const vgpuformats::list_content& content, const std::string& name) {
    if (content.table != nullptr) return unexpected(vgpuformats::columns_not_taken(name));
    vgpualloc::stop_signal stop = content.stop;
    std::string_view text = content.text;
    for (std::int32_t line = 1; !text.empty(); ++line) {
        if (stop.poll()) return unexpected(vgpualloc::stop_signal::stopped());
        const std::string_view row = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(row.size() + 1, text.size()));
        if (row.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const auto object = vgpuformats::parse_json(row, name, vgpuformats::repeated_keys::kept, line);
        const auto add_one = [&](const document& event) { return read_->add_object(event, name); };
        auto added = object ? for_each_object(*object, name, add_one)
                            : read_->result.skipped.take(object.error(), read_->options);
        if (!added) return added;
    }
    return {};
}

expected<accounting> audit_log_reader::finish() {
    accounting& result = read_->result;
    result.source = accounting_source::audit;
    // At equal times, which a log with whole seconds may have, a pod is created before it is bound.
    std::ranges::stable_sort(read_->events, {},
                             [](const audited_pod_event& event) { return std::pair{event.time, !event.is_create}; });
    std::array<std::int64_t, audit_omission_words.size()> omitted{};
    std::unordered_map<std::string, std::int64_t> pods_of; // only looked up, never walked
    const ticks last = read_->events.empty() ? ticks{} : read_->events.back().time;
    std::int64_t by_status = 0;
    std::int64_t by_delete = 0;
    for (const audited_pod& pod : read_->pods()) {
        const audited_pod_event& sum = pod.sum;
        const audit_omission omission = sum.containers.empty() ? audit_omission::no_object
                                        : !sum.bound           ? audit_omission::never_bound
                                                               : audit_omission::none;
        if (omission != audit_omission::none) {
            ++omitted[static_cast<std::size_t>(omission)];
            continue;
        }
        const std::int64_t number = ++pods_of[sum.pod];
        accounted_job job{.id = number > 1 ? sum.pod + "." + std::to_string(number) : sum.pod,
                          .row = std::ssize(result.jobs),
                          .user = sum.pod.substr(0, sum.pod.find('/')),
                          .owner = sum.owner,
                          .queue = sum.queue,
                          .arrival = std::min(*sum.created, *sum.bound),
                          .start = *sum.bound,
                          .is_running = !sum.ended && !sum.deleted};
        job.end = std::max(job.start, sum.ended.value_or(sum.deleted.value_or(last)));
        job.elapsed = job.end - job.start;
        set_containers(job, sum.containers);
        by_status += sum.ended ? 1 : 0;
        by_delete += !sum.ended && sum.deleted ? 1 : 0;
        result.jobs.push_back(std::move(job));
    }
    for (std::size_t i = 0; i < omitted.size(); ++i) {
        if (omitted[i] > 0) result.left_out.push_back({.reason = audit_omission_words[i], .count = omitted[i]});
    }
    if (read_->nameless > 0) {
        result.left_out.push_back({.reason = "they were created with generateName, and the log has no responses "
                                             "(level RequestResponse), which have their names",
                                   .count = read_->nameless});
    }
    if (result.jobs.empty()) {
        return unexpected(bad_input(error_code::missing, "", "missing",
                                    "at least one pod that was bound, created at level RequestResponse"));
    }
    result.covered = covered_span{.begin = read_->events.front().time, .end = last};
    result.notes.push_back("ends: " + std::to_string(by_status) + " by the status, " + std::to_string(by_delete) +
                           " by the delete");
    std::ranges::stable_sort(result.jobs, {}, &accounted_job::arrival);
    return std::move(result);
}

} // namespace vgputraces
