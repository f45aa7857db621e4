// The layouts of a living cluster's GPUs, without models of other systems.
#include <vgpualloc/operate/device_layouts.hpp>

int main() {
    const auto cluster = vgpualloc::live_cluster::make({.policy = "best_fit"});
    if (!cluster) return 1;
    vgpualloc::operate::device_layouts layouts{**cluster};
    return layouts.layout_of(vgpualloc::node_index{0}, "GPU-a") ? 1 : 0;
}
