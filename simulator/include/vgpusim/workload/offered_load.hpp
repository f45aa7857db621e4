// The load that a workload offers where pods leave: how much of the cluster its pods would keep busy if all were
// placed.
#pragma once

#include <optional>

#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

/// Rate of arrival × mean duration × GPUs asked for, of all GPUs: the GPU time that pods ask for over the time between
/// the first and the last arrival. At 1 the cluster would be just full. Pods that never leave have no duration and are
/// not counted. Nothing where no pod leaves, the cluster has no GPUs, or all pods arrive at one instant. `gpus` is the
/// capacity of the whole cluster, whose nodes the input may have lost to its replay.
[[nodiscard]] std::optional<double> offered_load_of(const simulation_input& input, milli_gpu gpus);

/// Moves the arrivals apart or together by one factor, durations as they are, until the workload offers `target` (above
/// 0). Errors, with the field "offered_load": no pod that asks for a GPU leaves, no GPUs, all pods arrive at one
/// instant, or the arrivals would span less than a tick or more than 10^12 seconds.
[[nodiscard]] expected<void> set_offered_load(simulation_input& input, milli_gpu gpus, double target);

} // namespace vgpusim
