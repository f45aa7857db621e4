// What every device of a run was used for over time, read from the ledger's log.
#pragma once

#include <cstdint>
#include <string>

#include "vgpureport/history.hpp"
#include "vgpusim/engine/record.hpp"

namespace vgpusim {

/// What pods of one request are called: the class that they come from, or the number of GPUs that they ask for.
[[nodiscard]] std::string class_name(const simulation_input& input, std::uint32_t request);

/// Every part that was taken and given back, and every device that was closed and opened, with the time. Parts of MIG
/// GPUs and NPUs are called by their profile or template, others by the class of their pod. Nodes are counted as in
/// simulation_input::node_list_order.
[[nodiscard]] vgpureport::occupancy_history history_of(const run_record& record, const simulation_input& input,
                                                       const stop_signal& stop = {});

/// How many slices a device has whose parts have fixed places; 0 for any other.
[[nodiscard]] std::uint16_t slices_of(const vgpualloc::device_spec& spec);

} // namespace vgpusim
