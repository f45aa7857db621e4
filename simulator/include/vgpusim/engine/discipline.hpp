// A scheduling discipline: which waiting jobs are tried when, and what becomes of those that do not fit.
#pragma once

#include <cstdint>

#include "vgpualloc/model/placement.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

class scheduling_context;

/// The loop tells the discipline what happens. At the end of every instant in which something happened it asks for one
/// pass, in which the discipline starts what it wants (scheduling_context::try_start). Jobs and pods are positions, as
/// job_table and simulation_input number them. The context that is handed over is the same one in all calls.
class discipline {
public:
    virtual ~discipline() = default;

    /// Whether jobs that do not fit are kept. Otherwise every job is started or given up in the pass of its arrival.
    [[nodiscard]] virtual bool keeps_waiting() const noexcept = 0;
    /// All pods of a job have arrived; or it was stopped and is to run again, with its old place in the queue.
    virtual void on_arrival(std::uint32_t job, scheduling_context& run) = 0;
    /// A pod has started, and is planned to end at `planned_end` (ticks::max(): nobody knows).
    virtual void on_start(std::uint32_t /*pod*/, ticks /*planned_end*/, scheduling_context& /*run*/) {}
    /// A pod has ended or was stopped; its booking is still in the ledger while this is called.
    virtual void on_end(std::uint32_t /*pod*/, scheduling_context& /*run*/) {}
    /// A node or device went out of service, or came back.
    virtual void on_cluster_change(scheduling_context& /*run*/) {}
    /// Whether a pod beyond the minimum of its running job may start there now; the ledger has the placement already.
    [[nodiscard]] virtual bool approves_late_member(std::uint32_t /*pod*/, const vgpualloc::placement& /*where*/,
                                                    scheduling_context& /*run*/) {
        return true;
    }
    virtual void pass(scheduling_context& run) = 0;
};

} // namespace vgpusim
