// Requests that can be read, but that no cluster serves.
#pragma once

#include <string>

#include "vgpualloc/explain/validate.hpp"

namespace vgpusim {

/// Adds to a pod's report what of a request its dialect or mode refuses on every device (an error that names the limit)
/// or on all but some nodes (a note). Source: SPEC-volcano 3.2, 3.3 and 6, SPEC-ascend 1-5.
void check_limits(const std::string& dialect, const understood_request& of, const validate_options& with,
                  object_report& to);

} // namespace vgpusim
