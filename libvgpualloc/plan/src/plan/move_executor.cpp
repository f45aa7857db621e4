#include "vgpualloc/plan/move_executor.hpp"

#include <algorithm>
#include <set>

#include "vgpualloc/model/trial.hpp"

namespace vgpualloc::plan {

namespace {

bool involves(const move_plan& planned, node_index node) {
    return planned.where.node == node || std::ranges::any_of(planned.moves, [node](const pod_move& move) {
               return move.from.node == node || move.to.node == node;
           });
}

/// Whether a placement is free, on devices that are closed to all others too.
bool is_free(const ledger& book, const placement& where, milli_cpu cpu, bytes memory) {
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

bool move_executor::moves(pod_id pod) const noexcept {
    return std::ranges::any_of(active_, [pod](const active_plan& active) {
        return std::ranges::find(active.planned.moves, pod, &pod_move::pod) != active.planned.moves.end();
    });
}

std::vector<move_executor::active_plan>::iterator move_executor::find(std::uint32_t number) noexcept {
    return std::ranges::find(active_, number, &active_plan::number);
}

bool move_executor::is_current(move_ticket ticket) const noexcept {
    const auto at = std::ranges::find(active_, ticket.plan, &active_plan::number);
    return at != active_.end() && at->steps == ticket.step;
}

/// Whether the moves can be made one after the other and the arriving pod gets its place then.
bool move_executor::is_possible(const move_plan& planned, const std::optional<booking>& arriving) {
    if (planned.moves.empty() || static_cast<double>(planned.moves.size()) > tokens_) return false;
    const trial attempt{*ledger_};
    for (const pod_move& move : planned.moves) {
        const booking* const running = ledger_->find_booking(move.pod);
        if (running == nullptr || running->where != move.from || !ledger_->is_committed(move.pod)) return false;
        booking moved = *running;
        moved.where = move.to;
        ledger_->release(move.pod);
        if (!ledger_->reserve(std::move(moved))) return false;
        ledger_->commit(move.pod);
    }
    return !arriving || ledger_->reserve(*arriving).has_value();
}

bool move_executor::start(move_plan planned, std::optional<booking> arriving) {
    if (arriving) arriving->where = planned.where;
    if (!is_possible(planned, arriving)) return false;
    tokens_ -= static_cast<double>(planned.moves.size());
    active_plan& active = active_.emplace_back();
    const std::uint32_t number = active.number = next_plan_++;
    active.arriving = std::move(arriving);
    active.obsolete.assign(planned.moves.size(), false);
    active.planned = std::move(planned);
    if (options_.instant) {
        for (; active.next < active.planned.moves.size(); ++active.next) relocate(active.planned.moves[active.next]);
        complete(number);
    } else {
        close_devices(active);
        go_on(number);
    }
    return true;
}

/// No other pod goes to the devices of the plan's new places while it is carried out: what becomes free bit by bit, and
/// what is free already, is for the pods of the plan.
void move_executor::close_devices(active_plan& active) {
    std::set<std::pair<node_index, device_index>> devices;
    const auto add = [&devices](const placement& where) {
        for (const auto& share : where.shares) devices.emplace(where.node, share.device);
    };
    for (const pod_move& move : active.planned.moves) add(move.to);
    if (active.arriving) add(active.planned.where);
    active.closed.assign(devices.begin(), devices.end());
    for (const auto& [node, device] : active.closed) host_->set_closed(node, device, true);
}

/// Begins the next move of a plan, or completes the plan when all are done.
void move_executor::go_on(std::uint32_t number) {
    active_plan& active = *find(number);
    while (active.next < active.planned.moves.size() && active.obsolete[active.next]) ++active.next;
    if (active.next == active.planned.moves.size()) {
        complete(number);
        return;
    }
    const pod_move& move = active.planned.moves[active.next];
    if (!book_copy(active, move)) { // it is not free: others have taken the part, or the node's CPU or memory
        drop(number);
        return;
    }
    host_->begin_copy({.plan = number, .step = ++active.steps}, move);
}

/// Books the new place for the copy of a pod. Inside a node the copy needs no further CPU and memory of the host.
bool move_executor::book_copy(active_plan& active, const pod_move& move) {
    const booking* const running = ledger_->find_booking(move.pod);
    if (running == nullptr || running->where != move.from) return false;
    const bool same_node = move.to.node == move.from.node;
    const milli_cpu cpu = same_node ? milli_cpu{} : running->cpu;
    const bytes memory = same_node ? bytes{} : running->memory;
    if (!is_free(*ledger_, move.to, cpu, memory)) return false;
    if (free_copies_.empty()) free_copies_.push_back(host_->new_copy());
    active.copy = free_copies_.back();
    free_copies_.pop_back();
    const auto booked = ledger_->adopt({.owner = *active.copy, .cpu = cpu, .memory = memory, .where = move.to});
    VGA_ASSERT(booked.has_value(), "a free place takes a copy");
    host_->use_changed(move.to.node);
    return true;
}

void move_executor::end_copy(active_plan& active) {
    if (!active.copy) return;
    const node_index where = ledger_->booking_of(*active.copy).where.node;
    ledger_->release(*active.copy);
    free_copies_.push_back(*std::exchange(active.copy, std::nullopt));
    host_->use_changed(where);
}

/// The pod runs at its new place, which is free, from now on.
void move_executor::relocate(const pod_move& move) {
    host_->leaves(move);
    booking moved = ledger_->booking_of(move.pod);
    moved.where = move.to;
    ledger_->release(move.pod);
    const auto booked = ledger_->adopt(std::move(moved));
    VGA_ASSERT(booked.has_value(), "a free place takes a pod");
    host_->use_changed(move.from.node);
    if (move.to.node != move.from.node) host_->use_changed(move.to.node);
    host_->arrives(move, *booked);
}

void move_executor::copied(move_ticket ticket) {
    if (!is_current(ticket)) return;
    active_plan& active = *find(ticket.plan);
    if (active.copy) {
        end_copy(active);
        relocate(active.planned.moves[active.next]);
        ++active.next;
    }
    go_on(ticket.plan);
}

/// Ends the plan's copy and opens its devices to all pods again.
move_executor::active_plan move_executor::close(std::uint32_t number) {
    const auto at = find(number);
    end_copy(*at);
    active_plan result = std::move(*at);
    active_.erase(at);
    for (const auto& [node, device] : result.closed) host_->set_closed(node, device, false);
    return result;
}

/// All moves are done: the arriving pod gets its place.
void move_executor::complete(std::uint32_t number) {
    const std::optional<booking>& arriving = find(number)->arriving;
    ended_plan end;
    if (arriving) {
        end.arriving = arriving->owner.pod();
        const bool may_start = host_->may_start(arriving->owner.pod()) && !ledger_->is_live(arriving->owner.pod()) &&
                               is_free(*ledger_, arriving->where, arriving->cpu, arriving->memory);
        if (!may_start) { // others have taken the quota, or the node's CPU or memory
            drop(number);
            return;
        }
        const auto booked = ledger_->adopt(*arriving);
        VGA_ASSERT(booked.has_value(), "a free place takes a pod");
        end.booked = *booked;
    }
    end.closed_devices = !close(number).closed.empty();
    host_->ended(end);
}

/// Moves that were not begun give their tokens back.
void move_executor::drop(std::uint32_t number) {
    const active_plan dropped = close(number);
    const auto begun = std::min(dropped.planned.moves.size(), std::size_t{dropped.next} + 1);
    tokens_ += static_cast<double>(dropped.planned.moves.size() - begun);
    ended_plan end{.dropped = true, .closed_devices = !dropped.closed.empty()};
    if (dropped.arriving) end.arriving = dropped.arriving->owner.pod();
    host_->ended(end);
}

void move_executor::pod_ended(pod_id pod) {
    for (active_plan& active : active_) {
        const bool is_copied = active.copy && active.planned.moves[active.next].pod == pod;
        for (std::size_t step = active.next; step < active.planned.moves.size(); ++step) {
            if (active.planned.moves[step].pod == pod) active.obsolete[step] = true;
        }
        if (!is_copied) continue;
        end_copy(active);
        host_->go_on_soon({.plan = active.number, .step = ++active.steps});
    }
}

/// Dropping a plan may start others, so that they are found before the first one is dropped.
template <class Predicate>
void move_executor::drop_where(Predicate concerns) {
    std::vector<std::uint32_t> concerned;
    for (const active_plan& active : active_) {
        if (concerns(active)) concerned.push_back(active.number);
    }
    for (const std::uint32_t number : concerned) cancel(number);
}

void move_executor::node_changes(node_index node) {
    drop_where([node](const active_plan& active) { return involves(active.planned, node); });
}

void move_executor::fault_hits(std::span<const pod_id> pods) {
    drop_where([pods](const active_plan& active) {
        return active.copy && std::ranges::find(pods, *active.copy) != pods.end();
    });
}

bool move_executor::cancel(std::uint32_t plan) {
    if (find(plan) == active_.end()) return false;
    drop(plan);
    return true;
}

} // namespace vgpualloc::plan
