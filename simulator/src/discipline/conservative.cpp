#include "vgpusim/discipline/conservative.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "vgpusim/discipline/whole_devices.hpp"
#include "vgpusim/engine/scheduling_context.hpp"

namespace vgpusim {

namespace {

/// How many whole devices the pod takes.
std::int64_t devices_of(const pod_request& request) noexcept {
    return request.containers.empty() ? 0 : request.containers.front().count;
}

/// Devices of a node that take pods.
std::int64_t capacity_of(node_index node, scheduling_context& run) {
    const auto& book = run.book();
    if (!book.nodes().nodes[node.at()].host.is_open()) return 0;
    return std::ranges::count(book.services(node), vgpualloc::service_state::in_service);
}

bool serves(const vgpualloc::device_spec& spec, const pod_request& request) {
    return vgpualloc::why_never(spec, request.containers.front()) == rejection_code::none;
}

/// The kinds of devices of every node that has several, each set once.
std::vector<std::vector<std::uint32_t>> mixtures_of_kinds(const vgpualloc::cluster& nodes) {
    std::set<std::vector<std::uint32_t>> mixtures;
    for (const auto& node : nodes.nodes) {
        std::vector<std::uint32_t> kinds;
        for (const auto& device : node.devices) {
            const auto kind = static_cast<std::uint32_t>(device.kind);
            if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
        }
        std::ranges::sort(kinds);
        if (kinds.size() > 1) mixtures.insert(std::move(kinds));
    }
    return {mixtures.begin(), mixtures.end()};
}

/// Of the devices that a pod has, those that the node's capacity counts.
std::int64_t devices_in_capacity(std::uint32_t pod, node_index node, scheduling_context& run) {
    const auto& book = run.book();
    if (!book.nodes().nodes[node.at()].host.is_open()) return 0;
    const auto services = book.services(node);
    const auto& shares = book.booking_of(pod_id{pod}).where.shares;
    return std::ranges::count_if(
        shares, [&](const auto& share) { return services[share.device.at()] == vgpualloc::service_state::in_service; });
}

} // namespace

expected<void> conservative::check(const simulation_input& input, const vgpualloc::cluster& nodes) {
    const std::vector<std::vector<std::uint32_t>> mixtures = mixtures_of_kinds(nodes);
    for (std::size_t i = 0; i < input.requests.size(); ++i) {
        const pod_request& request = input.requests[i];
        for (const auto& kinds : mixtures) {
            const auto is_served = [&](std::uint32_t kind) { return serves(nodes.kinds[kind], request); };
            if (request.containers.empty() || std::ranges::all_of(kinds, is_served) ||
                std::ranges::none_of(kinds, is_served))
                continue;
            return unexpected(bad_value(error_code::unsupported, "discipline", "conservative",
                                        "easy, or nodes of which all devices serve a pod or none: a plan counts "
                                        "the devices of a node"));
        }
        const bool counted = takes_any_device(request) &&
                             (request.containers.empty() || takes_whole_devices(request.containers.front(), nodes));
        if (counted) continue;
        const std::string name = i < input.request_names.size() ? " (class " + input.request_names[i] + ")" : "";
        return unexpected(
            bad_value(error_code::unsupported, "discipline", "conservative",
                      "easy, or pods that all take whole devices, in one container: a plan counts devices" + name));
    }
    return {};
}

void conservative::on_arrival(std::uint32_t job, scheduling_context& run) {
    if (turns_.empty()) turns_.resize(run.jobs().count());
    if (turns_[job] != 0) { // it was stopped and has its old place
        const auto after = std::ranges::upper_bound(queue_, turns_[job], {}, &planned_job::turn);
        queue_.insert(after, {.job = job, .turn = turns_[job]});
        plan_is_void_ = true;
        return;
    }
    if (const rejection_code why = run.why_never(job); why != rejection_code::none) {
        run.give_up(job, why);
        return;
    }
    turns_[job] = next_turn_++;
    queue_.push_back({.job = job, .turn = turns_[job]});
}

void conservative::on_start(std::uint32_t pod, ticks planned_end, scheduling_context& run) {
    running_[pod] = {.node = run.book().booking_of(pod_id{pod}).where.node, .end = planned_end};
    ends_.insert(planned_end);
    const ticks estimate = run.jobs().estimate(run.jobs().job_of(pod));
    const bool begins_later = estimate != ticks::max() && planned_end != run.now() + estimate;
    // One that starts after the others of its job has no place in the plan.
    if (begins_later || !is_starting_) plan_is_void_ = true;
}

void conservative::on_end(std::uint32_t pod, scheduling_context& run) {
    const auto ended = running_.find(pod);
    if (ended->second.end != run.now()) plan_is_void_ = true;
    ends_.erase(ends_.find(ended->second.end));
    running_.erase(ended);
    look_again_at_all();
}

void conservative::on_cluster_change(scheduling_context& /*run*/) {
    plan_is_void_ = true;
    look_again_at_all();
}

/// What has ended may be what those lacked that are not in the plan.
void conservative::look_again_at_all() {
    if (unfit_classes_.empty() && held_up_queues_.empty()) return;
    unfit_classes_.clear();
    held_up_queues_.clear();
    plan_is_void_ = true;
}

bool conservative::offers(std::size_t node, std::uint32_t pod, scheduling_context& run) {
    auto& known = offers_[run.jobs().request_of(pod)];
    if (known.empty()) {
        const auto& nodes = run.book().nodes();
        const pod_request& request = run.request_of(pod);
        for (const auto& described : nodes.nodes) {
            known.push_back(std::ranges::all_of(
                described.devices, [&](const auto& device) { return serves(nodes.kinds[device.kind], request); }));
        }
    }
    return known[node];
}

void conservative::plan_anew(scheduling_context& run) {
    plan_is_void_ = false;
    const std::size_t nodes = run.book().nodes().nodes.size();
    offers_.resize(run.input().requests.size());
    profiles_.clear();
    profiles_.reserve(nodes);
    for (std::size_t node = 0; node < nodes; ++node) {
        profiles_.emplace_back(run.now(), capacity_of(node_index{node}, run));
    }
    for (const auto& [pod, running] : running_) {
        // Who has outlived the estimate may end at any moment.
        const ticks left = running.end == ticks::max() ? running.end : std::max(ticks{1}, running.end - run.now());
        profiles_[running.node.at()].take(devices_in_capacity(pod, running.node, run), run.now(), left);
    }
    planned_ = 0;
    for (planned_job& next : queue_) {
        if (run.wants_stop()) return;
        plan(next, run);
        ++planned_;
    }
}

void conservative::plan(planned_job& next, scheduling_context& run) {
    next.start = ticks::max();
    next.nodes.clear();
    if (unfit_classes_.contains(run.jobs().class_of(next.job)) || held_up_queues_.contains(run.jobs().queue(next.job)))
        return;
    const ticks estimate = run.jobs().estimate(next.job);
    if (run.jobs().pod_count(next.job) > 1) return plan_gang(next, estimate, run);
    const std::uint32_t pod = run.jobs().pod(next.job, 0);
    const std::int64_t devices = devices_of(run.request_of(pod));
    if (devices == 0) { // nothing to plan
        next.start = run.now();
        return;
    }
    std::size_t best = 0;
    for (std::size_t node = 0; node < profiles_.size(); ++node) {
        if (!offers(node, pod, run)) continue;
        const ticks start = profiles_[node].find(devices, estimate, run.now());
        if (start >= next.start) continue;
        next.start = start;
        best = node;
        if (start == run.now()) break;
    }
    if (next.start == ticks::max()) return;
    next.nodes.push_back(node_index{best});
    take(next, estimate, run);
}

/// Whether enough of the gang's pods find their devices at that time, and on which nodes: as release_forecast counts
/// them.
bool conservative::place_gang(const planned_job& next, ticks time, ticks estimate, planned_nodes& nodes,
                              scheduling_context& run) const {
    std::vector<std::int64_t> free;
    for (const free_profile& profile : profiles_) free.push_back(profile.least(time, estimate));
    const std::uint32_t count = run.jobs().pod_count(next.job);
    std::vector<std::uint32_t> largest_first(count);
    std::iota(largest_first.begin(), largest_first.end(), 0U);
    const auto devices = [&](std::uint32_t i) { return devices_of(run.request_of(run.jobs().pod(next.job, i))); };
    std::ranges::stable_sort(largest_first, std::greater{}, devices);
    nodes.assign(count, std::nullopt);
    std::uint32_t placed = 0;
    for (const std::uint32_t member : largest_first) {
        const auto& offering = offers_[run.jobs().request_of(run.jobs().pod(next.job, member))];
        std::size_t best = free.size();
        for (std::size_t node = 0; node < free.size(); ++node) {
            if (!offering[node] || free[node] < devices(member)) continue;
            if (best == free.size() || free[node] < free[best]) best = node;
        }
        if (best == free.size()) continue;
        free[best] -= devices(member);
        nodes[member] = node_index{best};
        ++placed;
    }
    return placed >= run.jobs().minimum(next.job);
}

void conservative::plan_gang(planned_job& next, ticks estimate, scheduling_context& run) {
    for (std::uint32_t i = 0; i < run.jobs().pod_count(next.job); ++i) {
        const std::uint32_t pod = run.jobs().pod(next.job, i);
        if (devices_of(run.request_of(pod)) > 0)
            static_cast<void>(offers(0, pod, run));
        else
            offers_[run.jobs().request_of(pod)].assign(profiles_.size(), true);
    }
    std::vector<ticks> times{run.now()};
    for (const free_profile& profile : profiles_) profile.append_times(times);
    std::ranges::sort(times);
    const auto repeated = std::ranges::unique(times);
    times.erase(repeated.begin(), repeated.end());
    planned_nodes nodes;
    for (const ticks time : times) {
        if (time < run.now() || !place_gang(next, time, estimate, nodes, run)) continue;
        next.start = time;
        next.nodes = std::move(nodes);
        return take(next, estimate, run);
    }
}

void conservative::take(const planned_job& planned, ticks estimate, scheduling_context& run) {
    for (std::uint32_t i = 0; i < run.jobs().pod_count(planned.job); ++i) {
        if (!planned.nodes[i]) continue;
        const std::int64_t devices = devices_of(run.request_of(run.jobs().pod(planned.job, i)));
        profiles_[planned.nodes[i]->at()].take(devices, planned.start, estimate);
    }
}

/// Where the plan says: by an ordinary decision if that agrees, which is fast, else by asking the planned nodes.
start_result conservative::start(const planned_job& due, scheduling_context& run) {
    if (due.nodes.empty()) return run.try_start(due.job);
    const scheduling_context::approval is_planned = [&due](std::span<const vgpualloc::placement> places) {
        return std::ranges::equal(places, due.nodes, {}, &vgpualloc::placement::node);
    };
    const bool is_whole = std::ranges::all_of(due.nodes, [](const auto& node) { return node.has_value(); });
    if (is_whole) {
        const start_result result = run.try_start(due.job, &is_planned);
        if (result != start_result::not_approved) return result;
    }
    return run.start_on(due.job, due.nodes);
}

void conservative::start_those_whose_time_has_come(scheduling_context& run) {
    bool some_end_at_once = false;
    for (std::size_t i = 0; i < planned_; ++i) {
        if (queue_[i].start > run.now()) continue;
        const planned_job due = queue_[i];
        is_starting_ = true;
        const start_result result = start(due, run);
        is_starting_ = false;
        if (result == start_result::started) {
            queue_[i].waiting = false;
            some_end_at_once = some_end_at_once || run.jobs().estimate(due.job) == ticks{0};
        } else if (some_end_at_once) {
            break; // a job of no length takes nothing in the plan and yet holds devices: go on when it has ended
        } else if (!due.nodes.empty()) {
            // It lacks what is not planned, and its devices are free for others meanwhile.
            plan_is_void_ = true;
            if (result == start_result::over_quota) {
                held_up_queues_.insert(run.jobs().queue(due.job));
            } else {
                unfit_classes_.insert(run.jobs().class_of(due.job));
            }
            break;
        }
    }
    std::erase_if(queue_, [](const planned_job& next) { return !next.waiting; });
    planned_ = queue_.size();
}

void conservative::pass(scheduling_context& run) {
    // Who has outlived the estimate has been planned to be gone.
    if (!ends_.empty() && *ends_.begin() < run.now()) plan_is_void_ = true;
    std::size_t left_out = 0;
    do {
        left_out = unfit_classes_.size() + held_up_queues_.size();
        if (plan_is_void_ || profiles_.empty()) {
            plan_anew(run);
        } else {
            for (free_profile& profile : profiles_) profile.forget_before(run.now());
            for (; planned_ < queue_.size() && !run.wants_stop(); ++planned_) plan(queue_[planned_], run);
        }
        start_those_whose_time_has_come(run);
    } while (unfit_classes_.size() + held_up_queues_.size() > left_out); // the others go on without those
}

} // namespace vgpusim
