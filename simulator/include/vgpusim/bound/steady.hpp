// What any policy could reach in a run whose pods leave: of the GPUs that are asked for, and in waiting.
#pragma once

#include <string>
#include <string_view>

#include "vgpualloc/plan/lp.hpp"
#include "vgpusim/engine/bound_figures.hpp"
#include "vgpusim/engine/record.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// Why these averages do not hold for a run, as a clause; empty where they do.
[[nodiscard]] std::string why_not_steady(const simulation_input& input, const run_config& config);

/// Bounds of an input whose pods leave and of which why_not_steady() says nothing, under the discipline of `config`;
/// with a finished run of the same input also what it reached. Errors: those of the packing program and of the solver.
[[nodiscard]] expected<steady_figures> steady_bounds_of(const simulation_input& input, const run_config& config,
                                                        const run_record* finished, vgpualloc::plan::lp_solver& solver);

/// What a summary.json says that its run reached of these bounds. Errors: it lacks a figure (missing), or its run had
/// another discipline than `config` (mismatch).
[[nodiscard]] expected<void> read_steady(const document& summary, const std::string& path, const run_config& config,
                                         steady_figures& figures);

} // namespace vgpusim
