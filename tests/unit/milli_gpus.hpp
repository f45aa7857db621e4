// Nodes and requests in thousandths of a GPU, as studies count them: a GPU has 1000 units of memory, one per milli-GPU.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc::test {

/// Appends a node with `gpus` GPUs of `model`.
inline void add_milli_node(cluster& nodes, std::string name, milli_cpu cpu, mib memory, std::int64_t gpus,
                           const std::string& model, const sharing_mode& mode) {
    node added{.name = std::move(name), .cpu = cpu, .memory = to_bytes(memory), .pods_max = 1001};
    if (gpus > 0) {
        const std::uint32_t kind =
            nodes.kind_of({.model = model, .memory = mib{1000}, .cores = whole_compute, .slots = 1001, .mode = &mode});
        for (std::int64_t i = 0; i < gpus; ++i) {
            added.devices.push_back({.uuid = added.name + "-" + std::to_string(i), .kind = kind});
        }
    }
    nodes.nodes.push_back(std::move(added));
}

/// A pod that asks for `share` of each of `gpus` GPUs of one of the models; no share asks for no GPU.
[[nodiscard]] inline pod_request milli_request(milli_cpu cpu, std::int64_t gpus, std::int64_t share,
                                               std::vector<std::string> models = {}) {
    pod_request request{.cpu = cpu, .memory = {}, .containers = {}};
    if (gpus == 0 || share == 0) return request;
    device_request device;
    device.count = gpus;
    device.memory = mib{share};
    device.models = std::move(models);
    request.containers.push_back(std::move(device));
    return request;
}

} // namespace vgpualloc::test
