// The event loop: pods that go elsewhere so that another one fits, or so that devices become empty, and the time that
// this takes.
#include <algorithm>
#include <set>
#include <utility>

#include "vgpualloc/model/trial.hpp"
#include "vgpusim/engine/simulation.hpp"

namespace vgpusim {

using vgpualloc::booking;
using vgpualloc::device_index;
using vgpualloc::device_state;
using vgpualloc::node_index;
using vgpualloc::placement;
using vgpualloc::pod_id;
using vgpualloc::rejection_code;
using vgpualloc::ticks;

namespace {

double in_seconds(ticks time) {
    return static_cast<double>(time.count()) / static_cast<double>(vgpualloc::ticks_per_second.count());
}

bool touches(const vgpualloc::plan::move_plan& planned, node_index node) {
    return planned.where.node == node || std::ranges::any_of(planned.moves, [node](const auto& move) {
               return move.from.node == node || move.to.node == node;
           });
}

/// Whether a placement is free, on devices that are closed to all others too.
bool is_free(const vgpualloc::ledger& book, const placement& where, vgpualloc::milli_cpu cpu, vgpualloc::bytes memory) {
    if (book.why_not_host(where.node, cpu, memory).code != rejection_code::none) return false;
    std::vector<std::pair<device_index, device_state>> states;
    for (const auto& share : where.shares) {
        const auto& spec = book.nodes().spec_of(where.node, share.device);
        auto known = std::ranges::find(states, share.device, &std::pair<device_index, device_state>::first);
        if (known == states.end()) {
            known = states.insert(known, {share.device, book.devices(where.node)[share.device.at()]});
        }
        if (spec.mode->why_not(spec, known->second, share.part).code != rejection_code::none) return false;
        known->second = spec.mode->with(spec, known->second, share.part);
    }
    return true;
}

} // namespace

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
    return {.book = ledger_, .tokens = tokens_, .movable = [this](pod_id candidate) -> const vgpualloc::pod_request* {
                const auto number = static_cast<std::uint32_t>(candidate.at());
                const bool may_move = number < input_->pods.size() && ledger_->is_committed(candidate) &&
                                      now_ >= result_.times[number].begun && !is_in_a_plan(number);
                return may_move ? &request_of(number) : nullptr;
            }};
}

/// Looks for moves that make room for a pod that fits nowhere, and begins them.
bool simulation::make_room(std::uint32_t pod) {
    if (options_.moves.planner == nullptr || options_.moves.interval > ticks{0} || tokens_ < 1.0) return false;
    room_wanted question = question_about_moves();
    question.request = &request_of(pod);
    auto planned = options_.moves.planner->plan(question);
    if (!planned || planned->moves.empty() || !can_be_done(*planned, pod)) return false;
    ++waiting_; // until its place is free
    start_plan(*std::move(planned), pod);
    return true;
}

/// Looks for moves that empty devices, and begins them.
void simulation::tidy() {
    if (tokens_ < 1.0 || !active_plans_.empty()) return;
    auto planned = options_.moves.planner->tidy(question_about_moves());
    if (!planned || planned->moves.empty() || !can_be_done(*planned, std::nullopt)) return;
    start_plan(*std::move(planned), std::nullopt);
}

/// Whether the moves can be made one after the other and the pod gets its place then.
bool simulation::can_be_done(const vgpualloc::plan::move_plan& planned, std::optional<std::uint32_t> pod) {
    if (static_cast<double>(planned.moves.size()) > tokens_) return false;
    const vgpualloc::trial attempt{*ledger_};
    for (const auto& move : planned.moves) {
        const booking* const running = ledger_->find_booking(move.pod);
        if (running == nullptr || running->where != move.from) return false;
        booking moved = *running;
        moved.where = move.to;
        ledger_->release(move.pod);
        if (!ledger_->reserve(std::move(moved))) return false;
        ledger_->commit(move.pod);
    }
    if (!pod) return true;
    const auto& request = request_of(*pod);
    return ledger_
        ->reserve({.owner = pod_id{*pod},
                   .cpu = request.cpu,
                   .memory = request.memory,
                   .where = planned.where,
                   .tags = request.tags})
        .has_value();
}

void simulation::start_plan(vgpualloc::plan::move_plan planned, std::optional<std::uint32_t> pod) {
    tokens_ -= static_cast<double>(planned.moves.size());
    ++result_.moves.planned;
    const bool takes_time = options_.moves.copy_per_gib > ticks{0} || options_.moves.downtime > ticks{0} ||
                            options_.layout_change > ticks{0};
    room_plan& active = active_plans_.emplace_back();
    active.number = next_plan_++;
    active.pod = pod;
    active.gone.assign(planned.moves.size(), false);
    active.planned = std::move(planned);
    if (!takes_time) {
        for (const auto& move : active.planned.moves) {
            relocate(move);
            (void)provide_instances(move.to);
        }
        complete(active.number);
        return;
    }
    close_devices(active);
    go_on(active.number);
}

