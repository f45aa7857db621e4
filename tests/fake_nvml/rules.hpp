// What a driver allows: which instances may be made, destroyed, and what they are called. No file, no call of NVML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine.hpp"
#include "nvml_abi.hpp"

namespace fake_nvml {

template <class T>
using answer = vgpualloc::expected<T, result>;

struct place {
    std::uint32_t start = 0;
    std::uint32_t size = 0;

    bool operator==(const place&) const = default;
};

/// The profile with this id of a GPU; null if it has none.
[[nodiscard]] const vgpualloc::mig_profile* profile_of(const gpu& card, std::uint32_t profile_id) noexcept;

/// NVML's index of a profile (NVML_GPU_INSTANCE_PROFILE_*), unique in its model.
[[nodiscard]] std::uint32_t profile_index(const vgpualloc::mig_model& model, const vgpualloc::mig_profile& profile);

/// Makes a GPU instance without compute instances: at a place, or at the first start that is free.
/// invalid_argument: no such profile, or it has no such place; insufficient_resources: no room, too many compute
/// slices, engines or instances of the profile; not_supported: MIG is off.
[[nodiscard]] answer<instance> create_instance(machine& host, std::size_t gpu_index, std::uint32_t profile_id,
                                               const std::optional<place>& at);

/// in_use: it has compute instances or something runs on it; not_found.
[[nodiscard]] result destroy_instance(machine& host, std::size_t gpu_index, std::uint32_t gi);

/// Makes a compute instance by its profile's index. insufficient_resources: the compute slices are taken;
/// not_supported: the GPU instance is smaller than the profile.
[[nodiscard]] answer<compute_instance> create_compute(machine& host, std::size_t gpu_index, std::uint32_t gi,
                                                      std::uint32_t profile);
/// in_use: something runs on it; not_found.
[[nodiscard]] result destroy_compute(machine& host, std::size_t gpu_index, std::uint32_t gi, std::uint32_t ci);

struct mode_change {
    result code = result::success;
    result activation = result::success; ///< why the mode is only pending
};
/// Switches MIG on or off, at once or pending. in_use: it has instances.
[[nodiscard]] mode_change set_mig_mode(gpu& card, bool has_instances, bool enabled);

[[nodiscard]] bool is_busy(const machine& host, const instance& made);
[[nodiscard]] bool has_instances(const machine& host, std::size_t gpu_index);

/// How many more instances of a profile could be made one after the other.
[[nodiscard]] std::uint32_t remaining_instances(const machine& host, std::size_t gpu_index, std::uint32_t profile_id);

/// Compute slices of a compute instance profile; 0 if there is no such index.
[[nodiscard]] std::uint32_t compute_slices_of(std::uint32_t profile) noexcept;
/// The compute instance profile of so many slices; abi::compute_profile_count if there is none.
[[nodiscard]] std::uint32_t compute_profile_of(std::uint32_t slices) noexcept;
/// Compute slices of a GPU instance; 0 if its GPU does not know its profile.
[[nodiscard]] std::uint32_t compute_slices_of(const machine& host, const instance& made) noexcept;

struct mig_device {
    std::uint32_t gi = 0;
    std::uint32_t ci = 0;
};
/// The MIG devices of a GPU by their index.
[[nodiscard]] std::vector<mig_device> mig_devices(const machine& host, std::size_t gpu_index);

/// The uuid of a MIG device: that of the state file's table, else a hash of GPU, numbers and profile.
[[nodiscard]] std::string uuid_of(const machine& host, const instance& made, std::uint32_t ci);

} // namespace fake_nvml
