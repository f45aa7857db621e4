// NVML's functions of MIG: modes, profiles, GPU instances and compute instances.
#include "guard.hpp"

using namespace fake_nvml; // NOLINT(google-build-using-namespace): functions with C names

namespace {

constexpr std::initializer_list<handle_kind> gpus_only{handle_kind::device};
constexpr std::initializer_list<handle_kind> instances_only{handle_kind::gpu_instance};

unsigned int count_of(std::optional<std::int64_t> value) { return static_cast<unsigned int>(value.value_or(0)); }

/// What describes a profile, however the caller named it.
result describe(const subject& of, const vgpualloc::mig_profile& profile, abi::gpu_profile* info) {
    if (info == nullptr) return result::invalid_argument;
    const vgpualloc::mib whole{static_cast<std::int64_t>(of.card().memory_bytes >> 20U)};
    *info = {.id = static_cast<unsigned int>(profile.profile_id),
             .peer_to_peer = 0,
             .slices = static_cast<unsigned int>(profile.compute_slices.count()),
             .instances = static_cast<unsigned int>(profile.max_instances),
             .multiprocessors = count_of(profile.sm),
             .copy_engines = count_of(profile.engines.copy),
             .decoders = count_of(profile.engines.decoder),
             .encoders = count_of(profile.engines.encoder),
             .jpeg = count_of(profile.engines.jpeg),
             .ofa = count_of(profile.engines.ofa),
             .memory_mib = static_cast<unsigned long long>(charged_memory(*of.card().table, profile, whole).count())};
    return result::success;
}

const vgpualloc::mig_profile* profile_at(const gpu& card, unsigned int index) {
    if (card.table == nullptr) return nullptr;
    for (const vgpualloc::mig_profile& profile : card.table->profiles) {
        if (profile_index(*card.table, profile) == index) return &profile;
    }
    return nullptr;
}

std::string number(std::string_view name, std::uint64_t value) {
    return ' ' + std::string{name} + '=' + std::to_string(value);
}

int create(std::string_view call, const void* device, unsigned int profile_id, const std::optional<place>& at,
           const void** made_handle) {
    if (made_handle == nullptr) return code_of(result::invalid_argument);
    return change(
        call, device, handle_kind::device,
        [&](std::size_t gpu_index, const handle&) {
            return "CreateGpuInstance" + number("gpu", gpu_index) + number("profile", profile_id);
        },
        [&](machine& host, std::size_t gpu_index, const handle& target) -> changed {
            const auto created = create_instance(host, gpu_index, profile_id, at);
            if (!created) return {created.error(), {}};
            *made_handle = session::of_process().handle_of({handle_kind::gpu_instance, target.uuid, created->gi});
            return {result::success, "gi=" + std::to_string(created->gi) + " placement=" +
                                         std::to_string(created->start) + ':' + std::to_string(created->size)};
        });
}

} // namespace

VGA_FAKE_NVML int nvmlDeviceGetMigMode(const void* device, unsigned int* current, unsigned int* pending) {
    return query("nvmlDeviceGetMigMode", device, gpus_only, [&](const subject& of) {
        if (!of.card().mig_capable) return result::not_supported;
        if (current == nullptr || pending == nullptr) return result::invalid_argument;
        *current = of.card().mig_enabled ? 1 : 0;
        *pending = of.card().mig_pending.value_or(of.card().mig_enabled) ? 1 : 0;
        return result::success;
    });
}

VGA_FAKE_NVML int nvmlDeviceSetMigMode(const void* device, unsigned int mode, int* activation) {
    if (mode > 1 || activation == nullptr) return code_of(result::invalid_argument);
    return change(
        "nvmlDeviceSetMigMode", device, handle_kind::device,
        [&](std::size_t gpu_index, const handle&) {
            return "SetMigMode" + number("gpu", gpu_index) + number("mode", mode);
        },
        [&](machine& host, std::size_t gpu_index, const handle&) -> changed {
            const mode_change switched = set_mig_mode(host.gpus[gpu_index], has_instances(host, gpu_index), mode == 1);
            *activation = code_of(switched.activation);
            return {switched.code, {}};
        });
}

