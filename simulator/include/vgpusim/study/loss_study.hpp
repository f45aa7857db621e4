// Policies x workload models x loads x seeds: which part of the pods each policy places, where pods that do not fit are
// lost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vgpuformats/input_source.hpp"
#include "vgpusim/engine/record.hpp"
#include "vgpusim/outputs/loss_figures.hpp"
#include "vgpusim/study/experiment.hpp"

namespace vgpusim {

/// Makes an experiment of the configuration and the lists that a scenario or flags name. Errors: those of
/// check_lists(), and keys that the study sets itself.
[[nodiscard]] expected<experiment> check_loss_study(const run_config& run, const study_lists& lists);

/// The part about keys: those that the study sets itself.
[[nodiscard]] expected<void> check_loss_study_keys(const run_config& run);

/// What is kept of one run.
struct loss_run {
    loss_figures figures;
    std::vector<std::string> classes{}; ///< by position in loss_figures::of_classes
    std::int64_t started = 0;           ///< pods that started, those before the measured ones too
    std::int64_t moved = 0;             ///< times that one of them was moved
};
using loss_results = experiment_results<loss_run>;

/// That of a run of an input with `measured`.
[[nodiscard]] loss_run loss_run_of(const run_record& record, const simulation_input& input);

/// Errors: those of load_input and replay.
[[nodiscard]] expected<loss_results> run_loss_study(const experiment& study, const vgpuformats::input_source& source,
                                                    const experiment_control& control);

} // namespace vgpusim
