// pods.csv: what became of each pod.
#pragma once

#include <string>

#include "vgpusim/engine/record.hpp"

namespace vgpusim {

/// The text of pods.csv: a row per pod in order of arrival (docs/formats.md).
[[nodiscard]] std::string pods_csv(const run_record& record, const simulation_input& input);

} // namespace vgpusim
