// binpack: the node, and on it the device, that ends up fullest.
#pragma once

#include <string_view>

#include "vgpualloc/policy/usage.hpp"

namespace vgpualloc::policies {

/// Scores are used shares after the placement, 0 to 1. Pods without devices go to nodes without devices first.
class binpack final : public policy {
public:
    static constexpr std::string_view id = "binpack";
    static constexpr std::string_view about = "fullest node first, then fullest device: keeps whole nodes free";

    [[nodiscard]] std::string_view name() const noexcept override { return id; }
    [[nodiscard]] policy_traits traits() const noexcept override { return {.view = looks_at::totals}; }
    [[nodiscard]] double node_score(const request_view&, const node_view& before, const node_view& after) override {
        static_cast<void>(before);
        return used_ratio(after, 1.0);
    }
    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view& step) override {
        return in_gpus(step.after->used);
    }
};

} // namespace vgpualloc::policies
