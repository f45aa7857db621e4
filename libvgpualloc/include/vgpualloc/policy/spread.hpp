// spread: the node, and on it the device, that is emptiest before the placement.
#pragma once

#include <string_view>

#include "vgpualloc/policy/usage.hpp"

namespace vgpualloc::policies {

/// Scores are free shares before the placement, 0 to 1, as the seeds' spread is decided (the state before counts).
class spread final : public policy {
public:
    static constexpr std::string_view id = "spread";
    static constexpr std::string_view about = "emptiest node first, then emptiest device: keeps neighbours apart";

    [[nodiscard]] std::string_view name() const noexcept override { return id; }
    [[nodiscard]] policy_traits traits() const noexcept override { return {.view = looks_at::totals}; }
    [[nodiscard]] double node_score(const request_view&, const node_view& before, const node_view& after) override {
        static_cast<void>(after);
        return 1.0 - used_ratio(before, 0.0);
    }
    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view& step) override {
        return 1.0 - in_gpus(step.before->used);
    }
};

} // namespace vgpualloc::policies
