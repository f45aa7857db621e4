// random: any node that fits, any device that fits, each equally likely.
#pragma once

#include <string_view>

#include "vgpualloc/policy/drawn_stream.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc::policies {

/// Every candidate scores 0 and ties are drawn from the policy's own stream.
class random final : public policy {
public:
    static constexpr std::string_view id = "random";
    static constexpr std::string_view about = "a node that fits, then a device that fits, drawn uniformly";

    explicit random(const policy_parameters& parameters) : stream_{parameters.seed, "policy/random"} {}

    [[nodiscard]] std::string_view name() const noexcept override { return id; }
    [[nodiscard]] policy_traits traits() const noexcept override {
        return {.view = looks_at::totals, .nodes = ties::drawn, .devices = ties::drawn};
    }
    [[nodiscard]] double node_score(const request_view&, const node_view&, const node_view&) override { return 0.0; }
    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view&) override {
        return 0.0;
    }
    [[nodiscard]] std::uint64_t draw(std::uint64_t count) override { return stream_.draw(count); }
    void enter_trial() override { stream_.enter_trial(); }
    void leave_trial(bool keep) override { stream_.leave_trial(keep); }

private:
    drawn_stream stream_;
};

} // namespace vgpualloc::policies
