// Stands in for HAMi-core's libvgpu.so, as ld.so.preload loads it: prints the limits that it was given, tells programs
// that their devices have as much memory, and counts what they take of the first.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "nvml.h"

enum { DEVICES_MAX = 64 };

// limit_mib is that of a device by its number in the container, 0 where there is none.
static unsigned long limit_mib(int device) {
    char name[64];
    snprintf(name, sizeof name, "CUDA_DEVICE_MEMORY_LIMIT_%d", device);
    const char* text = getenv(name);
    return text ? strtoul(text, NULL, 10) : 0; // "8192m"
}

__attribute__((constructor)) static void print_limits(void) {
    const char* all = getenv("CUDA_DEVICE_SM_LIMIT");
    const char* cache = getenv("CUDA_DEVICE_MEMORY_SHARED_CACHE");
    for (int device = 0; device < DEVICES_MAX && limit_mib(device); device++) {
        char name[64];
        snprintf(name, sizeof name, "CUDA_DEVICE_SM_LIMIT_%d", device);
        const char* own = getenv(name);
        printf("libvgpu device %d: %lu MiB, %s %% of its multiprocessors, cache %s\n", device, limit_mib(device),
               own   ? own
               : all ? all
                     : "100",
               cache ? cache : "none");
    }
    // The counters of a container are in a folder of its own, which it has to be able to write to.
    FILE* counters = cache ? fopen(cache, "a") : NULL;
    printf("libvgpu cache %s\n", counters ? "written" : "cannot be written");
    if (counters) fclose(counters);
    fflush(stdout);
}

// number_of is where a device stands in NVIDIA_VISIBLE_DEVICES, -1 if it does not.
static int number_of(const char* uuid) {
    const char* list = getenv("NVIDIA_VISIBLE_DEVICES");
    size_t length = strlen(uuid);
    for (int number = 0; list; number++) {
        if (strncmp(list, uuid, length) == 0 && (list[length] == ',' || !list[length])) return number;
        list = strchr(list, ',');
        if (list) list++;
    }
    return -1;
}

int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
    int (*driver)(nvmlDevice_t, nvmlMemory_t*) =
        (int (*)(nvmlDevice_t, nvmlMemory_t*))dlsym(RTLD_NEXT, "nvmlDeviceGetMemoryInfo");
    int (*uuid_of)(nvmlDevice_t, char*, unsigned int) =
        (int (*)(nvmlDevice_t, char*, unsigned int))dlsym(RTLD_NEXT, "nvmlDeviceGetUUID");
    if (!driver || !uuid_of) return 12; // NVML_ERROR_LIBRARY_NOT_FOUND
    int result = driver(device, memory);
    char uuid[96];
    if (result || uuid_of(device, uuid, sizeof uuid)) return result;
    int number = number_of(uuid);
    unsigned long long limit = number < 0 ? 0 : (unsigned long long)limit_mib(number) << 20;
    if (limit && limit < memory->total) {
        memory->total = limit;
        memory->free = memory->used < limit ? limit - memory->used : 0;
    }
    return result;
}

int cuMemAlloc_v2(unsigned long long* address, unsigned long bytes) {
    static unsigned long long taken;
    unsigned long long limit = (unsigned long long)limit_mib(0) << 20;
    if (limit && taken + bytes > limit) return CUDA_ERROR_OUT_OF_MEMORY;
    taken += bytes;
    *address = taken;
    return CUDA_SUCCESS;
}
