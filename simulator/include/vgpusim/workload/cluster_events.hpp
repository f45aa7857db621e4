// What happens to the cluster of a workload of any format: events from a file, and failures that a model draws.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/input_reader.hpp"
#include "vgpusim/workload/settings.hpp"
#include "vgpusim/workload/workload.hpp"
#include "vgputraces/cluster_events.hpp"

namespace vgpusim {

/// Where the clock begins: at 0, or with the first arrival of a trace that has earlier ones.
[[nodiscard]] ticks beginning_of(const simulation_input& input);

/// Adds the events to those of the input. A node whose first event is that it joins is away from the beginning: from 0,
/// or from the first arrival where that is earlier. `source` is what errors call the file. Errors, with line and
/// column: a node or device that is not known, and events that do not follow from those before, such as a repair of
/// what works. Of a device and of its node they are told apart: a device is in service while both are. A crash is of a
/// pod by its name in pods.csv; whether it runs at that time, the run shows.
[[nodiscard]] expected<void> add_cluster_events(simulation_input& input,
                                                std::span<const vgputraces::cluster_event_row> rows,
                                                const std::string& source);

/// Draws failures and repairs of every node, or device, that no event of the input names, from the beginning to the
/// horizon: exponential times, from a stream of random numbers of its own for each, so that one more node changes
/// nothing for the others. What is broken at the horizon is repaired. Error out_of_range for more than 20,000,000
/// events; its field is "failures".
[[nodiscard]] expected<void> add_failures(simulation_input& input, const vgputraces::failure_model& model,
                                          std::uint64_t seed);

/// Reads what a configuration names as events and failures, and adds both.
[[nodiscard]] expected<void> load_cluster_events(const run_config& config, input_reader& from, simulation_input& input);

} // namespace vgpusim
