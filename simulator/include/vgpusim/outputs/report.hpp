// What report.html shows of a run.
#pragma once

#include <vector>

#include "vgpureport/report.hpp"
#include "vgpusim/engine/record.hpp"

namespace vgpusim {

[[nodiscard]] vgpureport::report_run describe(const run_record& record, const loaded_input& loaded,
                                              const stop_signal& stop = {});

/// Takes the ranking from the mean wait of runs in which different numbers of jobs started, and from the mean slowdown
/// where different numbers ended: a policy that starts only what need not wait would have the shortest waits.
void rank_only_comparable(std::vector<vgpureport::report_run>& runs);

} // namespace vgpusim
