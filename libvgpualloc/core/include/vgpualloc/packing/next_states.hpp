// The states that a request leads a device to.
#pragma once

#include <vector>

#include "vgpualloc/model/device.hpp"

namespace vgpualloc {

/// By any of the parts that a policy could choose for one device's worth of the request; each once, in order. Empty
/// where the device does not serve it in that state.
[[nodiscard]] std::vector<device_state> next_states(const device_spec& device, const device_state& state,
                                                    const device_request& request);

} // namespace vgpualloc
