// The ascend_hami dialect: what its two sources share.
#pragma once

#include <optional>
#include <string>

#include "vgpualloc/dialect/ascend_hami.hpp"

namespace vgpualloc::dialect::ascend_hami {

[[nodiscard]] inline std::string resource_of(const kind& of) {
    return of.resource.empty() ? "huawei.com/" + of.npu.name : of.resource;
}
[[nodiscard]] inline std::string memory_resource_of(const kind& of) {
    return of.resource_memory.empty() ? resource_of(of) + "-memory" : of.resource_memory;
}
[[nodiscard]] inline std::string core_resource_of(const kind& of) {
    return of.resource_core.empty() ? resource_of(of) + "-core" : of.resource_core;
}
[[nodiscard]] inline std::string register_key(const kind& of) { return "hami.io/node-register-" + of.npu.name; }

/// Whether the pod's NPUs are limited in software instead of by a template.
[[nodiscard]] bool soft_pod(const kubernetes::pod& of);

/// What one container asks of one kind; none if it does not ask.
[[nodiscard]] expected<std::optional<device_request>>
read_container(const kubernetes::pod& of, const kubernetes::container& in, const kind& which, const options& with);

} // namespace vgpualloc::dialect::ascend_hami
