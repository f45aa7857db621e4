// The openb dialect.
#include "vgpualloc/dialect/openb.hpp"

#include <cstddef>
#include <utility>

namespace vgpualloc::openb {

pod_request make_request(milli_cpu cpu, mib memory, std::int64_t num_gpu, milli_gpu gpu_milli,
                         std::string_view gpu_spec) {
    pod_request request{.cpu = cpu, .memory = to_bytes(memory), .containers = {}};
    if (num_gpu == 0 || gpu_milli == milli_gpu{0}) return request;
    device_request device;
    device.count = num_gpu;
    device.memory = mib{gpu_milli.count()};
    while (!gpu_spec.empty()) {
        const std::size_t bar = gpu_spec.find('|');
        if (const auto model = gpu_spec.substr(0, bar); !model.empty()) device.models.emplace_back(model);
        gpu_spec = bar == std::string_view::npos ? std::string_view{} : gpu_spec.substr(bar + 1);
    }
    request.containers.push_back(std::move(device));
    return request;
}

void add_node(cluster& nodes, std::string name, milli_cpu cpu, mib memory, std::int64_t gpu_count,
              const std::string& model, const sharing_mode& mode) {
    vgpualloc::node added{.name = std::move(name), .cpu = cpu, .memory = to_bytes(memory), .pods_max = pods_max};
    if (gpu_count > 0) {
        const std::uint32_t kind = nodes.kind_of(
            {.model = model, .memory = gpu_memory, .cores = whole_compute, .slots = pods_max, .mode = &mode});
        for (std::int64_t i = 0; i < gpu_count; ++i) {
            added.devices.push_back({.uuid = added.name + "-gpu-" + std::to_string(i), .kind = kind});
        }
    }
    nodes.nodes.push_back(std::move(added));
}

} // namespace vgpualloc::openb
