#include "vgpusim/workload/cluster_start.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgputraces/iso_time.hpp"

namespace vgpusim {

namespace kube = vgpualloc::kube;

namespace {

/// Kinds whose pods come and go one by one. Pods of another owner end together.
constexpr std::array<std::string_view, 4> kinds_of_single_pods{"ReplicaSet", "StatefulSet", "DaemonSet",
                                                               "ReplicationController"};

/// How long pods of some classes last.
struct known_durations {
    std::vector<ticks> ending{}; ///< ascending
    std::size_t staying = 0;     ///< rows without a duration

    void add(const known_durations& other) {
        ending.insert(ending.end(), other.ending.begin(), other.ending.end());
        staying += other.staying;
    }
};

/// The durations of the table, by what pods ask for.
class duration_book {
public:
    duration_book(const vgputraces::arrival_table& arrivals, std::span<const pod_class> classes) {
        std::map<std::string_view, known_durations> by_name;
        for (const auto& row : arrivals.rows) {
            known_durations& of_class = by_name[arrivals.classes[row.pod_class]];
            if (row.duration) {
                of_class.ending.push_back(*row.duration);
            } else {
                ++of_class.staying;
            }
        }
        for (const pod_class& candidate : classes) {
            const auto entry = by_name.find(candidate.name);
            if (entry == by_name.end()) continue;
            for (const pod_template& part : candidate.templates) {
                const auto& request = part.request;
                by_pod_[{request.cpu, request.memory, request.containers}].add(entry->second);
                by_devices_[request.containers].add(entry->second);
            }
        }
        for (auto& [request, durations] : by_pod_) std::ranges::sort(durations.ending);
        for (auto& [containers, durations] : by_devices_) std::ranges::sort(durations.ending);
    }

    /// Of pods that ask for the same or, without any, for the same devices. Null: there are none.
    [[nodiscard]] const known_durations* of(const pod_request& request) const {
        const auto same_pod = by_pod_.find({request.cpu, request.memory, request.containers});
        if (same_pod != by_pod_.end()) return &same_pod->second;
        const auto same_devices = by_devices_.find(request.containers);
        return same_devices == by_devices_.end() ? nullptr : &same_devices->second;
    }

private:
    using devices = std::vector<vgpualloc::device_request>;

    std::map<std::tuple<vgpualloc::milli_cpu, vgpualloc::bytes, devices>, known_durations> by_pod_;
    std::map<devices, known_durations> by_devices_;
};

std::optional<ticks> begin_of(const kube::manifest& pod) {
    const auto started = vgputraces::iso_time(pod.started);
    return started ? started : vgputraces::iso_time(pod.created);
}

class start_builder {
public:
    start_builder(const kube::snapshot& state, std::span<const kube::manifest> objects, const duration_book& durations,
                  const pod_ends& ends)
        : state_{&state}, durations_{&durations}, ends_{&ends} {
        for (const kube::manifest& object : objects) {
            if (object.kind != "Pod") continue;
            pods_.emplace(kube::full_name_of(object), &object);
            if (const auto begin = begin_of(object)) now_ = std::max(now_, *begin);
        }
        for (const auto& entry : ends.known) known_.emplace(entry.pod, &entry);
    }

    expected<cluster_start> build() {
        start_.nodes = state_->nodes();
        auto& nodes = start_.nodes.nodes;
        while (!nodes.empty() && !state_->book->is_present(node_index{nodes.size() - 1})) nodes.pop_back();
        for (std::size_t i = 0; i < state_->bound.size(); ++i) {
            const kube::snapshot_pod& pod = state_->bound[i].pod;
            if (!state_->book->is_live(vgpualloc::pod_id{i})) {
                add_waiting(pod);
                continue;
            }
            const auto& booking = state_->book->booking_of(vgpualloc::pod_id{i});
            if (booking.where.shares.empty()) {
                take_from_host(booking);
            } else {
                start_.running.push_back(running_pod(pod, booking.where));
            }
        }
        for (const kube::snapshot_pod& pod : state_->pending) add_waiting(pod);
        start_.counts.running = std::ssize(start_.running);
        start_.counts.waiting = std::ssize(start_.waiting);
        if (auto checked = check_known(); !checked) return unexpected(std::move(checked).error());
        return std::move(start_);
    }

private:
    /// Pods without devices stay to the end of the run.
    void take_from_host(const vgpualloc::booking& booking) {
        vgpualloc::node& node = start_.nodes.nodes[booking.where.node.at()];
        node.cpu = std::max(vgpualloc::milli_cpu{}, node.cpu - booking.cpu);
        node.memory = std::max(vgpualloc::bytes{}, node.memory - booking.memory);
        node.pods_max = std::max(std::int64_t{0}, node.pods_max - 1);
    }

    [[nodiscard]] const kube::manifest* object_of(const kube::snapshot_pod& pod) const {
        const auto entry = pods_.find(pod.full_name());
        return entry == pods_.end() ? nullptr : entry->second;
    }

    [[nodiscard]] cluster_pod pod_of(const kube::snapshot_pod& pod) const {
        using priorities = std::numeric_limits<std::int32_t>;
        const kube::manifest* const object = object_of(pod);
        const std::int64_t priority = object == nullptr ? 0 : object->priority;
        cluster_pod result{.name = pod.full_name(),
                           .request = pod.request,
                           .priority = static_cast<std::int32_t>(
                               std::clamp<std::int64_t>(priority, priorities::min(), priorities::max()))};
        result.request.peers = {}; // a run does not look at rules about other pods
        return result;
    }

