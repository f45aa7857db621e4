// What a MIG GPU's plan says: as a table with the GPU drawn after every step, and as JSON.
#pragma once

#include <optional>
#include <string>

#include "vgpualloc/plan/transition_request.hpp"

namespace vgpuops::transitions {

/// `plan` empty: there is no such way.
[[nodiscard]] std::string plan_text(const vgpualloc::plan::gpu_layouts& states, vgpualloc::plan::mig_live_state live,
                                    const vgpualloc::plan::transition_request& request,
                                    const std::optional<vgpualloc::plan::layout_plan>& plan);
[[nodiscard]] std::string plan_json(const vgpualloc::plan::gpu_layouts& states,
                                    const std::optional<vgpualloc::plan::layout_plan>& plan);

} // namespace vgpuops::transitions
