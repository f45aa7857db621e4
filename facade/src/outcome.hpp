// What a finished simulation is made of.
#pragma once

#include <memory>
#include <string>

#include "vgpufacade/simulate.hpp"

namespace vgpufacade {

struct finished_run {
    std::shared_ptr<const vgpusim::loaded_input> loaded;
    vgpusim::run_record record;
};

struct simulation_outcome::finished {
    finished_run run;
    std::shared_ptr<const finished> baseline; ///< null: there is none
    std::string answer;
};

/// The tables of a run.
[[nodiscard]] table pods_table(const finished_run& run);
[[nodiscard]] table timeseries_table(const finished_run& run);
[[nodiscard]] table summary_table(const document& summary);

} // namespace vgpufacade
