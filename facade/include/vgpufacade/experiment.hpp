// Many simulations that are compared, as a call: every policy on every list, at every load, with every seed.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "vgpufacade/columns.hpp"
#include "vgpufacade/core_names.hpp"
#include "vgpufacade/simulate.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpusim/study/compare_seeds.hpp"
#include "vgpusim/study/experiment.hpp"

namespace vgpufacade {

/// What is measured of a cell, one run: vgpusim::compared_measures, and then these.
inline constexpr std::string_view more_measures[] = {"pods_arrived", "accepted_ratio", "accepted_memory_ratio"};
inline constexpr std::size_t cell_measures = std::size(vgpusim::compared_measures) + std::size(more_measures);

/// What is known of a cell: by measure, NaN where the run has no such figure.
using cell_values = std::vector<double>;

/// The names of all measures, in that order.
[[nodiscard]] std::vector<std::string> measure_names();
/// What a cell has of a run that is finished.
[[nodiscard]] cell_values measures_of(const simulation_outcome& outcome);
/// What the run was at every whole percent of load: load_pct, then vgpusim::load_metric_names. Percents without an
/// event nearby are left out. The run has a sample after every event, and its pods stay.
[[nodiscard]] table curve_of(const simulation_outcome& outcome);

/// Finished cells that a caller keeps. An address is a SHA-256 over the version, the inputs and the options that decide
/// the values.
using cell_store = vgpusim::result_store<cell_values>;

/// Replays, on so many threads, every cell that the store does not know, and stores it. A row per cell, by list, then
/// load, policy and seed: policy, list (texts), load (real; NaN: as the run or the model says), seed, address (text),
/// then a column for each measure. Means over time are over the time of the run itself. The table does not depend on
/// the number of threads. `follow.tell` gets the cells that are done; it, `follow.stop` and the store are never called
/// by two threads at once. Fields of `plan` that name inputs name what the source has. Errors:
/// seeds or loads that the command line refuses, those of vgpusim::check_lists(), of the inputs and of the replays;
/// stopped.
[[nodiscard]] expected<table> run_experiment(const vgpuformats::input_source& source, const vgpusim::experiment& plan,
                                             std::size_t jobs, const cell_store& store = {},
                                             const progress& follow = {});

} // namespace vgpufacade
