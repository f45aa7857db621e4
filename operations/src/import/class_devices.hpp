// What the pods of a class ask for of devices.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "vgpuops/import/imported_workload.hpp"

namespace vgpuops::importing {

/// By resource, of all containers.
[[nodiscard]] inline std::map<std::string, std::int64_t> devices_of(const imported_class& of) {
    std::map<std::string, std::int64_t> devices;
    for (const imported_container& container : of.containers) {
        for (const auto& [resource, amount] : container.devices) devices[resource] += amount;
    }
    return devices;
}

} // namespace vgpuops::importing
