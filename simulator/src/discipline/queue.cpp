#include "vgpusim/discipline/queue.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "vgpusim/discipline/preemption.hpp"
#include "vgpusim/engine/scheduling_context.hpp"

namespace vgpusim {

void queue_discipline::on_arrival(std::uint32_t job, scheduling_context& run) {
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
        settled_ = false;
        first_.reset();
    }
    if (rules_.by_priority) first_.reset();
    activate(number);
    if (!std::exchange(jobs.has_joined, true)) joined_.push_back(number);
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

void queue_discipline::on_start(std::uint32_t pod, ticks planned_end, scheduling_context& run) {
    settled_ = false;
    if (rules_.by_priority) forecast_.forget_answer(); // who is before the first job in the queue is not asked
    freed_.on_start(run.book().booking_of(pod_id{pod}).where.node, run.book());
    if (rules_.overtakes == overtaking::unpromised) forecast_.on_start(pod, planned_end, run);
    if (rules_.by_priority) ++running_[run.jobs().priority(run.jobs().job_of(pod))];
}

void queue_discipline::on_end(std::uint32_t pod, scheduling_context& run) {
    settled_ = false;
    if (rules_.overtakes == overtaking::unpromised) {
        // What ends early is free for longer than was known, which may make room for one that was too long before. And
        // one that would have delayed the first job may go to another node now, or have its quota.
        const bool as_planned = forecast_.on_end(pod, run);
        if (!as_planned || run.book().nodes().nodes.size() > 1 || run.quotas().limits()) ++promise_;
    }
    if (rules_.by_priority) {
        const auto same = running_.find(run.jobs().priority(run.jobs().job_of(pod)));
        if (--same->second == 0) running_.erase(same);
    }
    freed_.on_end(run.book().booking_of(pod_id{pod}).where.node, run.book());
}

void queue_discipline::on_cluster_change(scheduling_context&) {
    settled_ = false;
    forecast_.on_cluster_change();
    for (line& jobs : lines_) jobs.refused = jobs.preempts_in_vain = false;
    ++promise_;
}

void queue_discipline::refuse(line& jobs, std::uint32_t job, scheduling_context& run) {
    jobs.refused = true;
    jobs.freed_read = freed_.size();
    const bool by_node = !rules_.by_priority && run.jobs().pod_count(job) == 1 && !run.has_placer();
    if (by_node && jobs.asker.request == nullptr) jobs.asker = freed_.enter(run.request_of(run.jobs().pod(job, 0)));
}

/// Whether a job of the line did not fit, and nothing that has become free since then can change that. Where jobs are
/// gangs, preempt others or are not placed by the allocator, anything can.
bool queue_discipline::is_refused(line& jobs, scheduling_context& run) {
    if (!jobs.refused || jobs.freed_read == freed_.size()) return jobs.refused;
    return jobs.asker.request != nullptr && !freed_.may_fit(jobs.asker, jobs.freed_read, run.book());
}

/// Whether the job's queue has quota for it, and, in order of arrival, for the first one of the queue.
bool queue_discipline::has_quota(std::uint32_t job, scheduling_context& run) const {
    if (!run.quotas().limits()) return true;
    const std::uint32_t queue = run.jobs().queue(job);
    if (queue < held_up_.size() && held_up_[queue]) return false;
    return run.quotas().admits(queue, run.jobs().amounts(job));
}

/// Whether the first job would still have quota if the other one ran.
bool queue_discipline::leaves_quota(std::uint32_t head, std::uint32_t other, scheduling_context& run) {
    const job_table& jobs = run.jobs();
    return !run.quotas().limits() ||
           run.quotas().admits_beside(jobs.queue(head), jobs.amounts(head), jobs.queue(other), jobs.amounts(other));
}

/// The first job of a queue that has no quota holds up all of that queue.
void queue_discipline::hold_up_queues(scheduling_context& run) {
    held_up_.assign(run.input().queues.size(), false);
    std::vector<std::optional<candidate>> heads(held_up_.size());
    for (const std::uint32_t number : active_) {
        const auto head = head_of(number);
        if (!head) continue;
        auto& first = heads[run.jobs().queue(job_of(*head))];
        if (!first || *first < *head) first = head;
    }
    for (std::size_t queue = 0; queue < heads.size(); ++queue) {
        if (heads[queue]) held_up_[queue] = !has_quota(job_of(*heads[queue]), run);
    }
}

/// The first job of a line; none if nobody waits there.
std::optional<queue_discipline::candidate> queue_discipline::head_of(std::uint32_t number) const {
    const line& jobs = lines_[number];
    const auto position = jobs.jobs.first();
    if (!position) return std::nullopt;
    return candidate{
        .priority = jobs.priority, .turn = jobs.jobs.at(*position).turn, .line = number, .position = *position};
}

/// The first job of the line from `from` on that takes no longer becomes a candidate.
void queue_discipline::collect_next(std::uint32_t number, std::size_t from, ticks longest, scheduling_context& run) {
    line& jobs = lines_[number];
    if (is_refused(jobs, run)) return;
    const auto position = jobs.jobs.first(longest, from);
    if (!position || !has_quota(jobs.jobs.at(*position).job, run)) return;
    candidates_.push_back(
        {.priority = jobs.priority, .turn = jobs.jobs.at(*position).turn, .line = number, .position = *position});
    std::push_heap(candidates_.begin(), candidates_.end());
}

/// Every one of these lines with a job that is worth trying has its first one become a candidate.
void queue_discipline::collect(std::span<const std::uint32_t> lines, ticks longest, scheduling_context& run) {
    candidates_.clear();
    for (const std::uint32_t number : lines) {
        collect_next(number, 0, lines_[number].delaying_in == promise_ ? longest : ticks::max(), run);
    }
}

queue_discipline::candidate queue_discipline::take_candidate() {
    std::pop_heap(candidates_.begin(), candidates_.end());
    const candidate next = candidates_.back();
    candidates_.pop_back();
    return next;
}

bool queue_discipline::try_start(const candidate& next, scheduling_context& run) {
    line& jobs = lines_[next.line];
    const std::uint32_t job = jobs.jobs.at(next.position).job;
    const start_result result = run.try_start(job);
    if (result == start_result::does_not_fit) refuse(jobs, job, run);
    const bool started =
        result == start_result::started || (result == start_result::does_not_fit && preempts(jobs, job, run));
    if (!started) return false;
    jobs.jobs.remove(next.position);
    first_.reset();
    if (promised_ && promised_->job == job) head_waits_ = false;
    return true;
}

/// Whether jobs of lower priority were stopped and this one has started.
bool queue_discipline::preempts(line& jobs, std::uint32_t job, scheduling_context& run) {
    if (!rules_.by_priority || running_.empty() || running_.begin()->first >= run.jobs().priority(job)) return false;
    // Where nothing has ended since a job of the line found no room, even without all that is lower, there is none now.
    // What CCE's rule keeps depends on more than that.
    if (run.jobs().pod_count(job) > 1 || tenants_decide(run)) return start_by_preempting(job, {}, run);
    const auto candidates = jobs.preempts_in_vain ? std::optional{freed_.since(jobs.preempt_read)} : std::nullopt;
    jobs.preempt_read = freed_.size();
    jobs.preempts_in_vain = !start_by_preempting(job, candidates, run);
    return !jobs.preempts_in_vain;
}

/// Whether the first tenant of any device decides who may join it.
bool queue_discipline::tenants_decide(scheduling_context& run) {
    if (!tenants_decide_) {
        tenants_decide_ = std::ranges::any_of(run.book().nodes().kinds,
                                              [](const auto& kind) { return kind.mode->first_tenant_decides(); });
    }
    return *tenants_decide_;
}

void queue_discipline::start_whoever_fits(std::span<const std::uint32_t> lines, scheduling_context& run) {
    collect(lines, ticks::max(), run);
    while (!candidates_.empty() && !run.wants_stop()) {
        const candidate next = take_candidate();
        if (is_refused(lines_[next.line], run)) continue;
        if (try_start(next, run)) collect_next(next.line, next.position, ticks::max(), run);
    }
}

/// The first job of all lines whose queue has quota left; none if nobody waits.
std::optional<queue_discipline::candidate> queue_discipline::first_in_order(scheduling_context& run) {
    if (first_ && !run.quotas().limits()) return first_;
    first_.reset();
    if (run.quotas().limits()) hold_up_queues(run);
    for (const std::uint32_t number : active_) {
        const auto head = head_of(number);
        if (head && (!first_ || *first_ < *head) && has_quota(job_of(*head), run)) first_ = head;
    }
    return first_;
}

/// Returns whether one that does not fit holds up those behind it.
bool queue_discipline::start_in_order(scheduling_context& run) {
    while (const auto first = first_in_order(run)) {
        if (run.wants_stop()) return true;
        const line& jobs = lines_[first->line];
        const std::uint32_t job = jobs.jobs.at(first->position).job;
        const bool worth_trying = !is_refused(lines_[first->line], run);
        if (worth_trying && try_start(*first, run)) continue;
        if (rules_.overtakes == overtaking::unpromised) backfill(job, active_, run);
        return true;
    }
    return false;
}

/// Those of the lines that do not delay the first job in the queue start; those of all lines if it is promised another
/// time than before.
void queue_discipline::backfill(std::uint32_t head, std::span<const std::uint32_t> lines, scheduling_context& run) {
    const ticks time = forecast_.earliest(head, run);
    if (!promised_ || promised_->job != head || promised_->time != time) {
        ++promise_;
        lines = active_;
    }
    promised_ = start_promise{.job = head, .time = time};
    head_waits_ = true;
    // A job may begin as much later as making its MIG instances takes.
    const ticks longest = time == ticks::max() ? time : time - run.now() - run.layout_change();
    const scheduling_context::approval keeps_promise = [&](std::span<const vgpualloc::placement> added) {
        return forecast_.keeps(head, time, added, run);
    };
    collect(lines, longest, run);
    while (!candidates_.empty() && !run.wants_stop()) {
        const candidate next = take_candidate();
        line& jobs = lines_[next.line];
        const std::uint32_t job = jobs.jobs.at(next.position).job;
        if (job == head || is_refused(jobs, run)) continue;
        const bool in_time = run.jobs().estimate(job) <= longest;
        const start_result result = in_time || leaves_quota(head, job, run)
                                        ? run.try_start(job, in_time ? nullptr : &keeps_promise)
                                        : start_result::not_approved;
        if (result == start_result::started) {
            jobs.jobs.remove(next.position);
        } else if (result == start_result::does_not_fit) {
            refuse(jobs, job, run);
        } else if (result == start_result::not_approved) {
            jobs.delaying_in = promise_;
        }
        collect_next(next.line, next.position, jobs.delaying_in == promise_ ? longest : ticks::max(), run);
    }
}

bool queue_discipline::approves_late_member(std::uint32_t pod, const vgpualloc::placement& where,
                                            scheduling_context& run) {
    if (!head_waits_ || promised_->time == ticks::max()) return true;
    const ticks longest = promised_->time - run.now() - run.layout_change();
    return run.jobs().estimate(run.jobs().job_of(pod)) <= longest ||
           forecast_.keeps(promised_->job, promised_->time, {&where, 1}, run);
}

void queue_discipline::pass(scheduling_context& run) {
    // Where jobs have only arrived since a pass that left nobody who could start, the others still cannot.
    const bool only_joined = settled_ && !rules_.by_priority && !run.quotas().limits();
    if (!only_joined) drop_empty_lines();
    if (rules_.overtakes == overtaking::everybody) {
        start_whoever_fits(only_joined ? joined_ : active_, run);
        settled_ = true;
    } else if (!only_joined) {
        settled_ = start_in_order(run);
    } else if (rules_.overtakes == overtaking::unpromised) {
        backfill(promised_->job, joined_, run);
        settled_ = true;
    }
    for (const std::uint32_t number : joined_) lines_[number].has_joined = false;
    joined_.clear();
}

} // namespace vgpusim
