// What the numbers of a refusal count, and which device of a node comes closest to serving a container.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "vgpualloc/alloc/answer.hpp"
#include "vgpualloc/model/device.hpp"
#include "vgpualloc/model/rejection.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc {

/// What the numbers of a refusal count. `spec` and `request`: the device and the container it refused, null for a
/// refusal of the host, whose memory is meant to be shown in MiB. A literal; empty where they are none.
[[nodiscard]] std::string_view unit_of(rejection_code code, const device_spec* spec, const device_request* request);

/// Of the devices that refuse with that code the container that gets none (node_decision::stopped_at), the index of the
/// one that has the most of what is wanted; none if there is no such device.
[[nodiscard]] std::optional<std::size_t> closest_device(const node_decision& decision, rejection_code code);

} // namespace vgpualloc
