// The core alone decides: on a node of one GPU a pod of half of it, another one, and a third that does not fit any
// more.
#include <utility>

#include <vgpualloc/alloc/allocator.hpp>
#include <vgpualloc/catalog/catalog.hpp>
#include <vgpualloc/mode/factory.hpp>
#include <vgpualloc/model/pod_registry.hpp>
#include <vgpualloc/policy/all.hpp>
#include <vgpualloc/policy/parse.hpp>

using namespace vgpualloc;

int main() {
    cluster nodes;
    node described{.name = "a", .cpu = milli_cpu{64'000}, .memory = bytes{std::int64_t{256} << 30U}};
    device_registration gpu;
    gpu.uuid = "GPU-0";
    gpu.model = "NVIDIA A100-SXM4-40GB";
    gpu.family = "NVIDIA";
    gpu.mode = "hami_core";
    gpu.memory = mib{40'960};
    gpu.slots = 10;
    if (!add_device(nodes, described, gpu, built_in_catalog().mig)) return 1;
    nodes.nodes.push_back(std::move(described));

    const auto policies = parse_policies("best_fit", "", native_policies, {});
    if (!policies) return 2;
    ledger book{std::move(nodes)};
    allocator alloc{book, policies->pair()};
    pod_registry pods;
    const auto half = alloc.intern({.containers = {{.count = 1, .memory = mib{20'480}, .cores = core_percent{50}}}});
    if (!half) return 3;
    if (!alloc.place(book, pods.add("one"), *half) || !alloc.place(book, pods.add("two"), *half)) return 4;
    const auto third = alloc.place(book, pods.add("three"), *half);
    return !third && book.live_count() == 2 ? 0 : 5;
}
