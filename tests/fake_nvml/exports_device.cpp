// NVML's functions that describe a device.
#include <cstdio>

#include "guard.hpp"

using namespace fake_nvml; // NOLINT(google-build-using-namespace): functions with C names

namespace {

constexpr std::initializer_list<handle_kind> gpus_only{handle_kind::device};
constexpr std::initializer_list<handle_kind> gpus_and_mig{handle_kind::device, handle_kind::mig_device};

template <class T>
result set(T* where, T value) {
    if (where == nullptr) return result::invalid_argument;
    *where = value;
    return result::success;
}

std::uint64_t bytes_of(const subject& of) {
    if (of.target.kind == handle_kind::device) return of.card().memory_bytes;
    const vgpualloc::mig_profile* profile = profile_of(of.card(), of.made()->profile_id);
    if (profile == nullptr) return 0;
    const vgpualloc::mib whole{static_cast<std::int64_t>(of.card().memory_bytes >> 20U)};
    return static_cast<std::uint64_t>(charged_memory(*of.card().table, *profile, whole).count()) << 20U;
}

bool runs_on(const process& running, const subject& of) {
    return of.target.kind == handle_kind::device || running.gi == of.target.gi;
}

std::uint64_t used_bytes_of(const subject& of) {
    std::uint64_t used = 0;
    for (const process& running : of.card().processes) used += runs_on(running, of) ? running.memory_bytes : 0;
    return of.target.kind == handle_kind::device ? std::max(used, of.card().used_bytes) : used;
}

/// What runs on a device. Of an instance that is busy without a process in the file there is one without a name.
std::vector<abi::process> processes_of(const subject& of) {
    std::vector<abi::process> list;
    for (const process& running : of.card().processes) {
        if (!runs_on(running, of)) continue;
        list.push_back({running.pid, running.memory_bytes, running.gi.value_or(abi::no_instance),
                        running.gi ? 0U : abi::no_instance});
    }
    for (const instance& made : of.host.instances) {
        if (made.gpu != of.gpu_index || !made.busy) continue;
        if (of.target.kind == handle_kind::mig_device && made.gi != of.target.gi) continue;
        const bool named =
            std::ranges::any_of(list, [&](const abi::process& running) { return running.gpu_instance == made.gi; });
        constexpr unsigned int unnamed_pid = 4'000'000;
        if (!named) list.push_back({unnamed_pid + made.gi, 0, made.gi, 0});
    }
    return list;
}

int give_processes(std::string_view call, const void* device, unsigned int* count, abi::process* buffer) {
    return query(call, device, gpus_and_mig, [&](const subject& of) {
        const std::vector<abi::process> list = processes_of(of);
        return give<abi::process>(list, count, buffer);
    });
}

int give_no_processes(std::string_view call, const void* device, unsigned int* count) {
    return query(call, device, gpus_and_mig, [&](const subject&) { return set(count, 0U); });
}

} // namespace

VGA_FAKE_NVML int nvmlDeviceGetUUID(const void* device, char* uuid, unsigned int size) {
    return query("nvmlDeviceGetUUID", device, gpus_and_mig, [&](const subject& of) {
        if (of.target.kind == handle_kind::device) return copy(of.card().uuid, uuid, size);
        return copy(uuid_of(of.host, *of.made(), of.target.ci), uuid, size);
    });
}

VGA_FAKE_NVML int nvmlDeviceGetName(const void* device, char* name, unsigned int size) {
    return query("nvmlDeviceGetName", device, gpus_and_mig, [&](const subject& of) {
        if (of.target.kind == handle_kind::device) return copy(of.card().name, name, size);
        const vgpualloc::mig_profile* profile = profile_of(of.card(), of.made()->profile_id);
        return copy(of.card().name + " MIG " + (profile == nullptr ? std::string{"?"} : profile->name), name, size);
    });
}

VGA_FAKE_NVML int nvmlDeviceGetIndex(const void* device, unsigned int* index) {
    return query("nvmlDeviceGetIndex", device, gpus_only,
                 [&](const subject& of) { return set(index, static_cast<unsigned int>(of.gpu_index)); });
}

VGA_FAKE_NVML int nvmlDeviceGetMinorNumber(const void* device, unsigned int* minor) {
    return query("nvmlDeviceGetMinorNumber", device, gpus_only, [&](const subject& of) {
        if (of.card().minor < 0) return result::not_supported;
        return set(minor, static_cast<unsigned int>(of.card().minor));
    });
}

VGA_FAKE_NVML int nvmlDeviceGetCudaComputeCapability(const void* device, int* major, int* minor) {
    return query("nvmlDeviceGetCudaComputeCapability", device, gpus_and_mig, [&](const subject& of) {
        if (major == nullptr || minor == nullptr) return result::invalid_argument;
        return std::sscanf(of.card().compute_capability.c_str(), "%d.%d", major, minor) == 2 ? result::success
                                                                                             : result::not_supported;
    });
}

VGA_FAKE_NVML int nvmlDeviceGetMemoryInfo(const void* device, abi::memory* memory) {
    return query("nvmlDeviceGetMemoryInfo", device, gpus_and_mig, [&](const subject& of) {
        const std::uint64_t total = bytes_of(of);
        const std::uint64_t used = std::min(used_bytes_of(of), total);
        return set(memory, {total, total - used, used});
    });
}

