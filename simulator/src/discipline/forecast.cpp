#include "vgpusim/discipline/forecast.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "vgpualloc/model/host_rules.hpp"
#include "vgpualloc/model/trial.hpp"
#include "vgpusim/discipline/whole_devices.hpp"
#include "vgpusim/engine/scheduling_context.hpp"

namespace vgpusim {

using vgpualloc::device_request;
using vgpualloc::placement;

namespace {

constexpr ticks never = ticks::max();
constexpr ticks always{std::numeric_limits<std::int64_t>::min()}; ///< it could now, and could before

} // namespace

/// The least of many times, one of which changes at a time.
class release_forecast::time_tree {
public:
    explicit time_tree(std::size_t size) {
        while (leaves_ < size) leaves_ *= 2;
        least_.assign(2 * leaves_, never);
    }
    [[nodiscard]] ticks least() const noexcept { return least_[1]; }
    [[nodiscard]] ticks at(std::size_t position) const noexcept { return least_[leaves_ + position]; }
    void set(std::size_t position, ticks time) noexcept {
        std::size_t at = leaves_ + position;
        least_[at] = time;
        for (at /= 2; at > 0; at /= 2) least_[at] = std::min(least_[2 * at], least_[2 * at + 1]);
    }

private:
    std::size_t leaves_ = 1;
    std::vector<ticks> least_;
};

/// For one unit of a request, whatever the number of devices: from when each device could serve it.
struct release_forecast::unit_times {
    device_request unit;
    bool takes_whole_devices = false; ///< a device that serves a unit serves nothing else
    std::vector<ticks> by_device;
    std::size_t changes_read = 0;
};

/// For a request: from when each node could serve it.
struct release_forecast::request_times {
    const pod_request* request = nullptr;
    unit_times* unit = nullptr; ///< null: it asks for no device
    time_tree by_node;
    bool complete = false;
    std::size_t changes_read = 0;
};

release_forecast::release_forecast() = default;
release_forecast::~release_forecast() = default;

void release_forecast::prepare(scheduling_context& run) {
    if (!first_device_.empty()) return;
    const auto& nodes = run.book().nodes().nodes;
    std::size_t devices = 0;
    for (const auto& node : nodes) {
        first_device_.push_back(devices);
        devices += node.devices.size();
    }
    first_device_.push_back(devices);
    parts_.resize(devices);
    pods_.resize(nodes.size());
    refreshed_in_.resize(nodes.size());
    requests_.resize(run.input().requests.size());
}

void release_forecast::on_start(std::uint32_t pod, ticks planned_end, scheduling_context& run) {
    prepare(run);
    const placement& where = run.book().booking_of(pod_id{pod}).where;
    pods_[where.node.at()].push_back({.end = planned_end, .pod = pod});
    changed_nodes_.push_back(where.node.value());
    for (const auto& share : where.shares) {
        const std::size_t device = flat(where.node, share.device);
        parts_[device].push_back({.end = planned_end, .pod = pod, .part = share.part});
        changed_devices_.push_back(static_cast<std::uint32_t>(device));
    }
}

bool release_forecast::on_end(std::uint32_t pod, scheduling_context& run) {
    const placement& where = run.book().booking_of(pod_id{pod}).where;
    auto& pods = pods_[where.node.at()];
    const auto ended = std::ranges::find(pods, pod, &running_pod::pod);
    const bool as_planned = ended->end == run.now();
    if (!as_planned) known_job_.reset();
    pods.erase(ended);
    changed_nodes_.push_back(where.node.value());
    for (const auto& share : where.shares) {
        const std::size_t device = flat(where.node, share.device);
        std::erase_if(parts_[device], [pod](const running_part& part) { return part.pod == pod; });
        changed_devices_.push_back(static_cast<std::uint32_t>(device));
    }
    return as_planned;
}

void release_forecast::on_cluster_change() {
    // Rare beside starts and ends, and it may concern every device of a node: all tables are made anew.
    known_job_.reset();
    units_.clear();
    for (auto& times : requests_) times.reset();
}

// ---- tables

ticks release_forecast::device_time(const device_request& unit, node_index node, device_index device,
                                    scheduling_context& run) const {
    const auto& book = run.book();
    const auto& spec = book.nodes().spec_of(node, device);
    auto state = book.devices(node)[device.at()];
    const auto service = book.services(node)[device.at()];
    if (service != vgpualloc::service_state::in_service || vgpualloc::why_never(spec, unit) != rejection_code::none) {
        return never;
    }
    if (spec.mode->why_not(spec, state, unit).code == rejection_code::none) return always;
    const auto& parts = parts_[flat(node, device)];
    std::vector<const running_part*> by_end;
    for (const running_part& part : parts) by_end.push_back(&part);
    std::ranges::sort(by_end, {}, [](const running_part* part) { return part->end; });
    for (std::size_t i = 0; i < by_end.size(); ++i) {
        if (by_end[i]->end == never) return never;
        state = spec.mode->without(spec, state, by_end[i]->part);
        if (i + 1 < by_end.size() && by_end[i + 1]->end == by_end[i]->end) continue;
        if (spec.mode->why_not(spec, state, unit).code == rejection_code::none) return by_end[i]->end;
    }
    return never;
}

ticks release_forecast::host_time(node_index node, const pod_request& request, scheduling_context& run) const {
    const auto& book = run.book();
    const auto& described = book.nodes().nodes[node.at()];
    if (vgpualloc::why_not_host(request.rules, described.host, described.name) != rejection_code::none) return never;
    if (book.why_not_host(node, request.cpu, request.memory).code == rejection_code::none) return always;
    auto cpu = book.host(node).cpu;
    auto memory = book.host(node).memory;
    auto count = book.host(node).pods;
    std::vector<running_pod> by_end = pods_[node.at()];
    std::ranges::sort(by_end, {}, &running_pod::end);
    for (const auto& [end, pod] : by_end) {
        if (end == never) return never;
        const pod_request& ending = run.request_of(pod);
        cpu -= ending.cpu;
        memory -= ending.memory;
        --count;
        if (cpu + request.cpu <= described.cpu && memory + request.memory <= described.memory &&
            count < described.pods_max) {
            return end;
        }
    }
    return never;
}

/// `devices`: from when each device of the node could serve one unit.
ticks release_forecast::node_time(const pod_request& request, node_index node, std::span<const ticks> devices,
                                  scheduling_context& run) {
    const ticks host = host_time(node, request, run);
    if (host == never || request.containers.empty()) return host;
    const auto wanted = static_cast<std::size_t>(request.containers.front().count);
    if (wanted == 0) return host;
    if (wanted > devices.size()) return never;
    scratch_.assign(devices.begin(), devices.end());
    const auto last = scratch_.begin() + static_cast<std::ptrdiff_t>(wanted - 1);
    std::nth_element(scratch_.begin(), last, scratch_.end());
    return std::max(host, *last);
}

release_forecast::unit_times& release_forecast::unit_of(const device_request& container, scheduling_context& run) {
    device_request unit = container;
    unit.count = 1;
    for (const auto& known : units_) {
        if (known->unit == unit) return *known;
    }
    const bool whole = takes_whole_devices(unit, run.book().nodes());
    units_.push_back(std::make_unique<unit_times>(
        unit_times{.unit = std::move(unit), .takes_whole_devices = whole, .by_device = {}}));
    return *units_.back();
}

void release_forecast::refresh(unit_times& unit, scheduling_context& run) {
    const auto renew = [&](std::size_t node, std::size_t device) {
        unit.by_device[device] =
            device_time(unit.unit, node_index{node}, device_index{device - first_device_[node]}, run);
    };
    if (unit.by_device.empty()) {
        unit.by_device.resize(parts_.size());
        for (std::size_t node = 0; node + 1 < first_device_.size(); ++node) {
            for (std::size_t device = first_device_[node]; device < first_device_[node + 1]; ++device) {
                renew(node, device);
            }
        }
    } else {
        for (std::size_t i = unit.changes_read; i < changed_devices_.size(); ++i) {
            const std::size_t device = changed_devices_[i];
            const auto after = std::ranges::upper_bound(first_device_, device);
            renew(static_cast<std::size_t>(after - first_device_.begin()) - 1, device);
        }
    }
    unit.changes_read = changed_devices_.size();
}

release_forecast::request_times& release_forecast::times_of(std::uint32_t pod, scheduling_context& run) {
    auto& times = requests_[run.jobs().request_of(pod)];
    if (times) return *times;
    times = std::make_unique<request_times>(
        request_times{.request = &run.request_of(pod), .by_node = time_tree{pods_.size()}});
    const auto& containers = times->request->containers;
    if (!containers.empty() && containers.front().count > 0) times->unit = &unit_of(containers.front(), run);
    return *times;
}

void release_forecast::refresh(request_times& times, scheduling_context& run) {
    if (times.unit != nullptr) refresh(*times.unit, run);
    const auto renew = [&](std::size_t node) {
        const auto devices = times.unit == nullptr ? std::span<const ticks>{} : devices_of(*times.unit, node);
        times.by_node.set(node, node_time(*times.request, node_index{node}, devices, run));
    };
    if (times.complete) {
        // A node that changed often since then is looked at once: at its last change.
        ++refreshes_;
        for (std::size_t i = changed_nodes_.size(); i-- > times.changes_read;) {
            if (std::exchange(refreshed_in_[changed_nodes_[i]], refreshes_) != refreshes_) renew(changed_nodes_[i]);
        }
    } else {
        for (std::size_t node = 0; node < pods_.size(); ++node) renew(node);
        times.complete = true;
    }
    times.changes_read = changed_nodes_.size();
}

std::span<const ticks> release_forecast::devices_of(const unit_times& unit, std::size_t node) const noexcept {
    return std::span{unit.by_device}.subspan(first_device_[node], first_device_[node + 1] - first_device_[node]);
}

std::vector<ticks> release_forecast::devices_with(const unit_times& unit, std::size_t node,
                                                  std::span<const placement> added, scheduling_context& run) const {
    const auto known = devices_of(unit, node);
    std::vector<ticks> devices{known.begin(), known.end()};
    for (const placement& where : added) {
        if (where.node.at() != node) continue;
        for (const auto& share : where.shares) {
            devices[share.device.at()] = device_time(unit.unit, where.node, share.device, run);
        }
    }
    return devices;
}

// ---- answers

bool release_forecast::is_plain(std::uint32_t job, scheduling_context& run) const {
    return run.jobs().pod_count(job) == 1 && takes_any_device(run.request_of(run.jobs().pod(job, 0)));
}

ticks release_forecast::earliest(std::uint32_t job, scheduling_context& run) {
    prepare(run);
    if (known_job_ != job) known_job_.reset();
    if (is_plain(job, run)) {
        request_times& times = times_of(run.jobs().pod(job, 0), run);
        refresh(times, run);
        return std::max(run.now(), times.by_node.least());
    }
    unit_times* const unit = whole_device_gang(job, run);
    return std::max(run.now(), unit != nullptr ? earliest_of_gang(job, *unit, run) : earliest_by_trial(job, run));
}

bool release_forecast::keeps(std::uint32_t job, ticks time, std::span<const placement> added, scheduling_context& run) {
    if (time == never) return true;
    if (is_plain(job, run)) {
        const bool kept = keeps_plain(run.jobs().pod(job, 0), time, added, run);
        look_again_at(added);
        return kept;
    }
    unit_times* const unit = whole_device_gang(job, run);
    if (unit == nullptr) return fits_at(job, time, run);
    refresh(*unit, run);
    const bool kept = gang_fits(job, *unit, time, added, run);
    look_again_at(added);
    return kept;
}

/// What the tables have learned while the ledger had these placements is of no use when they are gone.
void release_forecast::look_again_at(std::span<const placement> added) {
    for (const placement& where : added) {
        changed_nodes_.push_back(where.node.value());
        for (const auto& share : where.shares) {
            changed_devices_.push_back(static_cast<std::uint32_t>(flat(where.node, share.device)));
        }
    }
}

bool release_forecast::keeps_plain(std::uint32_t pod, ticks time, std::span<const placement> added,
                                   scheduling_context& run) {
    request_times& times = times_of(pod, run);
    refresh(times, run);
    std::vector<std::pair<std::size_t, ticks>> nodes; // that get something, and what the table says of them
    for (const placement& where : added) {
        if (std::ranges::find(nodes, where.node.at(), &std::pair<std::size_t, ticks>::first) != nodes.end()) continue;
        nodes.emplace_back(where.node.at(), times.by_node.at(where.node.at()));
    }
    bool kept = false;
    for (const auto& [node, before] : nodes) {
        std::vector<ticks> devices;
        if (times.unit != nullptr) devices = devices_with(*times.unit, node, added, run);
        kept = kept || node_time(*times.request, node_index{node}, devices, run) <= time;
        times.by_node.set(node, never);
    }
    kept = kept || times.by_node.least() <= time;
    for (const auto& [node, before] : nodes) times.by_node.set(node, before);
    return kept;
}

/// The table for the devices of a gang, each of whose pods takes so many whole devices and nothing of the host that
/// could run out; null for other jobs.
release_forecast::unit_times* release_forecast::whole_device_gang(std::uint32_t job, scheduling_context& run) {
    unit_times* unit = nullptr;
    for (std::uint32_t i = 0; i < run.jobs().pod_count(job); ++i) {
        const pod_request& request = run.request_of(run.jobs().pod(job, i));
        const bool counted = takes_any_device(request) && request.containers.size() == 1 && request.cpu.count() == 0 &&
                             request.memory.count() == 0 && request.containers.front().count > 0;
        if (!counted) return nullptr;
        unit_times& own = unit_of(request.containers.front(), run);
        if (!own.takes_whole_devices || (unit != nullptr && unit != &own)) return nullptr;
        unit = &own;
    }
    return unit;
}

/// Whether enough of the gang's pods find their devices at `time`: the largest first, each on the node that has the
/// fewest devices left of those that have enough. With pods of one size, and one smaller, that finds room if there is.
bool release_forecast::gang_fits(std::uint32_t job, const unit_times& unit, ticks time,
                                 std::span<const placement> added, scheduling_context& run) const {
    const pod_request& first = run.request_of(run.jobs().pod(job, 0));
    std::vector<std::int64_t> free;
    for (std::size_t node = 0; node < pods_.size(); ++node) {
        const bool changed = std::ranges::any_of(added, [node](const auto& where) { return where.node.at() == node; });
        const auto count_of = [time](const auto& devices) {
            return std::ranges::count_if(devices, [time](ticks from) { return from <= time; });
        };
        const std::int64_t count =
            changed ? count_of(devices_with(unit, node, added, run)) : count_of(devices_of(unit, node));
        if (count > 0 && host_time(node_index{node}, first, run) != never) free.push_back(count);
    }
    std::vector<std::int64_t> wanted;
    for (std::uint32_t i = 0; i < run.jobs().pod_count(job); ++i) {
        wanted.push_back(run.request_of(run.jobs().pod(job, i)).containers.front().count);
    }
    std::ranges::sort(wanted, std::greater{});
    std::uint32_t placed = 0;
    for (const std::int64_t count : wanted) {
        std::int64_t* best = nullptr;
        for (std::int64_t& left : free) {
            if (left >= count && (best == nullptr || left < *best)) best = &left;
        }
        if (best == nullptr) continue;
        *best -= count;
        ++placed;
    }
    return placed >= run.jobs().minimum(job);
}

ticks release_forecast::earliest_of_gang(std::uint32_t job, unit_times& unit, scheduling_context& run) {
    refresh(unit, run);
    std::vector<ticks> times = unit.by_device;
    std::ranges::sort(times);
    const auto repeated = std::ranges::unique(times);
    times.erase(repeated.begin(), repeated.end());
    const auto first = std::ranges::partition_point(
        times, [&](ticks time) { return time < never && !gang_fits(job, unit, time, {}, run); });
    return first == times.end() ? never : *first;
}

/// Whether the job can be placed when all that is planned to end by `time` has ended.
bool release_forecast::fits_at(std::uint32_t job, ticks time, scheduling_context& run) {
    vgpualloc::ledger& book = run.book();
    const vgpualloc::trial future{book};
    for (const auto& pods : pods_) {
        for (const auto& [end, pod] : pods) {
            if (end <= time && book.is_committed(pod_id{pod})) book.release(pod_id{pod});
        }
    }
    std::uint32_t placed = 0;
    const std::uint32_t count = run.jobs().pod_count(job);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t pod = run.jobs().pod(job, i);
        if (run.alloc().place(book, pod_id{pod}, run.request_id_of(pod))) ++placed;
    }
    return placed >= run.jobs().minimum(job);
}

ticks release_forecast::earliest_by_trial(std::uint32_t job, scheduling_context& run) {
    if (known_job_ == job) return known_time_;
    std::vector<ticks> ends;
    for (const auto& pods : pods_) {
        for (const auto& running : pods) {
            if (running.end != never) ends.push_back(running.end);
        }
    }
    std::ranges::sort(ends);
    const auto repeated = std::ranges::unique(ends);
    ends.erase(repeated.begin(), repeated.end());
    std::size_t low = 0;
    std::size_t high = ends.size();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (fits_at(job, ends[middle], run)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    known_job_ = job;
    known_time_ = low == ends.size() ? never : ends[low];
    return known_time_;
}

} // namespace vgpusim