/// Nobody else goes to the devices of the plan's new places while it is carried out: what becomes free bit by bit, and
/// what is free already, is for the pods of the plan.
void simulation::close_devices(room_plan& active) {
    std::set<std::pair<node_index, device_index>> devices;
    const auto add = [&devices](const placement& where) {
        for (const auto& share : where.shares) devices.emplace(where.node, share.device);
    };
    for (const auto& move : active.planned.moves) add(move.to);
    if (active.pod) add(active.planned.where);
    active.closed.assign(devices.begin(), devices.end());
    for (const auto& [node, device] : active.closed) {
        service_.close(node, device);
        update_node(node);
    }
}

bool simulation::is_in_a_plan(std::uint32_t pod) const noexcept {
    return std::ranges::any_of(active_plans_, [&](const room_plan& active) {
        return std::ranges::any_of(active.planned.moves, [&](const auto& move) { return move.pod == pod_id{pod}; });
    });
}

simulation::room_plan* simulation::find_plan(std::uint32_t number) noexcept {
    const auto at = std::ranges::find(active_plans_, number, &room_plan::number);
    return at == active_plans_.end() ? nullptr : &*at;
}

/// How long a pod is copied, by the memory of its parts.
ticks simulation::copy_time(const vgpualloc::plan::pod_move& move) const {
    constexpr std::int64_t mib_per_gib = 1024;
    std::int64_t memory_mib = 0;
    for (const auto& share : move.from.shares) {
        const auto& spec = ledger_->nodes().spec_of(move.from.node, share.device);
        memory_mib += spec.mode->describe(spec, share.part).memory.count();
    }
    return ticks{options_.moves.copy_per_gib.count() * memory_mib / mib_per_gib};
}

/// Books the new place for the copy of a pod. Inside a node the copy needs no CPU and memory of the host besides.
bool simulation::begin_copy(room_plan& active, const vgpualloc::plan::pod_move& move) {
    const bool same_node = move.to.node == move.from.node;
    const booking& running = ledger_->booking_of(move.pod);
    booking copy{.owner = pod_id{active.copy_number.value_or(0)}, .where = move.to};
    if (!same_node) copy.cpu = running.cpu;
    if (!same_node) copy.memory = running.memory;
    if (!is_free(*ledger_, move.to, copy.cpu, copy.memory)) return false;
    if (free_copies_.empty()) {
        free_copies_.push_back(static_cast<std::uint32_t>(input_->pods.size()) + copies_made_++);
    }
    active.copy_number = free_copies_.back();
    free_copies_.pop_back();
    copy.owner = pod_id{*active.copy_number};
    const auto booked = ledger_->adopt(std::move(copy));
    VGA_ASSERT(booked.has_value(), "a free place takes a copy");
    update_node(move.to.node);
    note_peak();
    return true;
}

void simulation::end_copy(room_plan& active) {
    if (!active.copy_number) return;
    const pod_id copy{*active.copy_number};
    const node_index where = ledger_->booking_of(copy).where.node;
    ledger_->release(copy);
    free_copies_.push_back(*std::exchange(active.copy_number, std::nullopt));
    update_node(where);
}

/// Begins the next move of a plan, or what comes when all are done.
void simulation::go_on(std::uint32_t number) {
    room_plan& active = *find_plan(number);
    while (active.next < active.planned.moves.size() && active.gone[active.next]) ++active.next; // it has ended
    if (active.next == active.planned.moves.size()) {
        complete(number);
        return;
    }
    const auto& move = active.planned.moves[active.next];
    if (!begin_copy(active, move)) { // its node has lost the CPU or memory
        drop_plan(number);
        return;
    }
    const ticks copying = copy_time(move);
    result_.moves.copy_s += in_seconds(copying);
    queue_.push(provide_instances(move.to) + copying + options_.moves.downtime, event_class::moved, number,
                ++active.events);
}

/// The pod runs at its new place, which is free, from now on.
void simulation::relocate(const vgpualloc::plan::pod_move& move) {
    const auto pod = static_cast<std::uint32_t>(move.pod.at());
    discipline_->on_end(pod, *this);
    booking moved = ledger_->booking_of(move.pod);
    moved.where = move.to;
    ledger_->release(move.pod);
    const auto booked = ledger_->adopt(std::move(moved));
    VGA_ASSERT(booked.has_value(), "a free place takes a pod");
    result_.pods[pod].booking = booked->slot;
    update_node(move.from.node);
    if (move.to.node != move.from.node) update_node(move.to.node);
    ++result_.moves.done;
    pod_times& times = result_.times[pod];
    times.node = move.to.node;
    if (times.moves++ == 0) ++result_.moves.pods_moved;
    times.delayed += options_.moves.downtime;
    result_.moves.downtime_s += in_seconds(options_.moves.downtime);
    if (const auto& duration = input_->pods[pod].duration) {
        queue_.push(times.begun + *duration + times.delayed, event_class::finish, pod, times.round());
    }
    const ticks estimate = jobs_.estimate(jobs_.job_of(pod));
    discipline_->on_start(pod, estimate == ticks::max() ? estimate : times.begun + estimate + times.delayed, *this);
}

