#include <vgpualloc/compat/all.hpp>
#include <vgpualloc/live/live_cluster.hpp>

int main() {
    const auto cluster = vgpualloc::live_cluster::make({.policy = "compat:fgd", .policies = vgpualloc::all_policies()});
    return cluster ? 0 : 1;
}
