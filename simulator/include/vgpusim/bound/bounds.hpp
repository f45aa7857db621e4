// Upper bounds on what any policy could have served in a run, and what a policy achieved of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "vgpualloc/plan/lp.hpp"
#include "vgpusim/bound/pool.hpp"
#include "vgpusim/engine/bound_figures.hpp"
#include "vgpusim/engine/record.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

struct bound_question {
    std::optional<double> forced_load{};  ///< force the arrivals up to this load
    const run_record* finished = nullptr; ///< a run of the same input: its first failure ends the prefix
    run_config config{}; ///< of the run, or that it would have: its discipline says what is lost and what waits
    bool exact = false;
    std::size_t columns_max = 20'000; ///< of the integer program
    std::int64_t nodes_max = 100'000; ///< of the search for integers
};

/// Solves what there is to solve of an input that still has its nodes. Errors: an exact bound of a workload that is too
/// large, or whose pods want parts of several devices; devices with too many states; those of the solver.
[[nodiscard]] expected<bound_figures> bounds_of(const loaded_input& loaded, const bound_question& question,
                                                vgpualloc::plan::lp_solver& solver);

/// How many arrivals a run placed before it failed one for the first time.
[[nodiscard]] std::size_t placed_before_first_failure(const run_record& record);

/// What a run of the same input achieved.
[[nodiscard]] achieved_amount achieved_by(const run_record& record, const simulation_input& input);

/// Adds what a summary.json says that its run achieved. Errors: no summary of a run (malformed, missing), or that of
/// other pods, devices or another discipline than these figures are of (mismatch).
[[nodiscard]] expected<void> read_achieved(std::string_view text, const std::string& path, const loaded_input& loaded,
                                           const run_config& config, bound_figures& figures);

} // namespace vgpusim
