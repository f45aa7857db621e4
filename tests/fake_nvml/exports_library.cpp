// NVML's functions of the library and of finding devices.
#include <cstdio>

#include "guard.hpp"

using namespace fake_nvml; // NOLINT(google-build-using-namespace): functions with C names

namespace {

const void* device_handle(const std::string& uuid) {
    return session::of_process().handle_of({handle_kind::device, uuid});
}

/// A device by its position, which the fault's GPU is known by.
int give_device(std::string_view call, const machine& host, std::size_t gpu_index, const void** device) {
    if (device == nullptr) return code_of(result::invalid_argument);
    const void* found = device_handle(host.gpus[gpu_index].uuid);
    return query(call, found, {handle_kind::device}, [&](const subject&) {
        *device = found;
        return result::success;
    });
}

/// The machine as it is; null where a call could not see one.
std::shared_ptr<const machine> seen() {
    const session::begun begun = session::of_process().begin({}, {});
    return begun.host;
}

int refused() { return code_of(session::of_process().begin({}, {}).code); }

} // namespace

VGA_FAKE_NVML int nvmlInit_v2() {
    return contained([] { return session::of_process().start("nvmlInit"); });
}
VGA_FAKE_NVML int nvmlInit() { return nvmlInit_v2(); }
VGA_FAKE_NVML int nvmlInitWithFlags(unsigned int) { return nvmlInit_v2(); }
VGA_FAKE_NVML int nvmlShutdown() {
    return contained([] { return session::of_process().stop(); });
}
VGA_FAKE_NVML const char* nvmlErrorString(int code) { return text_of(static_cast<result>(code)); }

VGA_FAKE_NVML int nvmlSystemGetDriverVersion(char* version, unsigned int size) {
    return query("nvmlSystemGetDriverVersion", [&](const machine&) { return copy("580.65.06", version, size); });
}
VGA_FAKE_NVML int nvmlSystemGetNVMLVersion(char* version, unsigned int size) {
    return query("nvmlSystemGetNVMLVersion", [&](const machine&) { return copy("13.580.65.06", version, size); });
}
VGA_FAKE_NVML int nvmlSystemGetCudaDriverVersion(int* version) {
    return query("nvmlSystemGetCudaDriverVersion", [&](const machine&) {
        if (version == nullptr) return result::invalid_argument;
        *version = 13000;
        return result::success;
    });
}
VGA_FAKE_NVML int nvmlSystemGetCudaDriverVersion_v2(int* version) { return nvmlSystemGetCudaDriverVersion(version); }

VGA_FAKE_NVML int nvmlDeviceGetCount_v2(unsigned int* count) {
    return query("nvmlDeviceGetCount", [&](const machine& host) {
        if (count == nullptr) return result::invalid_argument;
        *count = static_cast<unsigned int>(host.gpus.size());
        return result::success;
    });
}
VGA_FAKE_NVML int nvmlDeviceGetCount(unsigned int* count) { return nvmlDeviceGetCount_v2(count); }

VGA_FAKE_NVML int nvmlDeviceGetHandleByIndex_v2(unsigned int index, const void** device) {
    const auto host = seen();
    if (host == nullptr) return refused();
    if (index >= host->gpus.size()) return code_of(result::invalid_argument);
    return give_device("nvmlDeviceGetHandleByIndex", *host, index, device);
}
VGA_FAKE_NVML int nvmlDeviceGetHandleByIndex(unsigned int index, const void** device) {
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

VGA_FAKE_NVML int nvmlDeviceGetHandleByUUID(const char* uuid, const void** device) {
    const auto host = seen();
    if (host == nullptr) return refused();
    if (uuid == nullptr || device == nullptr) return code_of(result::invalid_argument);
    const std::string_view wanted{uuid};
    if (const std::size_t gpu_index = host->index_of(wanted); gpu_index < host->gpus.size()) {
        return give_device("nvmlDeviceGetHandleByUUID", *host, gpu_index, device);
    }
    for (const instance& made : host->instances) {
        for (const compute_instance& part : made.compute) {
            if (uuid_of(*host, made, part.id) != wanted) continue;
            const void* found =
                session::of_process().handle_of({handle_kind::mig_device, host->gpus[made.gpu].uuid, made.gi, part.id});
            return query("nvmlDeviceGetHandleByUUID", found, {handle_kind::mig_device}, [&](const subject&) {
                *device = found;
                return result::success;
            });
        }
    }
    return query("nvmlDeviceGetHandleByUUID", [](const machine&) { return result::not_found; });
}

VGA_FAKE_NVML int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, const void** device) {
    const auto host = seen();
    if (host == nullptr) return refused();
    if (bus == nullptr) return code_of(result::invalid_argument);
    const std::size_t gpu_index = static_cast<std::size_t>(
        std::ranges::find(host->gpus, std::string_view{bus}, &gpu::pci_bus) - host->gpus.begin());
    if (gpu_index == host->gpus.size()) return code_of(result::not_found);
    return give_device("nvmlDeviceGetHandleByPciBusId", *host, gpu_index, device);
}
VGA_FAKE_NVML int nvmlDeviceGetHandleByPciBusId(const char* bus, const void** device) {
    return nvmlDeviceGetHandleByPciBusId_v2(bus, device);
}