VGA_FAKE_NVML int nvmlDeviceGetMemoryInfo_v2(const void* device, abi::memory_v2* memory) {
    return query("nvmlDeviceGetMemoryInfo", device, gpus_and_mig, [&](const subject& of) {
        if (memory == nullptr) return result::invalid_argument;
        const std::uint64_t total = bytes_of(of);
        const std::uint64_t used = std::min(used_bytes_of(of), total);
        return set(memory, {memory->version, total, 0, total - used, used});
    });
}

VGA_FAKE_NVML int nvmlDeviceGetUtilizationRates(const void* device, abi::utilization* use) {
    return query("nvmlDeviceGetUtilizationRates", device, gpus_and_mig, [&](const subject& of) {
        if (of.card().mig_enabled) return result::not_supported;
        return set(use, {of.card().sm_percent, 0});
    });
}

VGA_FAKE_NVML int nvmlDeviceGetPciInfo_v3(const void* device, abi::pci_info* pci) {
    return query("nvmlDeviceGetPciInfo", device, gpus_only, [&](const subject& of) {
        if (pci == nullptr) return result::invalid_argument;
        *pci = {};
        const std::string& bus = of.card().pci_bus;
        if (std::sscanf(bus.c_str(), "%x:%x:%x", &pci->domain, &pci->bus, &pci->device) != 3) return result::unknown;
        const std::string longer = std::string(bus.find(':') < 8 ? 8 - bus.find(':') : 0, '0') + bus;
        static_cast<void>(copy(bus, pci->legacy_bus_id.data(), static_cast<unsigned int>(pci->legacy_bus_id.size())));
        return copy(longer, pci->bus_id.data(), static_cast<unsigned int>(pci->bus_id.size()));
    });
}

VGA_FAKE_NVML int nvmlDeviceGetComputeRunningProcesses_v3(const void* device, unsigned int* count, abi::process* list) {
    return give_processes("nvmlDeviceGetComputeRunningProcesses", device, count, list);
}
VGA_FAKE_NVML int nvmlDeviceGetComputeRunningProcesses_v2(const void* device, unsigned int* count, abi::process* list) {
    return give_processes("nvmlDeviceGetComputeRunningProcesses", device, count, list);
}
VGA_FAKE_NVML int nvmlDeviceGetComputeRunningProcesses(const void* device, unsigned int* count, abi::process_v1* list) {
    return query("nvmlDeviceGetComputeRunningProcesses", device, gpus_and_mig, [&](const subject& of) {
        std::vector<abi::process_v1> older;
        for (const abi::process& running : processes_of(of)) older.push_back({running.pid, running.memory});
        return give<abi::process_v1>(older, count, list);
    });
}
VGA_FAKE_NVML int nvmlDeviceGetGraphicsRunningProcesses_v3(const void* device, unsigned int* count, void*) {
    return give_no_processes("nvmlDeviceGetGraphicsRunningProcesses", device, count);
}
VGA_FAKE_NVML int nvmlDeviceGetGraphicsRunningProcesses_v2(const void* device, unsigned int* count, void*) {
    return give_no_processes("nvmlDeviceGetGraphicsRunningProcesses", device, count);
}
VGA_FAKE_NVML int nvmlDeviceGetGraphicsRunningProcesses(const void* device, unsigned int* count, void*) {
    return give_no_processes("nvmlDeviceGetGraphicsRunningProcesses", device, count);
}
VGA_FAKE_NVML int nvmlDeviceGetMPSComputeRunningProcesses_v3(const void* device, unsigned int* count, void*) {
    return give_no_processes("nvmlDeviceGetMPSComputeRunningProcesses", device, count);
}
VGA_FAKE_NVML int nvmlDeviceGetMPSComputeRunningProcesses_v2(const void* device, unsigned int* count, void*) {
    return give_no_processes("nvmlDeviceGetMPSComputeRunningProcesses", device, count);
}
VGA_FAKE_NVML int nvmlDeviceGetMPSComputeRunningProcesses(const void* device, unsigned int* count, void*) {
    return give_no_processes("nvmlDeviceGetMPSComputeRunningProcesses", device, count);
}

VGA_FAKE_NVML int nvmlDeviceIsMigDeviceHandle(const void* device, unsigned int* is_mig) {
    return query("nvmlDeviceIsMigDeviceHandle", device, gpus_and_mig,
                 [&](const subject& of) { return set(is_mig, of.target.kind == handle_kind::mig_device ? 1U : 0U); });
}

VGA_FAKE_NVML int nvmlDeviceGetAttributes_v2(const void* device, abi::attributes* attributes) {
    return query("nvmlDeviceGetAttributes", device, gpus_and_mig, [&](const subject& of) {
        if (of.target.kind == handle_kind::device) return result::not_supported;
        const vgpualloc::mig_profile* profile = profile_of(of.card(), of.made()->profile_id);
        if (profile == nullptr) return result::unknown;
        const auto part = std::ranges::find(of.made()->compute, of.target.ci, &compute_instance::id);
        const auto count = [](std::optional<std::int64_t> value) { return static_cast<abi::uint>(value.value_or(0)); };
        return set(attributes, {count(profile->sm), count(profile->engines.copy), count(profile->engines.decoder),
                                count(profile->engines.encoder), count(profile->engines.jpeg),
                                count(profile->engines.ofa), static_cast<abi::uint>(profile->compute_slices.count()),
                                compute_slices_of(part->profile), bytes_of(of) >> 20U});
    });
}
