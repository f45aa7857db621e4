#include <vgpualloc/c_api.h>

int main() {
    vga_cluster* cluster = nullptr;
    if (vga_cluster_new(nullptr, &cluster, nullptr) != VGA_OK) return 1;
    vga_cluster_free(cluster);
    return 0;
}
