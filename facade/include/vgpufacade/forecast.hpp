// When a cluster is full, if its use goes on growing as its history says.
#pragma once

#include <string>
#include <vector>

#include "vgpufacade/core_names.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpuops/forecast/forecast.hpp"
#include "vgpusim/workload/cluster_files.hpp"

namespace vgpufacade {

/// Names of inputs are those of a source.
struct forecast_question {
    std::vector<std::string> cluster; ///< inputs with the objects
    vgpusim::dialect_files dialects{};
    std::string history{}; ///< the input with GPUs in use over time (vgputraces::read_usage())
    std::string nodes{};   ///< only these count (kube::nodes_in_set()); empty: all
};

/// Errors: those of the inputs and of vgpuops::forecast::fit_trend(); missing where they have no node or no GPU; those
/// of vgpuops::show::overview_of(); stopped.
[[nodiscard]] expected<vgpuops::forecast::cluster_forecast>
forecast(const forecast_question& question, const vgpuformats::input_source& source, const stop_signal& stop = {});

} // namespace vgpufacade
