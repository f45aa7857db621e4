// One node with one GPU that HAMi-core shares, and two pods that want more memory together than it has.
#include <cstdint>
#include <iostream>
#include <utility>

#include <vgpualloc/local/local_cluster.hpp>

int main() {
    using namespace vgpualloc;
    device_registration gpu;
    gpu.uuid = "GPU-0";
    gpu.model = "NVIDIA A100-SXM4-40GB";
    gpu.mode = "hami_core";
    gpu.memory = mib{40'960};
    gpu.slots = 10; // containers that may share it

    const auto cluster = local_cluster::make({.policy = "best_fit"}).value();
    const auto added = cluster->add_node(
        {.name = "a", .cpu = milli_cpu{64'000}, .memory = bytes{std::int64_t{256} << 30U}, .devices = {gpu}});
    if (!added) std::cout << added.error().message() << '\n';
    for (const auto& [pod, memory] : {std::pair{"one", mib{30'720}}, std::pair{"two", mib{20'480}}}) {
        const pod_request request{.cpu = milli_cpu{4'000},
                                  .memory = bytes{std::int64_t{8} << 30U},
                                  .containers = {{.count = 1, .memory = memory, .cores = core_percent{30}}}};
        const auto decided = cluster->place(pod, request); // an error is bad input; that nothing fits is an answer
        std::cout << pod << ": " << (decided->fits() ? decided->shares[0].uuid : cluster->why_not(request)->at(0).words)
                  << '\n';
    }
}
