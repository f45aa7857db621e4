// What a pod asks for.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/host_rules.hpp"
#include "vgpualloc/model/peer_rules.hpp"

namespace vgpualloc {

/// Use of the video engines (DVPP) that a 310P container announces.
enum class dvpp_use : std::uint8_t { unstated, yes, no };

/// What one container asks of accelerators. Amounts are per device.
struct device_request {
    std::int64_t count = 0;                       ///< different devices wanted; 0 = none
    mib memory;                                   ///< device memory; 0 = see memory_percent
    std::optional<std::int64_t> memory_percent{}; ///< of the device's memory, wins over `memory`; neither = all of it
    /// Without an amount of memory: of every device as much as the first of the node, in the order of the policy, has.
    bool memory_of_first = false;
    core_percent cores;   ///< 0 = no limit asked for; AI cores where a device counts its compute in these
    std::string family{}; ///< device family as its resource names say ("NVIDIA", "Ascend910B4"); empty = any
    std::vector<std::string> models{};        ///< acceptable device models; empty = any
    std::vector<std::string> types_allowed{}; ///< parts of model names, one must occur, whatever the case; empty = any
    std::vector<std::string> types_denied{};  ///< parts of model names, none may occur
    std::vector<std::string> uuids_allowed{}; ///< the only devices acceptable; empty = any
    std::vector<std::string> uuids_denied{};
    std::string mode{};                 ///< wanted sharing mode; empty = any
    std::string profile{};              ///< MIG profile wanted by name; empty = by memory
    bool soft = false;                  ///< an NPU limited in software instead of by a template
    dvpp_use dvpp = dvpp_use::unstated; ///< 310P
    bool high_level = false;            ///< 310P: prefers the larger of the templates for its cores
    bool pair = false;                  ///< `count` is 2, the dies of one module: asked for as one device
    /// Units of a counted resource that its container asks for in all, of which this entry is one. They may be of one
    /// device, where the device plugin offers devices as units (sharing_mode::units).
    std::int64_t units = 1;

    /// Whether it says which families, models or types of devices it accepts.
    [[nodiscard]] bool names_models() const noexcept {
        return !family.empty() || !models.empty() || !types_allowed.empty() || !types_denied.empty();
    }
    std::strong_ordering operator<=>(const device_request&) const = default;
    bool operator==(const device_request&) const = default;
};

/// The request as any family, model and type of device could serve it.
[[nodiscard]] inline device_request without_models(device_request request) {
    request.family.clear();
    request.models.clear();
    request.types_allowed.clear();
    request.types_denied.clear();
    return request;
}

/// A pod as the allocator sees it: host resources of the whole pod, devices per container.
struct pod_request {
    milli_cpu cpu;
    bytes memory;
    std::vector<device_request> containers; ///< only those that ask for devices
    host_rules rules{};                     ///< which nodes the pod may go to
    std::vector<std::string> tags{};        ///< what the pod leaves on every device it takes, for others to avoid
    std::vector<std::string> avoids{};      ///< devices with one of these tags are refused
    bool containers_apart = false;          ///< no two containers on one device
    bool one_link_group = false;            ///< a container's devices from the largest link group first
    shared_peers peers{};                   ///< what it requires of other pods, and which sets of pods it is in

    /// Whether the answer may depend on which device it is and not only on its state, so that equal devices differ.
    /// Whether a part may fall short of the request is for the mode to say (sharing_mode::may_compromise).
    [[nodiscard]] bool names_devices() const noexcept {
        if (!avoids.empty() || containers_apart || one_link_group) return true;
        for (const device_request& container : containers) {
            const bool names_uuids = !container.uuids_allowed.empty() || !container.uuids_denied.empty();
            if (names_uuids || container.memory_of_first) return true;
        }
        return false;
    }
    std::strong_ordering operator<=>(const pod_request&) const = default;
    bool operator==(const pod_request&) const = default;
};

/// A request and how many pods ask for it.
struct counted_request {
    pod_request request;
    std::int64_t pods = 0;
};

/// One typical request of a workload and how often it occurs.
struct typical_request {
    milli_cpu cpu;
    std::vector<device_request> containers;
    double frequency = 0.0;  ///< 0 to 1; the list's frequencies add up to about 1
    std::int64_t weight = 0; ///< the frequency as a whole number, such as a count of pods; 0 = taken from the frequency
};

/// The workload a cluster is expected to see. The order of the list is the order of floating-point accumulation.
struct workload {
    std::vector<typical_request> typical;
};

} // namespace vgpualloc
