// The Standard Workload Format of the Parallel Workloads Archive, version 2.2 (Feitelson, Talby and others, 1999–2006).
#pragma once

#include <string>
#include <string_view>

#include "vgpuformats/list_content.hpp"
#include "vgputraces/core_names.hpp"
#include "vgputraces/trace_job.hpp"

namespace vgputraces {

/// Reads a log, which errors call `name`: lines of 18 fields with white space between them, -1 for what is not known,
/// comments after ';'. A job's name is its number (field 1), its arrival the submit time (2), its devices the requested
/// processors (8), or those allocated (5) where it does not say, its estimate the requested time (9), or the run time
/// (4) where it does not say; a job is ended at its estimate, so that the duration is the smaller of both. The queue is
/// field 15. A 0 in fields 8 and 9 counts as not known.
///
/// Left out: parts of a job that was checkpointed (status 2, 3, 4), which the line of the whole job repeats; jobs whose
/// run time is not known, as those cancelled before they ran; jobs whose processors are not known. Errors name file,
/// line, field and value: fewer or more fields, no number, an amount below -1, a job without number or submit time, a
/// number that occurs twice.
[[nodiscard]] expected<job_list> read_swf(const vgpuformats::list_content& content, const std::string& name,
                                          const row_options& options = {});

} // namespace vgputraces
