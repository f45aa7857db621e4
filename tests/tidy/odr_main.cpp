// Linked with two units that each include every public header: that it links is the test.
#include <vgpualloc/vgpualloc.hpp>

int main() { return vgpualloc::whole_gpu.count() == 1000 ? 0 : 1; }