bool simulation::is_stale_move(const event& happening) const noexcept {
    const auto at = std::ranges::find(active_plans_, happening.subject, &room_plan::number);
    return at == active_plans_.end() || at->events != happening.round;
}

/// A copy is there, or the pod that was copied has ended.
void simulation::end_move(std::uint32_t number) {
    room_plan& active = *find_plan(number);
    if (active.copy_number) {
        end_copy(active);
        relocate(active.planned.moves[active.next]);
        ++active.next;
        record();
    }
    go_on(number);
}

/// The plan's copy is given up and its devices are open to all again.
simulation::room_plan simulation::close_plan(std::uint32_t number) {
    const auto at = std::ranges::find(active_plans_, number, &room_plan::number);
    end_copy(*at);
    room_plan result = std::move(*at);
    active_plans_.erase(at);
    for (const auto& [node, device] : result.closed) {
        service_.reopen(node, device);
        update_node(node);
    }
    capacity_freed_ = true;
    pass_due_ = true;
    return result;
}

/// All moves are done: the pod that waits gets its place.
void simulation::complete(std::uint32_t number) {
    room_plan& done = *find_plan(number);
    if (!done.pod) {
        discipline_->on_cluster_change(*this);
        (void)close_plan(number);
        return;
    }
    const std::uint32_t pod = *done.pod;
    const placement where = done.planned.where;
    const auto& request = request_of(pod);
    const bool may_start = has_quota(jobs_.job_of(pod)) && is_free(*ledger_, where, request.cpu, request.memory);
    if (!may_start) { // others have taken the quota, or the node's CPU or memory
        drop_plan(number);
        return;
    }
    const auto booked = ledger_->adopt(
        {.owner = pod_id{pod}, .cpu = request.cpu, .memory = request.memory, .where = where, .tags = request.tags});
    VGA_ASSERT(booked.has_value(), "a free place takes a pod");
    const bool took_time = !close_plan(number).closed.empty();
    --waiting_;
    begin({.pod = pod, .booking = booked->slot}, provide_instances(where));
    if (took_time) discipline_->on_cluster_change(*this);
}

/// The pod that waits is tried as any other one. Moves that were not begun may be made by other plans.
void simulation::drop_plan(std::uint32_t number) {
    const room_plan dropped = close_plan(number);
    ++result_.moves.dropped;
    const auto begun = std::min(dropped.planned.moves.size(), std::size_t{dropped.next} + 1);
    tokens_ += static_cast<double>(dropped.planned.moves.size() - begun);
    discipline_->on_cluster_change(*this);
    if (!dropped.pod) return;
    --waiting_;
    enqueue(jobs_.job_of(*dropped.pod));
}

/// A pod ends that a plan would move: its place is free without that.
void simulation::end_in_plans(std::uint32_t pod) {
    for (room_plan& active : active_plans_) {
        const bool is_copied = active.copy_number && active.planned.moves[active.next].pod == pod_id{pod};
        for (std::size_t step = active.next; step < active.planned.moves.size(); ++step) {
            if (active.planned.moves[step].pod == pod_id{pod}) active.gone[step] = true;
        }
        if (!is_copied) continue;
        end_copy(active);
        queue_.push(now_, event_class::moved, active.number, ++active.events);
    }
}

/// A node or its devices have changed: no plan that has to do with it is worth more than it was made for.
void simulation::drop_plans_on(node_index node) {
    std::vector<std::uint32_t> concerned;
    for (const room_plan& active : active_plans_) {
        if (touches(active.planned, node)) concerned.push_back(active.number);
    }
    for (const std::uint32_t number : concerned) drop_plan(number);
}

/// Leaves the pods of the workload: a fault that reaches a copy ends its plan.
void simulation::drop_plans_of_copies(std::vector<std::uint32_t>& stopped) {
    std::vector<std::uint32_t> concerned;
    for (const room_plan& active : active_plans_) {
        if (active.copy_number && std::ranges::find(stopped, *active.copy_number) != stopped.end()) {
            concerned.push_back(active.number);
        }
    }
    std::erase_if(stopped, [this](std::uint32_t pod) { return pod >= input_->pods.size(); });
    for (const std::uint32_t number : concerned) drop_plan(number);
}

} // namespace vgpusim
