#include "vgpusim/discipline/preemption.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <optional>
#include <vector>

#include "vgpualloc/model/trial.hpp"
#include "vgpusim/engine/scheduling_context.hpp"

namespace vgpusim {

namespace {

/// What stopping jobs on one node costs; the least is chosen.
struct node_victims {
    std::int32_t highest_priority = 0;
    std::size_t count = 0;
    std::vector<std::uint32_t> jobs{};

    [[nodiscard]] bool is_better_than(const node_victims& other) const noexcept {
        if (highest_priority != other.highest_priority) return highest_priority < other.highest_priority;
        return count < other.count;
    }
};

bool fits(std::uint32_t pod, node_index where, scheduling_context& run) {
    return run.alloc().ask_node(where, run.request_of(pod)).answer.code == rejection_code::none;
}

/// Whether the node lacks devices for the pod, and has devices whose first tenant decides who may join, as with CCE: no
/// pod is stopped for another one there.
bool is_kept_by_tenants(std::uint32_t pod, node_index where, scheduling_context& run) {
    const auto& nodes = run.book().nodes();
    const auto& devices = nodes.nodes[where.at()].devices;
    const bool tenants_decide = std::ranges::any_of(
        devices, [&nodes](const auto& device) { return nodes.kinds[device.kind].mode->first_tenant_decides(); });
    if (!tenants_decide) return false;
    const rejection_code code = run.alloc().ask_node(where, run.request_of(pod)).answer.code;
    return code != rejection_code::insufficient_cpu && code != rejection_code::insufficient_memory &&
           code != rejection_code::too_many_pods;
}

/// The jobs of lower priority that run on a node, from the highest priority on and then by number.
std::vector<std::uint32_t> lower_jobs(node_index where, std::int32_t priority, scheduling_context& run) {
    std::vector<std::uint32_t> jobs;
    for (const std::uint32_t slot : run.book().live_on(where)) {
        const pod_id pod = run.book().bookings()[slot].owner.pod();
        const std::uint32_t job = run.jobs().job_of(pod.value());
        if (run.book().is_committed(pod) && run.jobs().priority(job) < priority) jobs.push_back(job);
    }
    std::ranges::sort(jobs, [&run](std::uint32_t a, std::uint32_t b) {
        const auto order = run.jobs().priority(b) <=> run.jobs().priority(a);
        return order != 0 ? order < 0 : a < b;
    });
    const auto repeated = std::ranges::unique(jobs);
    jobs.erase(repeated.begin(), repeated.end());
    return jobs;
}

void release_job(std::uint32_t job, scheduling_context& run) {
    for (std::uint32_t i = 0; i < run.jobs().pod_count(job); ++i) {
        const pod_id pod{run.jobs().pod(job, i)};
        if (run.book().is_committed(pod)) run.book().release(pod);
    }
}

/// Which jobs would have to go for the pod to fit on the node; none if that does not help.
std::optional<node_victims> victims_on(std::uint32_t pod, node_index where, std::int32_t priority,
                                       scheduling_context& run) {
    std::vector<std::uint32_t> jobs = lower_jobs(where, priority, run);
    if (jobs.empty() || is_kept_by_tenants(pod, where, run)) return std::nullopt;
    {
        const vgpualloc::trial all_gone{run.book()};
        for (const std::uint32_t job : jobs) release_job(job, run);
        if (!fits(pod, where, run)) return std::nullopt;
    }
    // One after the other is spared if the pod fits without it going.
    for (std::size_t i = 0; i < jobs.size();) {
        const vgpualloc::trial others_gone{run.book()};
        for (std::size_t other = 0; other < jobs.size(); ++other) {
            if (other != i) release_job(jobs[other], run);
        }
        if (fits(pod, where, run)) {
            jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
            ++i;
        }
    }
    if (jobs.empty()) return std::nullopt; // it fits as it is, which the caller has tried
    return node_victims{
        .highest_priority = run.jobs().priority(jobs.front()), .count = jobs.size(), .jobs = std::move(jobs)};
}

std::optional<node_victims> best_victims(std::uint32_t pod, std::int32_t priority, nodes_to_ask nodes,
                                         scheduling_context& run) {
    std::optional<node_victims> best;
    const auto ask = [&](node_index node) {
        auto victims = victims_on(pod, node, priority, run);
        if (victims && (!best || victims->is_better_than(*best))) best = std::move(victims);
    };
    if (nodes) {
        std::ranges::for_each(*nodes, ask);
    } else {
        for (std::size_t node = 0; node < run.book().nodes().nodes.size(); ++node) ask(node_index{node});
    }
    return best;
}

} // namespace

bool start_by_preempting(std::uint32_t job, nodes_to_ask nodes, scheduling_context& run) {
    const std::int32_t priority = run.jobs().priority(job);
    if (run.quotas().limits() && !run.quotas().admits(run.jobs().queue(job), run.jobs().amounts(job))) return false;
    std::vector<std::uint32_t> stopped;
    std::vector<std::optional<vgpualloc::placement>> places(run.jobs().pod_count(job));
    {
        const vgpualloc::trial rearranged{run.book()};
        std::uint32_t placed = 0;
        for (std::uint32_t i = 0; i < run.jobs().pod_count(job); ++i) {
            const std::uint32_t pod = run.jobs().pod(job, i);
            auto place = run.alloc().place(run.book(), pod_id{pod}, run.request_id_of(pod));
            if (!place) {
                if (placed >= run.jobs().minimum(job)) continue; // nobody is stopped for more than the minimum
                const auto victims = best_victims(pod, priority, nodes, run);
                if (!victims) return false;
                for (const std::uint32_t victim : victims->jobs) release_job(victim, run);
                stopped.insert(stopped.end(), victims->jobs.begin(), victims->jobs.end());
                place = run.alloc().place(run.book(), pod_id{pod}, run.request_id_of(pod));
                if (!place) return false;
            }
            places[i] = *place;
            ++placed;
        }
    }
    if (stopped.empty()) return false;
    for (const std::uint32_t victim : stopped) run.preempt(victim);
    run.start_at(job, places);
    return true;
}

} // namespace vgpusim
