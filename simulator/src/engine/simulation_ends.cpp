// The event loop: how pods end, by themselves, for others or with what they run on.
#include <algorithm>

#include "vgpusim/engine/fault_domain.hpp"
#include "vgpusim/engine/simulation.hpp"

namespace vgpusim {

/// The pod's booking ends, for whatever reason.
void simulation::end_pod(std::uint32_t pod) {
    const node_index where = ledger_->booking_of(pod_id{pod}).where.node;
    if (!result_.times.empty() && now_ >= result_.times[pod].begun) result_.times[pod].has_run = true;
    discipline_->on_end(pod, *this);
    if (options_.decides != nullptr) options_.decides->release(pod);
    ledger_->release(pod_id{pod});
    served_ -= input_->requested.served(input_->pods[pod].request);
    --running_;
    update_node(where);
    executor_.pod_ended(pod_id{pod});
    capacity_freed_ = true;
    pass_due_ = true;
    if (members_live_.empty()) return;
    const std::uint32_t job = jobs_.job_of(pod);
    if (--members_live_[job] == 0 && quotas_.limits()) quotas_.remove(jobs_.queue(job), jobs_.amounts(job));
}

void simulation::finish(std::uint32_t pod) {
    end_pod(pod);
    result_.times[pod].end = now_;
    result_.times[pod].ended = true;
    ++result_.finished;
    record();
}

/// Stops all pods of a job, of which some run. Those that have ended already run again too: their results were part of
/// what the job lost.
void simulation::stop_job(std::uint32_t job, bool again) {
    for (std::uint32_t i = 0; i < jobs_.pod_count(job); ++i) {
        const std::uint32_t pod = jobs_.pod(job, i);
        pod_times& times = result_.times[pod];
        const bool live = ledger_->is_live(pod_id{pod});
        if (live || times.ended) {
            const ticks ran = (times.ended ? times.end : std::max(now_, times.begun)) - times.begun;
            const requested_units& units = input_->requested.served(input_->pods[pod].request);
            const double seconds = static_cast<double>(ran.count()) / static_cast<double>(ticks_per_second.count());
            result_.disturbed.unit_seconds_redone += units.as<double>().times(seconds);
        }
        if (live) {
            end_pod(pod);
        } else if (times.ended && again) {
            times.ended = false;
            --result_.finished;
        }
    }
    std::erase_if(late_members_, [&](std::uint32_t pod) { return jobs_.job_of(pod) == job; });
    if (again) enqueue(job);
    record();
}

void simulation::preempt(std::uint32_t job) {
    ++result_.disturbed.preemptions;
    stop_job(job, true);
}

/// Stops the jobs of pods that have failed.
void simulation::stop_pods(std::vector<std::uint32_t> pods) {
    drop_plans_of_copies(pods);
    result_.disturbed.pods_stopped += std::ssize(pods);
    std::vector<std::uint32_t> jobs;
    for (const std::uint32_t pod : pods) {
        jobs.push_back(jobs_.job_of(pod));
        result_.times[pod].failed = true;
    }
    std::ranges::sort(jobs);
    const auto repeated = std::ranges::unique(jobs);
    jobs.erase(repeated.begin(), repeated.end());
    for (const std::uint32_t job : jobs) stop_job(job, options_.on_failure == after_failure::requeue);
}

void simulation::change_cluster(const cluster_event& change) {
    executor_.node_changes(change.node);
    if (change.what == cluster_change::stops) stop_pods(running_on(*ledger_, change.node, change.device));
    service_.apply(change);
    update_node(change.node);
    capacity_freed_ = true;
    pass_due_ = true;
    discipline_->on_cluster_change(*this);
    record();
}

/// What can be said of pods only when all is over.
void simulation::count_outcomes() {
    for (pod_outcome& outcome : result_.pods) {
        if (outcome.booking == no_booking && outcome.reason == rejection_code::none) {
            outcome.reason = rejection_code::still_queued;
        }
    }
    for (std::size_t pod = 0; pod < result_.times.size(); ++pod) {
        if (result_.times[pod].failed) ++result_.disturbed.pods_lost;
    }
}

} // namespace vgpusim
