// The event loop: pods that are moved, for others that would be lost or so that devices become empty.
#include "vgpusim/engine/simulation.hpp"

#include <utility>

namespace vgpusim {

using vgpualloc::plan::ended_plan;
using vgpualloc::plan::move_ticket;
using vgpualloc::plan::pod_move;

bool simulation::moves_take_time() const noexcept {
    return options_.moves.copy_per_gib > ticks{0} || options_.moves.downtime > ticks{0} ||
           options_.layout_change > ticks{0};
}

/// Queues the next one of what happens at intervals, which has just been taken from the queue, as long as anything else
/// is to come. Returns whether there is.
bool simulation::repeat(event_class what, ticks time) {
    --repeating_;
    if (queue_.size() == repeating_ && arrivals_ == input_->pods.size()) return false;
    queue_.push(time, what, 0);
    ++repeating_;
    return true;
}

/// Which pods may move: those that run and that no plan has already.
room_wanted simulation::question_about_moves() {
    return {.book = ledger_, .tokens = executor_.tokens(), .movable = [this](pod_id candidate) -> const pod_request* {
                const auto number = static_cast<std::uint32_t>(candidate.at());
                const bool may_move = number < input_->pods.size() && ledger_->is_committed(candidate) &&
                                      now_ >= result_.times[number].begun && !executor_.moves(candidate);
                return may_move ? &request_of(number) : nullptr;
            }};
}

/// Looks for moves that make room for a pod that fits nowhere, and begins them.
bool simulation::make_room(std::uint32_t pod) {
    if (options_.moves.planner == nullptr || options_.moves.interval > ticks{0} || executor_.tokens() < 1.0)
        return false;
    room_wanted question = question_about_moves();
    question.request = &request_of(pod);
    auto planned = options_.moves.planner->plan(question);
    stopped_ = options_.stop.raised(); // a search is as long as many events
    if (!planned || stopped_) return false;
    ++waiting_; // until its place is free
    const bool begun = start_plan(*std::move(planned), booking_for(pod));
    if (!begun) --waiting_;
    return begun;
}

/// Looks for moves that empty devices, and begins them.
void simulation::tidy() {
    if (executor_.tokens() < 1.0 || !executor_.is_idle()) return;
    auto planned = options_.moves.planner->tidy(question_about_moves());
    stopped_ = options_.stop.raised();
    if (planned && !stopped_) (void)start_plan(*std::move(planned), std::nullopt);
}

bool simulation::start_plan(vgpualloc::plan::move_plan planned, std::optional<vgpualloc::booking> arriving) {
    const bool begun = executor_.start(std::move(planned), std::move(arriving));
    if (begun) ++result_.moves.planned;
    return begun;
}

/// How long a pod is copied, by the memory of its parts.
ticks simulation::copy_time(const pod_move& move) const {
    constexpr std::int64_t mib_per_gib = 1024;
    std::int64_t memory_mib = 0;
    for (const auto& share : move.from.shares) {
        const auto& spec = ledger_->nodes().spec_of(move.from.node, share.device);
        memory_mib += spec.mode->describe(spec, share.part).memory.count();
    }
    return ticks{options_.moves.copy_per_gib.count() * memory_mib / mib_per_gib};
}

// ---- what the executor of moves requires

void simulation::set_closed(node_index node, device_index device, bool closed) {
    if (closed) {
        service_.close(node, device);
    } else {
        service_.reopen(node, device);
    }
    update_node(node);
}

pod_id simulation::new_copy() { return pod_id{static_cast<std::uint32_t>(input_->pods.size()) + copies_made_++}; }

void simulation::begin_copy(move_ticket ticket, const pod_move& move) {
    note_peak();
    const ticks copying = copy_time(move);
    result_.moves.copy_s += seconds_of(copying);
    queue_.push(provide_instances(move.to) + copying + options_.moves.downtime, event_class::moved, ticket.plan,
                ticket.step);
}

void simulation::go_on_soon(move_ticket ticket) { queue_.push(now_, event_class::moved, ticket.plan, ticket.step); }

void simulation::leaves(const pod_move& move) { discipline_->on_end(static_cast<std::uint32_t>(move.pod.at()), *this); }

void simulation::arrives(const pod_move& move, vgpualloc::booking_id booked) {
    const auto pod = static_cast<std::uint32_t>(move.pod.at());
    result_.pods[pod].booking = booked.slot;
    ++result_.moves.done;
    pod_times& times = result_.times[pod];
    times.node = move.to.node;
    if (times.moves++ == 0) ++result_.moves.pods_moved;
    times.delayed += options_.moves.downtime;
    result_.moves.downtime_s += seconds_of(options_.moves.downtime);
    if (const auto& duration = input_->pods[pod].duration) {
        queue_.push(times.begun + *duration + times.delayed, event_class::finish, pod, times.round());
    }
    const ticks estimate = jobs_.estimate(jobs_.job_of(pod));
    discipline_->on_start(pod, estimate == ticks::max() ? estimate : times.begun + estimate + times.delayed, *this);
    if (moves_take_time()) {
        record();
    } else {
        (void)provide_instances(move.to); // counts them; with time, begin_copy() has
    }
}

void simulation::use_changed(node_index node) { update_node(node); }

bool simulation::may_start(pod_id arriving) {
    return has_quota(jobs_.job_of(static_cast<std::uint32_t>(arriving.at())));
}

/// A pod that has its place starts; one whose plan was dropped is tried as any other one.
void simulation::ended(const ended_plan& plan) {
    capacity_freed_ = true;
    pass_due_ = true;
    if (plan.dropped) ++result_.moves.dropped;
    if (plan.booked) {
        --waiting_;
        const auto pod = static_cast<std::uint32_t>(plan.arriving->at());
        begin({.pod = pod, .booking = plan.booked->slot},
              provide_instances(ledger_->bookings()[plan.booked->slot].where));
    }
    if (plan.dropped || plan.closed_devices || !plan.arriving) discipline_->on_cluster_change(*this);
    if (plan.dropped && plan.arriving) {
        --waiting_;
        enqueue(jobs_.job_of(static_cast<std::uint32_t>(plan.arriving->at())));
    }
}

/// Leaves the pods of the workload: a fault that reaches a copy ends its plan.
void simulation::drop_plans_of_copies(std::vector<std::uint32_t>& stopped) {
    if (executor_.is_idle()) return;
    const std::vector<pod_id> hit(stopped.begin(), stopped.end());
    std::erase_if(stopped, [this](std::uint32_t pod) { return pod >= input_->pods.size(); });
    executor_.fault_hits(hit);
}

} // namespace vgpusim