VGA_FAKE_NVML int nvmlDeviceGetMaxMigDeviceCount(const void* device, unsigned int* count) {
    return query("nvmlDeviceGetMaxMigDeviceCount", device, gpus_only, [&](const subject& of) {
        if (count == nullptr) return result::invalid_argument;
        *count = of.card().table == nullptr ? 0 : static_cast<unsigned int>(of.card().table->compute_slices.count());
        return result::success;
    });
}

VGA_FAKE_NVML int nvmlDeviceGetMigDeviceHandleByIndex(const void* device, unsigned int index, const void** mig) {
    return query("nvmlDeviceGetMigDeviceHandleByIndex", device, gpus_only, [&](const subject& of) {
        if (mig == nullptr) return result::invalid_argument;
        const std::vector<mig_device> devices = mig_devices(of.host, of.gpu_index);
        if (index >= devices.size()) return result::not_found;
        *mig = session::of_process().handle_of(
            {handle_kind::mig_device, of.card().uuid, devices[index].gi, devices[index].ci});
        return result::success;
    });
}

VGA_FAKE_NVML int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(const void* mig, const void** device) {
    return query("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", mig, {handle_kind::mig_device},
                 [&](const subject& of) {
                     if (device == nullptr) return result::invalid_argument;
                     *device = session::of_process().handle_of({handle_kind::device, of.card().uuid});
                     return result::success;
                 });
}

VGA_FAKE_NVML int nvmlDeviceGetGpuInstanceId(const void* mig, unsigned int* id) {
    return query("nvmlDeviceGetGpuInstanceId", mig, {handle_kind::mig_device}, [&](const subject& of) {
        if (id == nullptr) return result::invalid_argument;
        *id = of.target.gi;
        return result::success;
    });
}

VGA_FAKE_NVML int nvmlDeviceGetComputeInstanceId(const void* mig, unsigned int* id) {
    return query("nvmlDeviceGetComputeInstanceId", mig, {handle_kind::mig_device}, [&](const subject& of) {
        if (id == nullptr) return result::invalid_argument;
        *id = of.target.ci;
        return result::success;
    });
}

VGA_FAKE_NVML int nvmlDeviceGetGpuInstanceProfileInfo(const void* device, unsigned int index, abi::gpu_profile* info) {
    return query("nvmlDeviceGetGpuInstanceProfileInfo", device, gpus_only, [&](const subject& of) {
        if (index >= abi::gpu_profile_count) return result::invalid_argument;
        const vgpualloc::mig_profile* profile = profile_at(of.card(), index);
        return profile == nullptr ? result::not_supported : describe(of, *profile, info);
    });
}

VGA_FAKE_NVML int nvmlDeviceGetGpuInstanceProfileInfoV(const void* device, unsigned int index,
                                                       abi::gpu_profile_v2* info) {
    return query("nvmlDeviceGetGpuInstanceProfileInfo", device, gpus_only, [&](const subject& of) {
        if (index >= abi::gpu_profile_count || info == nullptr) return result::invalid_argument;
        constexpr unsigned int version = sizeof(abi::gpu_profile_v2) | 2U << 24U;
        if (info->version != version) return result::argument_version_mismatch;
        const vgpualloc::mig_profile* profile = profile_at(of.card(), index);
        if (profile == nullptr) return result::not_supported;
        abi::gpu_profile older{};
        static_cast<void>(describe(of, *profile, &older));
        *info = {version,
                 older.id,
                 older.peer_to_peer,
                 older.slices,
                 older.instances,
                 older.multiprocessors,
                 older.copy_engines,
                 older.decoders,
                 older.encoders,
                 older.jpeg,
                 older.ofa,
                 older.memory_mib,
                 {}};
        return copy("MIG " + profile->name, info->name.data(), static_cast<unsigned int>(info->name.size()));
    });
}

