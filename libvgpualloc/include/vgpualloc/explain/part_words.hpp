// Partitions in words.
#pragma once

#include <cstdint>
#include <string_view>

#include "vgpualloc/core/units.hpp"
#include "vgpualloc/explain/answers.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc::explaining {

/// `part` of a device, with the names that its mode gives to profiles and templates.
[[nodiscard]] explained_part describe_part(const device_spec& spec, const partition& part);

/// What the numbers of a refusal count. `spec` and `request`: the device and the container it refused, null for a
/// refusal of the host. A literal; empty where they are none.
[[nodiscard]] std::string_view unit_of(rejection_code code, const device_spec* spec, const device_request* request);

} // namespace vgpualloc::explaining
