// A living cluster without models of other systems: it has the native policies and no other.
#include <vgpualloc/live/live_cluster.hpp>

int main() {
    const auto cluster = vgpualloc::live_cluster::make({.policy = "best_fit"});
    const auto refused = vgpualloc::live_cluster::make({.policy = "compat:fgd"});
    return cluster && !refused ? 0 : 1;
}
