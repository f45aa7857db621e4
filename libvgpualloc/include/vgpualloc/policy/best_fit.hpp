// best_fit: the node, and on it the device, with the least left over.
#pragma once

#include <string_view>

#include "vgpualloc/policy/usage.hpp"

namespace vgpualloc::policies {

/// Scores are minus the GPUs left idle after the placement. Unlike binpack it compares amounts, not shares, so a small
/// node that is half full comes before a large one that is nearly full.
class best_fit final : public policy {
public:
    static constexpr std::string_view id = "best_fit";
    static constexpr std::string_view about =
        "node with the least idle device capacity left over, then device with the least left over";

    [[nodiscard]] std::string_view name() const noexcept override { return id; }
    [[nodiscard]] policy_traits traits() const noexcept override { return {.view = looks_at::totals}; }
    [[nodiscard]] double node_score(const request_view&, const node_view& before, const node_view& after) override {
        static_cast<void>(before);
        return -in_gpus(after.config->free);
    }
    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view& step) override {
        return -in_gpus(step.after->free());
    }
};

} // namespace vgpualloc::policies
