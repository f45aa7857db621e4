// What the programs here use of NVML, as NVIDIA's header declares it.
#pragma once

typedef struct nvmlDevice_st* nvmlDevice_t;
typedef struct {
    unsigned long long total, free, used; // bytes
} nvmlMemory_t;

int nvmlInit_v2(void);
int nvmlDeviceGetCount_v2(unsigned int* count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device);
int nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device);
int nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length);
int nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned int length);
int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory);
int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int* count);
int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t* mig_device);
int nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int* id);
