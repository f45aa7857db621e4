// NVIDIA MPS: processes share a GPU through one server, each with limits of memory and threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "vgpualloc/mode/budget.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc::modes {

/// Slices of memory (CUDA_MPS_PINNED_DEVICE_MEM_LIMIT) and threads (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE). A request
/// without cores gets no thread limit and reserves nothing: a limit is no guarantee, so such a client joins anybody.
/// Limits of either kind add up to at most the device; MPS itself takes any thread limits. Source: NVIDIA's
/// "Multi-Process Service" (docs.nvidia.com/deploy/mps: client limits, execution resource provisioning, memory
/// protection and error containment).
class mps final : public sharing_mode {
public:
    static constexpr std::string_view id = "mps";
    static constexpr std::string_view about =
        "memory and thread limits of processes that share a GPU and its faults (NVIDIA MPS)";

    static constexpr std::int64_t clients_max = 48; ///< of one GPU since Volta; 16 before, which the slots say

    [[nodiscard]] std::string_view name() const noexcept override { return id; }
    /// A fatal fault ends all clients on the GPU (seed 002, R050).
    [[nodiscard]] bool shares_faults() const noexcept override { return true; }
    [[nodiscard]] device_spec adapted(device_spec spec) const override {
        spec.cores = whole_compute;
        spec.slots = std::min(spec.slots, clients_max);
        return spec;
    }

    void candidates(const device_spec& device, const device_state& state, const device_request& request,
                    std::vector<partition>& out) const override {
        if (why_not(device, state, request).code != rejection_code::none) return;
        out.emplace_back(wanted_slice(device, request));
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const device_request& request) const override {
        return why_not(device, state, partition{wanted_slice(device, request)});
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const partition& part) const override {
        const auto* cut = std::get_if<slice>(&part);
        if (cut == nullptr || cut->memory < mib{0} || cut->cores < core_percent{0}) {
            return {.code = rejection_code::mode_not_offered};
        }
        return first_refusal({why_no_slot(std::min(device.slots, clients_max), state),
                              why_no_memory(device, state, cut->memory), why_no_cores(device, state, cut->cores)});
    }

    [[nodiscard]] device_state with(const device_spec&, const device_state& state,
                                    const partition& part) const override {
        return with_slice(state, std::get<slice>(part));
    }

    [[nodiscard]] device_state without(const device_spec&, const device_state& state,
                                       const partition& part) const override {
        return without_slice(state, std::get<slice>(part));
    }

    [[nodiscard]] milli_gpu used(const device_spec& device, const device_state& state) const override {
        return std::min(whole_gpu,
                        std::max(share_of(state.memory, device.memory), share_of(state.cores, device.cores)));
    }

private:
    [[nodiscard]] static slice wanted_slice(const device_spec& device, const device_request& request) {
        return {.memory = memory_wanted(device, request), .cores = request.cores};
    }
};

} // namespace vgpualloc::modes