VGA_FAKE_NVML int nvmlDeviceGetGpuInstancePossiblePlacements_v2(const void* device, unsigned int profile_id,
                                                                abi::placement* places, unsigned int* count) {
    return query("nvmlDeviceGetGpuInstancePossiblePlacements", device, gpus_only, [&](const subject& of) {
        const vgpualloc::mig_profile* profile = profile_of(of.card(), profile_id);
        if (profile == nullptr) return result::not_supported;
        if (count == nullptr) return result::invalid_argument;
        std::vector<abi::placement> list;
        for (const vgpualloc::mig_units start : profile->starts) {
            list.push_back(
                {static_cast<unsigned int>(start.count()), static_cast<unsigned int>(profile->size.count())});
        }
        if (places == nullptr) { // how many there are
            *count = static_cast<unsigned int>(list.size());
            return result::success;
        }
        return give<abi::placement>(list, count, places);
    });
}

VGA_FAKE_NVML int nvmlDeviceGetGpuInstanceRemainingCapacity(const void* device, unsigned int profile_id,
                                                            unsigned int* count) {
    return query("nvmlDeviceGetGpuInstanceRemainingCapacity", device, gpus_only, [&](const subject& of) {
        if (count == nullptr) return result::invalid_argument;
        if (!of.card().mig_enabled || profile_of(of.card(), profile_id) == nullptr) return result::not_supported;
        *count = remaining_instances(of.host, of.gpu_index, profile_id);
        return result::success;
    });
}

VGA_FAKE_NVML int nvmlDeviceCreateGpuInstance(const void* device, unsigned int profile_id, const void** made) {
    return create("nvmlDeviceCreateGpuInstance", device, profile_id, std::nullopt, made);
}

VGA_FAKE_NVML int nvmlDeviceCreateGpuInstanceWithPlacement(const void* device, unsigned int profile_id,
                                                           const abi::placement* at, const void** made) {
    if (at == nullptr) return code_of(result::invalid_argument);
    return create("nvmlDeviceCreateGpuInstanceWithPlacement", device, profile_id, place{at->start, at->size}, made);
}

VGA_FAKE_NVML int nvmlGpuInstanceDestroy(const void* made) {
    return change(
        "nvmlGpuInstanceDestroy", made, handle_kind::gpu_instance,
        [&](std::size_t gpu_index, const handle& target) {
            return "GpuInstanceDestroy" + number("gpu", gpu_index) + number("gi", target.gi);
        },
        [&](machine& host, std::size_t gpu_index, const handle& target) -> changed {
            return {destroy_instance(host, gpu_index, target.gi), {}};
        });
}

VGA_FAKE_NVML int nvmlDeviceGetGpuInstances(const void* device, unsigned int profile_id, const void** list,
                                            unsigned int* count) {
    return query("nvmlDeviceGetGpuInstances", device, gpus_only, [&](const subject& of) {
        if (!of.card().mig_enabled || profile_of(of.card(), profile_id) == nullptr) return result::not_supported;
        std::vector<const void*> handles;
        for (const instance& existing : of.host.instances) {
            if (existing.gpu != of.gpu_index || existing.profile_id != profile_id) continue;
            handles.push_back(
                session::of_process().handle_of({handle_kind::gpu_instance, of.card().uuid, existing.gi}));
        }
        return give<const void*>(handles, count, list);
    });
}

VGA_FAKE_NVML int nvmlDeviceGetGpuInstanceById(const void* device, unsigned int gi, const void** made) {
    return query("nvmlDeviceGetGpuInstanceById", device, gpus_only, [&](const subject& of) {
        if (made == nullptr) return result::invalid_argument;
        if (!of.card().mig_enabled) return result::not_supported;
        if (of.host.find(of.gpu_index, gi) == nullptr) return result::not_found;
        *made = session::of_process().handle_of({handle_kind::gpu_instance, of.card().uuid, gi});
        return result::success;
    });
}

VGA_FAKE_NVML int nvmlGpuInstanceGetInfo(const void* made, abi::gpu_instance_info* info) {
    return query("nvmlGpuInstanceGetInfo", made, instances_only, [&](const subject& of) {
        if (info == nullptr) return result::invalid_argument;
        const instance& what = *of.made();
        *info = {session::of_process().handle_of({handle_kind::device, of.card().uuid}),
                 what.gi,
                 what.profile_id,
                 {what.start, what.size}};
        return result::success;
    });
}
