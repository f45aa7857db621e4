// The event loop: what it counts.
#include <algorithm>

#include "vgpusim/engine/simulation.hpp"

namespace vgpusim {

void simulation::update_node(node_index where) {
    if (!counts_amounts()) return;
    const vgpualloc::node_view view = allocator_->view_of(where);
    if (allocator_->id_generation() != id_generation_) {
        gauges_.forget_ids();
        id_generation_ = allocator_->id_generation();
    }
    gauges_.update(view, service_.is_stopped(where));
}

requested_units simulation::served() const noexcept {
    return {.memory = std::min(served_.memory, units_total_), .compute = std::min(served_.compute, units_total_)};
}

sample simulation::state_at(ticks time) const {
    return {.time = time,
            .arrived_milli = input_->requested.milli(arrived_.larger()),
            .allocated_milli = gauges_.allocated_milli,
            .served = served(),
            .unusable_micro = gauges_.unusable_micro,
            .used_nodes = gauges_.used_nodes,
            .used_gpus = gauges_.used_gpus,
            .waiting = waiting_,
            .running = running_,
            .devices = gauges_.devices};
}

void simulation_result::extend_to(ticks end) {
    if (!usage.has_begun() || end <= usage.end()) return;
    const std::int64_t span = (end - usage.end()).count();
    for (std::size_t i = 0; i < stranded_at_end.size(); ++i) stranded_sums[i].hold(stranded_at_end[i], span);
    usage.hold(at_end, end);
}

void simulation::record() {
    if (!counts_amounts()) return;
    if (options_.sample_interval == ticks{0}) add_sample(now_);
    for (std::size_t i = 0; i < result_.stranded_max.size(); ++i) {
        result_.stranded_max[i] = std::max(result_.stranded_max[i], gauges_.stranded[i]);
    }
}

void simulation::add_sample(ticks time) {
    result_.samples.push_back(state_at(time));
    result_.stranded.insert(result_.stranded.end(), gauges_.stranded.begin(), gauges_.stranded.end());
}

void simulation::note_peak() {
    if (!counts_amounts()) return;
    result_.served_peak = std::max(result_.served_peak, served().larger());
    if (served_.larger() > units_total_) result_.served_beyond_total = true;
    if (gauges_.allocated_milli > result_.peak.state.allocated_milli) {
        result_.peak = {.state = state_at(now_), .events = ledger_->next_event()};
    }
}

void simulation::hold(ticks until) {
    if (!counts_amounts()) {
        now_ = until;
        return;
    }
    if (!result_.profiles.empty() && result_.usage.has_begun()) {
        const std::int64_t span = (until - now_).count();
        for (std::size_t i = 0; i < gauges_.stranded.size(); ++i) {
            result_.stranded_sums[i].hold(gauges_.stranded[i], span);
        }
    }
    result_.usage.hold(amounts(), until);
    now_ = until;
}

amounts_in_use simulation::amounts() const noexcept {
    const requested_units now = served();
    return {.allocated_milli = gauges_.allocated_milli,
            .served = now.larger(),
            .served_memory = now.memory,
            .served_compute = now.compute,
            .unusable_micro = gauges_.unusable_micro,
            .used_nodes = gauges_.used_nodes,
            .used_gpus = gauges_.used_gpus,
            .running = running_,
            .waiting = waiting_,
            .memory_mib = gauges_.devices.memory_mib,
            .compute_milli = gauges_.devices.compute_milli,
            .watts = gauges_.devices.watts};
}

/// Reading the clock twice costs as much as a tenth of a decision.
std::uint64_t simulation::decision_begin() const noexcept { return counts_amounts() ? now_ns() : 0; }

void simulation::count_decision(std::uint64_t begin) {
    ++result_.decisions;
    if (counts_amounts()) result_.decision_latency.add(now_ns() - begin);
}

/// Drops the part of the ledger's log that the allocator has read, so that bookings which have ended make room for new
/// ones.
void simulation::forget_log() {
    constexpr std::uint64_t events_kept = 1024;
    if (allocator_->next_event() - ledger_->first_event() < events_kept) return;
    ledger_->checkpoint(allocator_->next_event());
}

} // namespace vgpusim
