// Stands in for nvidia-smi: a line for each GPU or MIG device that it sees, with its memory as NVML tells it. In a
// container those are the ones of NVIDIA_VISIBLE_DEVICES, as NVIDIA's runtime would have it; without that variable all
// of the machine, and after each GPU its MIG devices with the numbers of their GPU instances. The driver is the fake
// one; a preloaded libvgpu.so may change what it tells.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvml.h"

static int show(const char* kind, nvmlDevice_t device) {
    char uuid[96], name[96];
    nvmlMemory_t memory;
    int result = nvmlDeviceGetUUID(device, uuid, sizeof uuid);
    if (!result) result = nvmlDeviceGetName(device, name, sizeof name);
    if (!result) result = nvmlDeviceGetMemoryInfo(device, &memory);
    if (result) return result;
    printf("%s %s %llu MiB %s\n", kind, uuid, memory.total >> 20, name);
    return 0;
}

// A place of a MIG device may be empty, and a GPU that is not cut has none.
static void show_mig_devices(nvmlDevice_t gpu) {
    unsigned int places = 0;
    if (nvmlDeviceGetMaxMigDeviceCount(gpu, &places)) return;
    for (unsigned int i = 0; i < places; i++) {
        nvmlDevice_t device;
        unsigned int instance = 0;
        char kind[32];
        if (nvmlDeviceGetMigDeviceHandleByIndex(gpu, i, &device) || nvmlDeviceGetGpuInstanceId(device, &instance))
            continue;
        snprintf(kind, sizeof kind, "instance %u", instance);
        show(kind, device);
    }
}

static int show_all(void) {
    unsigned int count = 0;
    int result = nvmlDeviceGetCount_v2(&count);
    for (unsigned int i = 0; !result && i < count; i++) {
        nvmlDevice_t device;
        result = nvmlDeviceGetHandleByIndex_v2(i, &device);
        if (!result) result = show("nvidia-smi", device);
        if (!result) show_mig_devices(device);
    }
    return result;
}

static int show_visible(char* uuids) {
    int result = 0;
    for (char* uuid = strtok(uuids, ","); !result && uuid; uuid = strtok(NULL, ",")) {
        nvmlDevice_t device;
        result = nvmlDeviceGetHandleByUUID(uuid, &device);
        if (!result) result = show("nvidia-smi", device);
    }
    return result;
}

int main(int count, char** arguments) {
    // Where the driver's stand-in finds its machine; on the node an argument says it.
    setenv("VGPUALLOC_FAKE_NVML", count > 1 ? arguments[1] : "/driver/gpus.json", 1);
    const char* visible = getenv("NVIDIA_VISIBLE_DEVICES");
    int result = nvmlInit_v2();
    if (!result) {
        char* uuids = visible ? strdup(visible) : NULL;
        result = uuids ? show_visible(uuids) : show_all();
        free(uuids);
    }
    if (result) printf("error nvidia-smi: NVML answered %d\n", result);
    return result != 0;
}
