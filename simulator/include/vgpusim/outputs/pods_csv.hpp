// pods.csv: what became of each pod.
#pragma once

#include <string>

#include "vgpusim/engine/record.hpp"
#include "vgpusim/outputs/rows.hpp"

namespace vgpusim {

/// The text of pods.csv: a row per pod in order of arrival (docs/formats.md).
/// It is cut short once the caller wants an end.
[[nodiscard]] std::string pods_csv(const run_record& record, const simulation_input& input, stop_signal stop = {});

/// Appends the nodes of the row's pods, '|' between them.
void append_nodes(std::string& out, const outcome_row& row, const run_record& record);
/// Appends their GPUs: those of one node with '|' between them, ascending, and '/' before those of the next.
void append_gpus(std::string& out, const outcome_row& row, const run_record& record);

} // namespace vgpusim
