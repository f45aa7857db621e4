// The discrete-event loop: replays a workload against the allocator and records what happened.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpusim/discipline/discipline.hpp"
#include "vgpusim/engine/event_queue.hpp"
#include "vgpusim/engine/gauges.hpp"
#include "vgpusim/engine/latency.hpp"
#include "vgpusim/engine/over_time.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

inline constexpr std::uint32_t no_booking = std::numeric_limits<std::uint32_t>::max();

/// What became of one pod.
struct pod_outcome {
    std::uint32_t booking = no_booking; ///< position in ledger::bookings(); no_booking = never placed
    vgpualloc::rejection_code reason = vgpualloc::rejection_code::none; ///< of the last attempt that failed
};

/// The cluster after one event, or at one sampling time.
struct sample {
    vgpualloc::ticks time;
    std::int64_t arrived_milli = 0; ///< asked for by all pods that have arrived, failed ones too
    std::int64_t allocated_milli = 0;
    std::int64_t served_milli = 0;   ///< asked for by the pods that run
    std::int64_t unusable_micro = 0; ///< fragmentation F, millionths of a milli-GPU
    std::int64_t used_nodes = 0;
    std::int64_t used_gpus = 0;
};

struct simulation_options {
    /// Time between samples; 0 = a sample after every placement, failure and finish.
    vgpualloc::ticks sample_interval;
};

/// When the most was allocated; of equal moments the first.
struct allocation_peak {
    sample state;
    std::uint64_t events = 0; ///< of the ledger up to there
};

struct simulation_result {
    std::vector<pod_outcome> pods; ///< in order of arrival
    std::vector<sample> samples;
    over_time usage;             ///< from the first arrival to the last event
    over_time usage_of_arrivals; ///< from the first arrival to the last one
    allocation_peak peak;
    std::int64_t placed = 0;
    std::int64_t failed = 0;
    std::int64_t finished = 0;
    std::int64_t decisions = 0;
    std::uint64_t loop_ns = 0; ///< wall time of the loop
    double loop_cpu_s = 0.0;   ///< CPU time of the loop, which other processes on the machine do not lengthen
    latency_histogram decision_latency;

    /// Decisions per CPU second: the loop is one thread, so on an idle machine this is the rate by the wall clock too.
    [[nodiscard]] double decisions_per_s() const noexcept {
        return loop_cpu_s > 0.0 ? static_cast<double>(decisions) / loop_cpu_s : 0.0;
    }
};

/// One replay. The input, ledger and allocator must outlive it and not be used for anything else meanwhile.
class simulation {
public:
    /// Called now and then with the number of arrivals handled.
    using progress = std::function<void(std::size_t)>;

    simulation(const simulation_input& input, vgpualloc::ledger& book, vgpualloc::allocator& alloc, discipline& rules,
               std::shared_ptr<vgpualloc::fragmentation_model> fragmentation, simulation_options options);

    /// Runs until no event is left.
    [[nodiscard]] simulation_result run(const progress& tell);

    /// The state as the loop counts it.
    [[nodiscard]] gauges& state() noexcept { return gauges_; }

private:
    void next_arrival();
    void handle(const event& happening);
    void attempt(const event& happening);
    void finish(const event& happening);
    void update_node(vgpualloc::node_index where);
    [[nodiscard]] sample state_at(vgpualloc::ticks time) const;
    void record(vgpualloc::ticks time);
    void note_peak(vgpualloc::ticks time);
    void schedule_attempts();

    const simulation_input* input_;
    vgpualloc::ledger* ledger_;
    vgpualloc::allocator* allocator_;
    discipline* discipline_;
    simulation_options options_;
    gauges gauges_;
    event_queue queue_;
    std::vector<vgpualloc::request_id> requests_; ///< by position in simulation_input::requests
    std::vector<discipline::attempt> attempts_;
    simulation_result result_;
    std::size_t arrivals_queued_ = 0;
    std::int64_t arrived_milli_ = 0;
    std::int64_t served_milli_ = 0;
    std::uint64_t id_generation_ = 0;
};

} // namespace vgpusim
