// What report.html shows of a run.
#pragma once

#include "vgpureport/report.hpp"
#include "vgpusim/study/record.hpp"

namespace vgpusim {

[[nodiscard]] vgpureport::report_run describe(const run_record& record, const loaded_input& loaded);

} // namespace vgpusim
