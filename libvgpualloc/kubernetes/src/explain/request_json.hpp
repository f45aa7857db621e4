// Requests and errors as the commands print them in JSON.
#pragma once

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpuformats/document.hpp"

namespace vgpualloc::explaining {

/// Adds what is asked for; what says nothing is left out, as all of the device's memory or any model.
void add_request(const device_request& request, vgpuformats::document& to);

[[nodiscard]] vgpuformats::document error_json(const error& from);

} // namespace vgpualloc::explaining
