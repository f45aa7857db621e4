// What runs show, as sentences: computed from their figures, and careful about what one seed can show.
#pragma once

#include <string>
#include <vector>

#include "vgpusim/engine/record.hpp"

namespace vgpusim {

/// Which of two runs or more accepts the most of the GPUs asked for, and by how much; where that is equal, which serves
/// the most GPU time; where all pods run, under which they wait the least. It never goes by how many pods were placed:
/// who turns large pods away places more. A lead below vgpureport::lead_min_pct is not called a win. Without a line
/// end.
[[nodiscard]] std::string verdict_of(const std::vector<run_record>& records);

/// How full the cluster is where pods leave, and what the run gains against its baseline if it has one (null: none).
/// One sentence each, without a line end; empty where there is neither.
[[nodiscard]] std::string answer_of(const run_record& record, const run_record* baseline);

} // namespace vgpusim
