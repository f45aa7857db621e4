// dual_price: the placement that costs the least of what the rests of a node's devices are worth.
#pragma once

#include <cstdint>
#include <memory>

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/policy.hpp"
#include "vgpualloc/policy/rest_potential.hpp"

namespace vgpualloc::policies {

/// The score is what the node's potential (rest_potential) gains, in GPUs.
class dual_price final : public named<"dual_price", policy> {
public:
    explicit dual_price(const policy_parameters& parameters)
        : potential_{parameters.prices ? parameters.prices : std::make_shared<const price_book>()} {}

    [[nodiscard]] double node_score(const request_view& request, const node_view& before,
                                    const node_view& after) override {
        return potential_.gain(request, before, after);
    }
    [[nodiscard]] double device_score(const request_view& request, const node_view& before, const node_view& after,
                                      const step_view&) override {
        return potential_.gain(request, before, after);
    }
    [[nodiscard]] policy_traits traits() const noexcept override { return {.device_score_is_node_score = true}; }
    [[nodiscard]] std::uint64_t epoch() const noexcept override { return potential_.book().version; }
    void forget_ids() override { potential_.forget_ids(); }

private:
    rest_potential potential_;
};

} // namespace vgpualloc::policies
