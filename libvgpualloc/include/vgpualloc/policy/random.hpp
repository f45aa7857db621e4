// random: any node that fits, any device that fits, each equally likely.
#pragma once

#include <string_view>

#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc::policies {

/// Every candidate scores 0 and ties are drawn from the policy's own stream.
class random final : public policy {
public:
    static constexpr std::string_view id = "random";
    static constexpr std::string_view about = "a node that fits, then a device that fits, drawn uniformly";

    explicit random(const policy_parameters& parameters) : stream_{rng{parameters.seed}.fork("policy/random")} {}

    [[nodiscard]] std::string_view name() const noexcept override { return id; }
    [[nodiscard]] bool scores_by_totals() const noexcept override { return true; }
    [[nodiscard]] double node_score(const request_view&, const node_view&, const node_view&) override { return 0.0; }
    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view&) override {
        return 0.0;
    }
    [[nodiscard]] bool draws_node_ties() const noexcept override { return true; }
    [[nodiscard]] bool draws_device_ties(const request_view&) const noexcept override { return true; }
    [[nodiscard]] std::uint64_t draw(std::uint64_t count) override { return stream_.below(count); }

private:
    rng stream_;
};

} // namespace vgpualloc::policies
