// dual_price: the placement that costs the least of what the rests of a node's devices are worth.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/policy.hpp"
#include "vgpualloc/policy/price_table.hpp"

namespace vgpualloc::policies {

/// A node's potential is the worth of its devices' rests (price_table), but no more than its CPU can make use of, for
/// which 0.9 and 1.1 times the workload's CPU per GPU are averaged; plus 0.05 times the sum of squares of the rests.
/// The score is what the potential gains, in GPUs. Everything is counted in whole millionths of a GPU: equal states
/// compare equal on every machine. Source: STUDY-price, "LPW"; its margin of comparison is the rounding here.
class dual_price final : public named<"dual_price", policy> {
public:
    explicit dual_price(const policy_parameters& parameters) : dual_price{parameters.prices} {}
    explicit dual_price(price_table prices) : prices_{std::move(prices)} {}

    [[nodiscard]] double node_score(const request_view&, const node_view& before, const node_view& after) override {
        return static_cast<double>(potential(after) - potential(before)) / 2e6;
    }
    [[nodiscard]] double device_score(const request_view& request, const node_view& before, const node_view& after,
                                      const step_view&) override {
        return node_score(request, before, after);
    }
    [[nodiscard]] policy_traits traits() const noexcept override { return {.device_score_is_node_score = true}; }
    void forget_ids() override { kept_.clear(); }

private:
    struct rests {
        std::int64_t worth = -1;  ///< millionths of a GPU; -1 = not known yet
        std::int64_t squares = 0; ///< of the rests in milli-GPU
    };

    [[nodiscard]] rests sum_of(const device_config& config) const {
        rests sum{.worth = 0};
        for (const device_view* device : config.devices) {
            if (device->service != service_state::in_service) continue;
            sum.worth += prices_.worth_of(device->free());
            sum.squares += device->free().count() * device->free().count();
        }
        return sum;
    }
    [[nodiscard]] rests rests_of(const device_config& config) {
        if (config.id == not_interned) return sum_of(config);
        if (config.id >= kept_.size()) kept_.resize(config.id + std::size_t{64});
        rests& known = kept_[config.id];
        if (known.worth < 0) known = sum_of(config);
        return known;
    }
    /// Twice the potential, in millionths of a GPU.
    [[nodiscard]] std::int64_t potential(const node_view& node) {
        const rests sum = rests_of(*node.config);
        const std::int64_t squares = sum.squares / 10;
        if (prices_.cpu_per_gpu <= 0) return 2 * sum.worth + squares;
        const std::int64_t cpu = std::max<std::int64_t>(node.cpu_left.count(), 0) * 10'000'000;
        return std::min(sum.worth, cpu / (9 * prices_.cpu_per_gpu)) +
               std::min(sum.worth, cpu / (11 * prices_.cpu_per_gpu)) + squares;
    }

    price_table prices_;
    std::vector<rests> kept_; ///< by configuration id
};

} // namespace vgpualloc::policies
