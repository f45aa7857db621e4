// What a finished simulation or comparison says, as the lines that vgpusim prints.
#pragma once

#include <string>
#include <vector>

#include "vgpufacade/simulate.hpp"

namespace vgpufacade {

/// What `vgpusim run` prints, but for the inputs and where the report is.
[[nodiscard]] std::string outcome_text(const simulation_outcome& outcome);

/// What `vgpusim compare` prints of runs of the same input, likewise.
[[nodiscard]] std::string comparison_text(const std::vector<vgpusim::run_record>& records);

/// How much the arrivals ask for; empty where no pod leaves.
[[nodiscard]] std::string offered_load_words(const vgpusim::run_record& record);

} // namespace vgpufacade
