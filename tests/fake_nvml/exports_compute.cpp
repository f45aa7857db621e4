// NVML's functions of compute instances.
#include "guard.hpp"

using namespace fake_nvml; // NOLINT(google-build-using-namespace): functions with C names

namespace {

constexpr std::initializer_list<handle_kind> gpu_instances{handle_kind::gpu_instance};

std::string numbers(std::size_t gpu_index, std::uint32_t gi) {
    return " gpu=" + std::to_string(gpu_index) + " gi=" + std::to_string(gi);
}

} // namespace

VGA_FAKE_NVML int nvmlGpuInstanceGetComputeInstanceProfileInfo(const void* made, unsigned int index,
                                                               unsigned int engines, abi::compute_profile* info) {
    return query("nvmlGpuInstanceGetComputeInstanceProfileInfo", made, gpu_instances, [&](const subject& of) {
        if (info == nullptr || index >= abi::compute_profile_count || engines != 0) return result::invalid_argument;
        const std::uint32_t slices = compute_slices_of(index);
        const std::uint32_t whole = compute_slices_of(of.host, *of.made());
        if (slices == 0 || slices > whole) return result::not_supported;
        const vgpualloc::mig_profile* profile = profile_of(of.card(), of.made()->profile_id);
        const auto count = [](std::optional<std::int64_t> value) {
            return static_cast<unsigned int>(value.value_or(0));
        };
        *info = {index,
                 slices,
                 whole / slices,
                 count(profile->sm) * slices / whole,
                 count(profile->engines.copy),
                 count(profile->engines.decoder),
                 count(profile->engines.encoder),
                 count(profile->engines.jpeg),
                 count(profile->engines.ofa)};
        return result::success;
    });
}

VGA_FAKE_NVML int nvmlGpuInstanceGetComputeInstanceRemainingCapacity(const void* made, unsigned int profile,
                                                                     unsigned int* count) {
    return query("nvmlGpuInstanceGetComputeInstanceRemainingCapacity", made, gpu_instances, [&](const subject& of) {
        if (count == nullptr || compute_slices_of(profile) == 0) return result::invalid_argument;
        machine trial = of.host;
        *count = 0;
        while (create_compute(trial, of.gpu_index, of.target.gi, profile)) ++*count;
        return result::success;
    });
}

VGA_FAKE_NVML int nvmlGpuInstanceCreateComputeInstance(const void* made, unsigned int profile, const void** part) {
    if (part == nullptr) return code_of(result::invalid_argument);
    return change(
        "nvmlGpuInstanceCreateComputeInstance", made, handle_kind::gpu_instance,
        [&](std::size_t gpu_index, const handle& target) {
            return "CreateComputeInstance" + numbers(gpu_index, target.gi) + " profile=" + std::to_string(profile);
        },
        [&](machine& host, std::size_t gpu_index, const handle& target) -> changed {
            const auto created = create_compute(host, gpu_index, target.gi, profile);
            if (!created) return {created.error(), {}};
            *part =
                session::of_process().handle_of({handle_kind::compute_instance, target.uuid, target.gi, created->id});
            return {result::success, "ci=" + std::to_string(created->id)};
        });
}

VGA_FAKE_NVML int nvmlComputeInstanceDestroy(const void* part) {
    return change(
        "nvmlComputeInstanceDestroy", part, handle_kind::compute_instance,
        [&](std::size_t gpu_index, const handle& target) {
            return "ComputeInstanceDestroy" + numbers(gpu_index, target.gi) + " ci=" + std::to_string(target.ci);
        },
        [&](machine& host, std::size_t gpu_index, const handle& target) -> changed {
            return {destroy_compute(host, gpu_index, target.gi, target.ci), {}};
        });
}

VGA_FAKE_NVML int nvmlGpuInstanceGetComputeInstances(const void* made, unsigned int profile, const void** list,
                                                     unsigned int* count) {
    return query("nvmlGpuInstanceGetComputeInstances", made, gpu_instances, [&](const subject& of) {
        std::vector<const void*> handles;
        for (const compute_instance& part : of.made()->compute) {
            if (part.profile != profile) continue;
            handles.push_back(session::of_process().handle_of(
                {handle_kind::compute_instance, of.card().uuid, of.target.gi, part.id}));
        }
        return give<const void*>(handles, count, list);
    });
}

VGA_FAKE_NVML int nvmlGpuInstanceGetComputeInstanceById(const void* made, unsigned int ci, const void** part) {
    return query("nvmlGpuInstanceGetComputeInstanceById", made, gpu_instances, [&](const subject& of) {
        if (part == nullptr) return result::invalid_argument;
        const auto& parts = of.made()->compute;
        if (std::ranges::find(parts, ci, &compute_instance::id) == parts.end()) return result::not_found;
        *part = session::of_process().handle_of({handle_kind::compute_instance, of.card().uuid, of.target.gi, ci});
        return result::success;
    });
}

VGA_FAKE_NVML int nvmlComputeInstanceGetInfo_v2(const void* part, abi::compute_instance_info* info) {
    return query("nvmlComputeInstanceGetInfo", part, {handle_kind::compute_instance}, [&](const subject& of) {
        if (info == nullptr) return result::invalid_argument;
        unsigned int start = 0;
        for (const compute_instance& other : of.made()->compute) {
            if (other.id == of.target.ci) {
                session& process = session::of_process();
                *info = {process.handle_of({handle_kind::device, of.card().uuid}),
                         process.handle_of({handle_kind::gpu_instance, of.card().uuid, of.target.gi}),
                         other.id,
                         other.profile,
                         {start, compute_slices_of(other.profile)}};
                return result::success;
            }
            start += compute_slices_of(other.profile);
        }
        return result::not_found;
    });
}
