// The figures that sum a run up: every output takes them from here, so that no two of them differ.
#pragma once

#include <optional>
#include <vector>

#include "vgpusim/engine/record.hpp"

namespace vgpusim {

/// Ratios are fractions of all GPUs, 0 to 1, unless they say otherwise; 0 where the cluster has no GPUs. Where pods
/// leave, means are over the time from the first arrival to the last event, or to that of the last one of the runs that
/// are compared (simulation_result::extend_to()). Where they stay, or no time passes, the
/// state at the end stands in for a mean: the times of such a run are nothing but an order.
struct run_figures {
    double served_ratio = 0.0;         ///< what running pods ask for, per instant the larger of the next two: mean
    double served_memory_ratio = 0.0;  ///< of device memory
    double served_compute_ratio = 0.0; ///< of compute
    double served_peak_ratio = 0.0;    ///< after any event
    double allocation_mean_ratio = 0.0;
    /// The same mean, but only until the last pod has arrived: long pods that outlast the others do not thin it out.
    double allocation_until_last_arrival_ratio = 0.0;
    double allocation_peak_ratio = 0.0; ///< after any event
    double allocation_end_ratio = 0.0;
    double unusable_milli = 0.0;         ///< fragmentation F: mean
    double unusable_of_all_ratio = 0.0;  ///< the same
    double unusable_of_idle_ratio = 0.0; ///< mean F of the mean idle milli-GPU; 0 where none is idle
    double unusable_end_milli = 0.0;     ///< fragmentation F at the end
    double unusable_of_idle_end_ratio = 0.0;
};

[[nodiscard]] run_figures figures_of(const run_record& record);

/// Means over the time from the first arrival to the last event.
struct time_figures {
    double seconds = 0.0; ///< that this time has
    double running_pods = 0.0;
    double waiting_jobs = 0.0;
    double active_gpus = 0.0; ///< with any part in use
    double active_nodes = 0.0;
    double memory_mib = 0.0;               ///< of devices, given out
    double compute_milli = 0.0;            ///< thousandths of a device's compute, given out
    double watts = 0.0;                    ///< of the devices whose power is known
    double energy_kwh = 0.0;               ///< likewise, over all of the time
    std::vector<double> stranded_slices{}; ///< by position in simulation_result::profiles
};

/// Empty where no pod leaves, or no time passes.
[[nodiscard]] std::optional<time_figures> time_figures_of(const run_record& record);

} // namespace vgpusim
