// timeseries.csv: the cluster over time.
#pragma once

#include <string>

#include "vgpusim/engine/record.hpp"

namespace vgpusim {

/// The text of timeseries.csv: a row per sample (docs/formats.md).
[[nodiscard]] std::string timeseries_csv(const run_record& record);

} // namespace vgpusim
