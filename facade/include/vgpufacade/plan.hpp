// Which pods of a cluster would have to move so that one that waits fits, or so that devices or nodes become empty.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vgpufacade/core_names.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpuops/whatif/moves.hpp"
#include "vgpusim/workload/cluster_files.hpp"

namespace vgpufacade {

/// Names of inputs are those of a source. One of `pod`, `added_pod` and `consolidated` is not empty.
struct plan_question {
    std::vector<std::string> cluster; ///< inputs with the objects
    vgpusim::dialect_files dialects{};
    std::string pod{};                       ///< a pending pod, by name or namespace/name
    std::string added_pod{};                 ///< an input with one manifest
    std::string consolidated{};              ///< "devices" or "nodes"
    bool steps_given = false;                ///< asked.budget.steps_max is meant as it is
    std::vector<std::string> labels{};       ///< KEY=VALUE, which pods that move have
    std::optional<double> downtime_s{};      ///< device-seconds in all; none: no limit
    std::optional<double> move_s{};          ///< downtime of a move; none: as in asked.costs
    std::optional<double> copy_s_per_gib{};  ///< of device memory; likewise
    vgpuops::whatif::moves_question asked{}; ///< its solver is the one of this build
};

/// Errors: those of the inputs; no question or more than one; a pod that is not known or does not wait; stopped.
[[nodiscard]] expected<vgpuops::whatif::moves_answer>
plan_moves(plan_question question, const vgpuformats::input_source& source, const stop_signal& stop = {});

} // namespace vgpufacade
