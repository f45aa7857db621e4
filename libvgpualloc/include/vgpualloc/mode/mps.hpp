// NVIDIA MPS: processes share a GPU through one server, each with limits of memory and threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/mode/budget.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc::modes {

/// Slices of memory (CUDA_MPS_PINNED_DEVICE_MEM_LIMIT) and threads (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE). A request
/// without cores gets no thread limit and reserves nothing: a limit is no guarantee, so such a client joins anybody.
/// Limits of either kind add up to at most the device; MPS itself takes any thread limits. Source: NVIDIA's
/// "Multi-Process Service" (docs.nvidia.com/deploy/mps: client limits, execution resource provisioning, memory
/// protection and error containment).
class mps final : public named<"mps", one_part_mode<mps, slice_mode>> {
public:
    static constexpr std::int64_t clients_max = 48; ///< of one GPU since Volta; 16 before, which the slots say

    /// A fatal fault ends all clients on the GPU (seed 002, R050).
    [[nodiscard]] bool shares_faults() const noexcept override { return true; }
    [[nodiscard]] device_spec adapted(device_spec spec) const override {
        spec.cores = whole_compute;
        spec.slots = std::min(spec.slots, clients_max);
        return spec;
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const device_request& request) const override {
        return why_not(device, state, partition{part_for(device, request)});
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const partition& part) const override {
        return why_no_slice(device, std::min(device.slots, clients_max), state, part);
    }

    [[nodiscard]] milli_gpu used(const device_spec& device, const device_state& state) const override {
        return larger_share(device, state);
    }
};

} // namespace vgpualloc::modes
