// The event loop.
#include "vgpusim/engine/simulation.hpp"

#include <utility>

namespace vgpusim {

using vgpualloc::node_index;
using vgpualloc::pod_id;
using vgpualloc::ticks;

simulation::simulation(const simulation_input& input, vgpualloc::ledger& book, vgpualloc::allocator& alloc,
                       discipline& rules, std::shared_ptr<vgpualloc::fragmentation_model> fragmentation,
                       simulation_options options)
    : input_{&input}, ledger_{&book}, allocator_{&alloc}, discipline_{&rules}, options_{options},
      gauges_{std::move(fragmentation), book.nodes().nodes.size()}, id_generation_{alloc.id_generation()} {
    requests_.reserve(input.requests.size());
    for (const auto& request : input.requests) {
        const auto known = alloc.intern(request);
        VGA_ASSERT(known.has_value(), "a workload's requests are within the core's limits");
        requests_.push_back(*known);
    }
    result_.pods.resize(input.pods.size());
    for (std::size_t i = 0; i < book.nodes().nodes.size(); ++i) update_node(node_index{i});
    if (options_.sample_interval == ticks{0}) result_.samples.reserve(input.pods.size());
}

void simulation::next_arrival() {
    if (arrivals_queued_ == input_->pods.size()) return;
    queue_.push(input_->pods[arrivals_queued_].arrival, event_class::arrival,
                static_cast<std::uint32_t>(arrivals_queued_));
    ++arrivals_queued_;
}

void simulation::schedule_attempts() {
    for (const discipline::attempt& next : attempts_) queue_.push(next.time, event_class::attempt, next.pod);
    attempts_.clear();
}

void simulation::update_node(node_index where) {
    const vgpualloc::node_view view = allocator_->view_of(where);
    if (allocator_->id_generation() != id_generation_) {
        gauges_.forget_ids();
        id_generation_ = allocator_->id_generation();
    }
    gauges_.update(view);
}

sample simulation::state_at(ticks time) const {
    return {.time = time,
            .arrived_milli = arrived_milli_,
            .allocated_milli = gauges_.allocated_milli,
            .served_milli = served_milli_,
            .unusable_micro = gauges_.unusable_micro,
            .used_nodes = gauges_.used_nodes,
            .used_gpus = gauges_.used_gpus};
}

void simulation::record(ticks time) { result_.samples.push_back(state_at(time)); }

void simulation::note_peak(ticks time) {
    if (gauges_.allocated_milli > result_.peak.state.allocated_milli) {
        result_.peak = {.state = state_at(time), .events = ledger_->next_event()};
    }
}

void simulation::attempt(const event& happening) {
    const arriving_pod& pod = input_->pods[happening.pod];
    const std::uint64_t begin = now_ns();
    const auto placed = allocator_->place(*ledger_, pod_id{happening.pod}, requests_[pod.request]);
    result_.decision_latency.add(now_ns() - begin);
    ++result_.decisions;
    pod_outcome& outcome = result_.pods[happening.pod];
    if (placed) {
        outcome.booking = placed->booking.slot;
        outcome.reason = vgpualloc::rejection_code::none;
        ++result_.placed;
        served_milli_ += input_->requested[pod.request].count();
        update_node(placed->node);
        note_peak(happening.time);
        queue_.push(happening.time, event_class::start, happening.pod);
    } else {
        outcome.reason = placed.error().main_code();
        if (discipline_->on_rejection(happening.pod, placed.error(), happening.time, attempts_)) ++result_.failed;
    }
    if (options_.sample_interval == ticks{0}) record(happening.time);
}

void simulation::finish(const event& happening) {
    const node_index where = ledger_->booking_of(pod_id{happening.pod}).where.node;
    ledger_->release(pod_id{happening.pod});
    ++result_.finished;
    served_milli_ -= input_->requested[input_->pods[happening.pod].request].count();
    update_node(where);
    if (options_.sample_interval == ticks{0}) record(happening.time);
    discipline_->on_finish(happening.pod, happening.time, attempts_);
}

void simulation::handle(const event& happening) {
    // A sample is no part of the run: the last one may come long after everything has ended.
    if (happening.what != event_class::sample) {
        result_.usage.hold({.allocated_milli = gauges_.allocated_milli,
                            .served_milli = served_milli_,
                            .unusable_micro = gauges_.unusable_micro},
                           happening.time);
    }
    switch (happening.what) {
    case event_class::finish:
        finish(happening);
        break;
    case event_class::arrival:
        result_.usage_of_arrivals = result_.usage;
        arrived_milli_ += input_->requested[input_->pods[happening.pod].request].count();
        discipline_->on_arrival(happening.pod, happening.time, attempts_);
        next_arrival();
        break;
    case event_class::attempt:
        attempt(happening);
        break;
    case event_class::start:
        if (const auto duration = input_->pods[happening.pod].duration) {
            queue_.push(happening.time + *duration, event_class::finish, happening.pod);
        }
        break;
    case event_class::sample:
        record(happening.time);
        if (!queue_.empty()) queue_.push(happening.time + options_.sample_interval, event_class::sample, 0);
        break;
    }
    schedule_attempts();
}

simulation_result simulation::run(const progress& tell) {
    constexpr std::uint64_t events_between_marks = 1U << 14U;
    const std::uint64_t begin = now_ns();
    const double cpu_begin = cpu_seconds();
    next_arrival();
    const ticks first_arrival = input_->pods.empty() ? ticks{} : input_->pods.front().arrival;
    result_.peak = {.state = state_at(first_arrival), .events = ledger_->next_event()};
    if (options_.sample_interval > ticks{0} && !queue_.empty()) queue_.push(first_arrival, event_class::sample, 0);
    std::uint64_t handled = 0;
    while (!queue_.empty()) {
        handle(queue_.pop());
        if (tell && ++handled % events_between_marks == 0) tell(arrivals_queued_);
    }
    result_.loop_ns = now_ns() - begin;
    result_.loop_cpu_s = cpu_seconds() - cpu_begin;
    return std::move(result_);
}

} // namespace vgpusim
