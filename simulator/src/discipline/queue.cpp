#include "vgpusim/discipline/queue.hpp"

#include <algorithm>
#include <limits>

#include "vgpusim/discipline/preemption.hpp"
#include "vgpusim/engine/simulation.hpp"

namespace vgpusim {

using vgpualloc::node_index;
using vgpualloc::rejection_code;
using vgpualloc::ticks;

void queue_discipline::on_arrival(std::uint32_t job, simulation& run) {
    if (lines_.empty()) {
        lines_.resize(run.jobs().class_count());
        turns_.resize(run.jobs().count());
    }
    const std::uint32_t number = run.jobs().class_of(job);
    line& jobs = lines_[number];
    if (turns_[job] == 0) {
        if (const rejection_code why = run.why_never(job); why != rejection_code::none) {
            run.give_up(job, why);
            return;
        }
        turns_[job] = next_turn_++;
        jobs.priority = rules_.by_priority ? run.jobs().priority(job) : 0;
        jobs.jobs.add({.turn = turns_[job], .job = job}, run.jobs().estimate(job));
    } else {
        jobs.jobs.restore(turns_[job], run.jobs().estimate(job));
    }
    activate(number);
}

void queue_discipline::activate(std::uint32_t number) {
    if (lines_[number].is_active) return;
    lines_[number].is_active = true;
    active_.push_back(number);
}

void queue_discipline::drop_empty_lines() {
    std::erase_if(active_, [this](std::uint32_t number) {
        lines_[number].is_active = !lines_[number].jobs.empty();
        return !lines_[number].is_active;
    });
}

void queue_discipline::on_start(std::uint32_t pod, ticks planned_end, simulation& run) {
    if (rules_.overtakes == overtaking::unpromised) forecast_.on_start(pod, planned_end, run);
    if (rules_.by_priority) ++running_[run.jobs().priority(run.jobs().job_of(pod))];
}

void queue_discipline::on_end(std::uint32_t pod, simulation& run) {
    // What ends early is free for longer than was known, which may make room for one that was too long before.
    if (rules_.overtakes == overtaking::unpromised && !forecast_.on_end(pod, run)) ++promise_;
    if (rules_.by_priority) {
        const auto same = running_.find(run.jobs().priority(run.jobs().job_of(pod)));
        if (--same->second == 0) running_.erase(same);
    }
    const node_index where = run.book().booking_of(vgpualloc::pod_id{pod}).where.node;
    last_freed_.resize(run.book().nodes().nodes.size());
    last_freed_[where.at()] = freed_.size();
    freed_.push_back(where);
}

void queue_discipline::on_cluster_change(simulation&) {
    forecast_.on_cluster_change();
    for (line& jobs : lines_) jobs.refused = false;
    ++promise_;
}

namespace {

/// Whether all that a single node can say at a glance speaks for the request: its host and enough of its devices. Of
/// more devices than this the allocator knows faster.
bool may_fit(const vgpualloc::pod_request& request, node_index where, const vgpualloc::ledger& book) {
    constexpr std::size_t devices_max = 32;
    if (book.why_not_host(where, request.cpu, request.memory).code != rejection_code::none) return false;
    const auto states = book.devices(where);
    if (states.size() > devices_max) return true;
    const auto services = book.services(where);
    const auto& devices = book.nodes().nodes[where.at()].devices;
    return std::ranges::all_of(request.containers, [&](const vgpualloc::device_request& container) {
        std::int64_t missing = container.count;
        for (std::size_t i = 0; i < states.size() && missing > 0; ++i) {
            const auto& spec = book.nodes().kinds[devices[i].kind];
            if (vgpualloc::why_not(spec, states[i], services[i], container).code == rejection_code::none) --missing;
        }
        return missing <= 0;
    });
}

} // namespace

/// Whether a job of the line did not fit, and nothing that has become free since then can change that. Where jobs are
/// gangs, preempt others or are not placed by the allocator, anything can.
bool queue_discipline::is_refused(std::uint32_t number, std::uint32_t job, simulation& run) {
    line& jobs = lines_[number];
    if (!jobs.refused) return false;
    if (jobs.freed_read == freed_.size()) return true;
    const bool by_node = !rules_.by_priority && run.jobs().pod_count(job) == 1 && !run.has_placer();
    const vgpualloc::pod_request& request = run.request_of(run.jobs().pod(job, 0));
    // A node that would do is looked at again the next time: somebody else may have taken it by then. One that has
    // freed something again is looked at there.
    for (; jobs.freed_read < freed_.size(); ++jobs.freed_read) {
        const node_index where = freed_[jobs.freed_read];
        const bool is_last = last_freed_[where.at()] == jobs.freed_read;
        if (!by_node || (is_last && may_fit(request, where, run.book()))) return false;
    }
    return true;
}

bool queue_discipline::has_quota(std::uint32_t job, simulation& run) {
    return !run.quotas().limits() || run.quotas().admits(run.jobs().queue(job), run.jobs().amounts(job));
}

/// The first job of the line from `from` on that takes no longer becomes a candidate.
void queue_discipline::collect_next(std::uint32_t number, std::size_t from, ticks longest, simulation& run) {
    const line& jobs = lines_[number];
    if (jobs.refused && jobs.freed_read == freed_.size()) return;
    const auto position = jobs.jobs.first(longest, from);
    if (!position || is_refused(number, jobs.jobs.at(*position).job, run) ||
        !has_quota(jobs.jobs.at(*position).job, run))
        return;
    candidates_.push_back(
        {.priority = jobs.priority, .turn = jobs.jobs.at(*position).turn, .line = number, .position = *position});
    std::push_heap(candidates_.begin(), candidates_.end());
}

/// Every line with one that is worth trying has its first one become a candidate.
void queue_discipline::collect(ticks longest, simulation& run) {
    candidates_.clear();
    drop_empty_lines();
    for (const std::uint32_t number : active_) {
        collect_next(number, 0, lines_[number].delaying_in == promise_ ? longest : ticks::max(), run);
    }
}

queue_discipline::candidate queue_discipline::take_candidate() {
    std::pop_heap(candidates_.begin(), candidates_.end());
    const candidate next = candidates_.back();
    candidates_.pop_back();
    return next;
}

bool queue_discipline::try_start(const candidate& next, simulation& run) {
    line& jobs = lines_[next.line];
    const std::uint32_t job = jobs.jobs.at(next.position).job;
    const start_result result = run.try_start(job);
    if (result == start_result::does_not_fit) refuse(jobs);
    if (result != start_result::started) return false;
    jobs.jobs.remove(next.position);
    return true;
}

/// Whether jobs of lower priority were stopped so that this one fits.
bool queue_discipline::preempts(std::uint32_t job, simulation& run) {
    if (!rules_.by_priority || running_.empty() || running_.begin()->first >= run.jobs().priority(job)) return false;
    return make_room(job, run);
}

void queue_discipline::start_whoever_fits(simulation& run) {
    collect(ticks::max(), run);
    while (!candidates_.empty()) {
        const candidate next = take_candidate();
        const std::uint32_t job = lines_[next.line].jobs.at(next.position).job;
        if (is_refused(next.line, job, run)) continue;
        if (try_start(next, run) || (preempts(job, run) && try_start(next, run)))
            collect_next(next.line, next.position, ticks::max(), run);
    }
}

/// The first job of all lines whose queue has quota left; none if nobody waits.
std::optional<queue_discipline::candidate> queue_discipline::first_in_order(simulation& run) {
    drop_empty_lines();
    std::optional<candidate> first;
    for (const std::uint32_t number : active_) {
        const line& jobs = lines_[number];
        const std::size_t position = *jobs.jobs.first();
        const candidate head{
            .priority = jobs.priority, .turn = jobs.jobs.at(position).turn, .line = number, .position = position};
        if ((!first || *first < head) && has_quota(jobs.jobs.at(position).job, run)) first = head;
    }
    return first;
}

void queue_discipline::start_in_order(simulation& run) {
    while (const auto first = first_in_order(run)) {
        const line& jobs = lines_[first->line];
        const std::uint32_t job = jobs.jobs.at(first->position).job;
        const bool worth_trying = !is_refused(first->line, job, run);
        if (worth_trying && (try_start(*first, run) || (preempts(job, run) && try_start(*first, run)))) continue;
        if (rules_.overtakes == overtaking::unpromised) backfill(job, run);
        return;
    }
}

void queue_discipline::backfill(std::uint32_t head, simulation& run) {
    const ticks time = forecast_.earliest(head, run);
    if (!promised_ || promised_->job != head || promised_->time != time) ++promise_;
    promised_ = start_promise{.job = head, .time = time};
    const ticks longest = time == ticks::max() ? time : time - run.now();
    const simulation::approval keeps_promise = [&](std::span<const vgpualloc::placement> added) {
        return forecast_.keeps(head, time, added, run);
    };
    collect(longest, run);
    while (!candidates_.empty()) {
        const candidate next = take_candidate();
        line& jobs = lines_[next.line];
        const std::uint32_t job = jobs.jobs.at(next.position).job;
        if (job == head || is_refused(next.line, job, run)) continue;
        const bool in_time = run.jobs().estimate(job) <= longest;
        const start_result result = run.try_start(job, in_time ? nullptr : &keeps_promise);
        if (result == start_result::started) {
            jobs.jobs.remove(next.position);
        } else if (result == start_result::does_not_fit) {
            refuse(jobs);
        } else if (result == start_result::not_approved) {
            jobs.delaying_in = promise_;
        }
        collect_next(next.line, next.position, jobs.delaying_in == promise_ ? longest : ticks::max(), run);
    }
}

bool queue_discipline::approves_late_member(std::uint32_t pod, const vgpualloc::placement& where, simulation& run) {
    if (!promised_ || promised_->time == ticks::max()) return true;
    if (run.jobs().estimate(run.jobs().job_of(pod)) <= promised_->time - run.now()) return true;
    const auto& head = promised_->job;
    const bool waits = run.result_of(run.jobs().pod(head, 0)).booking == no_booking;
    return !waits || forecast_.keeps(head, promised_->time, {&where, 1}, run);
}

void queue_discipline::pass(simulation& run) {
    if (rules_.overtakes == overtaking::everybody) {
        start_whoever_fits(run);
    } else {
        start_in_order(run);
    }
}

} // namespace vgpusim
