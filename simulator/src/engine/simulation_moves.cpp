// The event loop: pods that go elsewhere so that another one fits, and the time that this takes.
#include <algorithm>
#include <utility>

#include "vgpusim/engine/simulation.hpp"

namespace vgpusim {

using vgpualloc::pod_id;
using vgpualloc::ticks;

namespace {

double in_seconds(ticks time) {
    return static_cast<double>(time.count()) / static_cast<double>(vgpualloc::ticks_per_second.count());
}

} // namespace

/// Looks for moves that make room for a pod that fits nowhere, and begins them.
bool simulation::make_room(std::uint32_t pod) {
    if (options_.moves.planner == nullptr || tokens_ < 1.0) return false;
    const auto movable = [this](pod_id candidate) -> const vgpualloc::pod_request* {
        const auto number = static_cast<std::uint32_t>(candidate.at());
        const bool may_move = number < input_->pods.size() && ledger_->is_committed(candidate) &&
                              now_ >= result_.times[number].begun && !is_in_a_plan(number);
        return may_move ? &request_of(number) : nullptr;
    };
    auto planned = options_.moves.planner->plan(
        {.book = ledger_, .request = &request_of(pod), .tokens = tokens_, .movable = movable});
    if (!planned || planned->moves.empty()) return false;
    tokens_ -= static_cast<double>(planned->moves.size());
    ++result_.moves.planned;
    ++waiting_; // until its place is free
    room_plan& active = active_plans_.emplace_back();
    active.number = next_plan_++;
    active.pod = pod;
    active.planned = *std::move(planned);
    active.gone.assign(active.planned.moves.size(), false);
    go_on(active.number);
    return true;
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

/// Books something that is no pod of the workload: a copy, or the place that a pod has left. False if it is not free.
bool simulation::hold_place(room_plan& active, const vgpualloc::placement& where, bool with_host) {
    if (free_holds_.empty()) free_holds_.push_back(static_cast<std::uint32_t>(input_->pods.size()) + holds_made_++);
    const std::uint32_t number = free_holds_.back();
    vgpualloc::booking entry{.pod = pod_id{number}, .where = where};
    if (with_host) {
        const auto& moved = ledger_->booking_of(active.planned.moves[active.next].pod);
        entry.cpu = moved.cpu;
        entry.memory = moved.memory;
    }
    if (!ledger_->reserve(std::move(entry))) return false;
    free_holds_.pop_back();
    active.holds.push_back(number);
    update_node(where.node);
    return true;
}

void simulation::let_go(std::uint32_t hold) {
    const auto where = ledger_->booking_of(pod_id{hold}).where.node;
    ledger_->rollback(pod_id{hold});
    free_holds_.push_back(hold);
    update_node(where);
}

/// How long a pod is copied: by the memory of its parts, and first the MIG instances there have to be made.
ticks simulation::copy_time(const vgpualloc::plan::pod_move& move) {
    constexpr std::int64_t mib_per_gib = 1024;
    std::int64_t memory_mib = 0;
    for (const auto& share : move.from.shares) {
        const auto& spec = ledger_->nodes().spec_of(move.from.node, share.device);
        memory_mib += spec.mode->describe(spec, share.part).memory.count();
    }
    return ticks{options_.moves.copy_per_gib.count() * memory_mib / mib_per_gib};
}

/// Begins the next move of a plan, or what comes when all are done.
void simulation::go_on(std::uint32_t number) {
    while (true) {
        room_plan& active = *find_plan(number);
        if (active.next == active.planned.moves.size()) {
            complete(number);
            return;
        }
        const auto& move = active.planned.moves[active.next];
        if (active.gone[active.next]) { // it has ended, and its place is held
            ++active.next;
            continue;
        }
        const ticks copying = copy_time(move);
        if (copying == ticks{0} && options_.moves.downtime == ticks{0}) {
            if (!relocate(active, move)) {
                drop_plan(number);
                return;
            }
            ++active.next;
            continue;
        }
        if (!hold_place(active, move.to, move.to.node != move.from.node)) { // somebody else has taken it
            drop_plan(number);
            return;
        }
        active.copy = active.holds.back();
        active.holds.pop_back();
        result_.moves.copy_s += in_seconds(copying);
        const ticks made = provide_instances(move.to) - now_;
        queue_.push(now_ + made + copying + options_.moves.downtime, event_class::moved, number, active.next);
        return;
    }
}

/// The pod runs at its new place from now on, and what it leaves is kept for the one that waits.
bool simulation::relocate(room_plan& active, const vgpualloc::plan::pod_move& move) {
    const auto pod = static_cast<std::uint32_t>(move.pod.at());
    vgpualloc::booking moved = ledger_->booking_of(move.pod);
    const vgpualloc::placement from = moved.where;
    moved.where = move.to;
    ledger_->release(move.pod);
    const auto booked = ledger_->reserve(std::move(moved));
    if (!booked) { // somebody else has taken the place
        const auto restored = ledger_->reserve({.pod = move.pod,
                                                .cpu = request_of(pod).cpu,
                                                .memory = request_of(pod).memory,
                                                .where = from,
                                                .tags = request_of(pod).tags});
        VGA_ASSERT(restored.has_value(), "a pod that has just left a place has room there");
        ledger_->commit(move.pod);
        result_.pods[pod].booking = restored->slot;
        update_node(from.node);
        return false;
    }
    ledger_->commit(move.pod);
    result_.pods[pod].booking = booked->slot;
    const bool held = hold_place(active, from, false);
    VGA_ASSERT(held, "the place that a pod has left is free");
    update_node(move.to.node);
    ++result_.moves.done;
    pod_times& times = result_.times[pod];
    if (times.moves++ == 0) ++result_.moves.pods_moved;
    if (options_.moves.downtime == ticks{0}) return true;
    times.delayed += options_.moves.downtime;
    result_.moves.downtime_s += in_seconds(options_.moves.downtime);
    if (const auto& duration = input_->pods[pod].duration) {
        queue_.push(times.begun + *duration + times.delayed, event_class::finish, pod, times.round());
    }
    return true;
}

/// A copy is there, unless the plan or the pod has gone meanwhile.
void simulation::end_move(std::uint32_t number, std::uint32_t step) {
    room_plan* const active = find_plan(number);
    if (active == nullptr || active->next != step || !active->copy) return;
    let_go(*std::exchange(active->copy, std::nullopt));
    if (!relocate(*active, active->planned.moves[step])) {
        drop_plan(number);
        return;
    }
    ++active->next;
    go_on(number);
}

/// All moves are done: the pod that waits gets its place.
void simulation::complete(std::uint32_t number) {
    const auto at = std::ranges::find(active_plans_, number, &room_plan::number);
    const room_plan done = *std::move(at);
    active_plans_.erase(at);
    for (const std::uint32_t hold : done.holds) let_go(hold);
    const auto& request = request_of(done.pod);
    const auto booked = ledger_->reserve({.pod = pod_id{done.pod},
                                          .cpu = request.cpu,
                                          .memory = request.memory,
                                          .where = done.planned.where,
                                          .tags = request.tags});
    if (!booked) { // its node has lost the CPU, or the device is out of service
        ++result_.moves.dropped;
        --waiting_;
        enqueue(jobs_.job_of(done.pod));
        return;
    }
    ledger_->commit(pod_id{done.pod});
    --waiting_;
    begin({.pod = done.pod, .booking = booked->slot}, provide_instances(done.planned.where));
}

/// What is held is given back, and the pod that waits is tried as any other one.
void simulation::drop_plan(std::uint32_t number) {
    const auto at = std::ranges::find(active_plans_, number, &room_plan::number);
    const room_plan dropped = *std::move(at);
    active_plans_.erase(at);
    if (dropped.copy) let_go(*dropped.copy);
    for (const std::uint32_t hold : dropped.holds) let_go(hold);
    ++result_.moves.dropped;
    --waiting_;
    capacity_freed_ = true;
    enqueue(jobs_.job_of(dropped.pod));
}

/// A pod ends that a plan would move: its place is free without a move, and is kept.
void simulation::end_in_plans(std::uint32_t pod, const vgpualloc::placement& where) {
    for (room_plan& active : active_plans_) {
        for (std::size_t step = active.next; step < active.planned.moves.size(); ++step) {
            if (active.planned.moves[step].pod != pod_id{pod}) continue;
            active.gone[step] = true;
            const std::uint32_t number = active.number;
            if (step == active.next && active.copy) let_go(*std::exchange(active.copy, std::nullopt));
            if (!hold_place(active, where, false)) {
                drop_plan(number);
            } else if (step == active.next) {
                go_on(number);
            }
            return;
        }
    }
}

/// Nodes or devices have changed: no plan is worth more than it was made for.
void simulation::drop_all_plans() {
    while (!active_plans_.empty()) drop_plan(active_plans_.front().number);
}

} // namespace vgpusim
