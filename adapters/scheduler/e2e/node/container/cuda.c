// Stands in for a program that computes on a GPU: asks for half of the memory that it may have of its first device, and
// then for more than the rest. Without HAMi-core's library nobody counts, as what limits the program is in the hardware
// or in MPS.
#include <stdio.h>
#include <stdlib.h>

#include "cuda.h"

int main(void) {
    if (!cuMemAlloc_v2) {
        puts("cuda not limited by a library");
        return 0;
    }
    const char* text = getenv("CUDA_DEVICE_MEMORY_LIMIT_0");
    unsigned long limit = text ? strtoul(text, NULL, 10) : 0; // "8192m"
    unsigned long long address = 0;
    unsigned long half = limit / 2;
    int first = cuMemAlloc_v2(&address, half << 20);
    int second = cuMemAlloc_v2(&address, (limit - half + 1) << 20);
    printf("cuda %lu MiB: %d, %lu MiB more: %d\n", half, first, limit - half + 1, second);
    return 0;
}