    [[nodiscard]] cluster_pod running_pod(const kube::snapshot_pod& pod, const vgpualloc::placement& where) {
        cluster_pod result = pod_of(pod);
        result.where = where;
        if (ends_->from == pod_ends::source::table) {
            const auto entry = known_.find(result.name);
            if (entry != known_.end()) result.duration = entry->second->end;
        } else if (ends_->from == pod_ends::source::drawn) {
            const kube::manifest* const object = object_of(pod);
            const auto begin = object == nullptr ? std::nullopt : begin_of(*object);
            result.duration = drawn_end(result, pod, begin ? now_ - *begin : ticks{0});
        }
        return result;
    }

    void add_waiting(const kube::snapshot_pod& pod) {
        if (pod.request.containers.empty()) return;
        if (pod.failure || pod.unserved) {
            ++start_.counts.unreadable;
        } else if (!pod.gates.empty() || pod.queue_hold != nullptr) {
            ++start_.counts.held_back;
        } else {
            cluster_pod waiting = pod_of(pod);
            if (ends_->from == pod_ends::source::drawn) {
                const known_durations* const durations = durations_->of(waiting.request);
                if (durations == nullptr) ++start_.counts.waiting_of_no_class;
                if (durations != nullptr) waiting.duration = draw(*durations, waiting, pod, ticks{0});
            }
            start_.waiting.push_back(std::move(waiting));
        }
    }

    /// What is left of a running pod's duration.
    [[nodiscard]] std::optional<ticks> drawn_end(const cluster_pod& running, const kube::snapshot_pod& pod, ticks age) {
        const known_durations* const durations = durations_->of(running.request);
        if (durations == nullptr) {
            ++start_.counts.of_no_class;
            return std::nullopt;
        }
        if (durations->staying == 0 && (durations->ending.empty() || durations->ending.back() <= age)) {
            ++start_.counts.outlived;
            return std::nullopt;
        }
        const auto duration = draw(*durations, running, pod, age);
        return duration ? std::optional{*duration - age} : std::nullopt;
    }

    /// One of the rows that last longer than `age`, all alike likely; none if it stays, or there is no such row.
    [[nodiscard]] std::optional<ticks> draw(const known_durations& durations, const cluster_pod& drawn_for,
                                            const kube::snapshot_pod& pod, ticks age) const {
        const auto longer = std::ranges::upper_bound(durations.ending, age);
        const auto ending = static_cast<std::uint64_t>(durations.ending.end() - longer);
        const std::uint64_t rows = ending + durations.staying;
        if (rows == 0) return std::nullopt;
        const kube::manifest* const object = object_of(pod);
        const bool is_of_group =
            object != nullptr && !object->controller.empty() &&
            std::ranges::find(kinds_of_single_pods, object->controller) == kinds_of_single_pods.end();
        const std::string key =
            is_of_group ? object->controller + " " + pod.ns + "/" + object->controller_name : "Pod " + drawn_for.name;
        const std::uint64_t row = vgpualloc::rng{ends_->seed}.fork("end of " + key).below(rows);
        if (row >= ending) return std::nullopt;
        return *(longer + static_cast<std::ptrdiff_t>(row));
    }

    [[nodiscard]] expected<void> check_known() const {
        std::unordered_set<std::string_view> names; // only looked up, never walked
        for (const cluster_pod& running : start_.running) names.insert(running.name);
        for (const auto& entry : ends_->known) {
            if (names.contains(entry.pod)) continue;
            return unexpected(bad_value(error_code::unknown_name, "pod", entry.pod,
                                        "a pod with devices that runs in the cluster, as namespace/name")
                                  .at(ends_->table_name + ":" + std::to_string(entry.line)));
        }
        return {};
    }

    const kube::snapshot* state_;
    const duration_book* durations_;
    const pod_ends* ends_;
    std::unordered_map<std::string, const kube::manifest*> pods_;       // only looked up, never walked
    std::unordered_map<std::string, const vgputraces::pod_end*> known_; // likewise
    ticks now_{};
    cluster_start start_;
};

} // namespace

expected<cluster_start> start_of(const kube::snapshot& state, std::span<const kube::manifest> objects,
                                 const vgputraces::arrival_table& arrivals, std::span<const pod_class> classes,
                                 const pod_ends& ends) {
    const duration_book durations{arrivals, classes};
    return start_builder{state, objects, durations, ends}.build();
}

std::vector<error> warnings_of(const start_counts& counts, const std::string& source) {
    std::vector<error> warnings;
    const auto warn = [&](std::int64_t pods, const std::string& what) {
        if (pods == 0) return;
        warnings.push_back({.code = error_code::unsupported,
                            .where = source,
                            .field = "",
                            .value = "",
                            .expected = what + ": " + std::to_string(pods)});
    };
    warn(counts.of_no_class, "running pods that stay to the end, as no row of the table asks for the same devices");
    warn(counts.waiting_of_no_class,
         "waiting pods that stay once they run, as no row of the table asks for the same devices");
    warn(counts.outlived,
         "running pods that stay to the end, as they have run longer than every row that asks for the same");
    warn(counts.held_back, "waiting pods that are left out, as a gate or a queue holds them back");
    warn(counts.unreadable, "waiting pods that are left out, as what they ask for cannot be read");
    return warnings;
}

} // namespace vgpusim
