// How requests go together on one device, asked of the device's sharing mode: sums of amounts where parts are slices,
// and elsewhere every state that the device can reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/device.hpp"
#include "vgpualloc/plan/device_packing.hpp"

namespace vgpualloc::plan {

/// Parts that are requests, in the states of one device: MIG placements, templates of NPUs, groups of geometries,
/// without knowing any of them. What a multiset needs is a way through the states that ends with all of it on the
/// device.
class state_packing final : public device_packing {
public:
    /// Every request is one device's worth, and the device serves each when idle. Error (unsupported): more than
    /// `states_max` states.
    [[nodiscard]] static expected<state_packing> make(const device_spec& device,
                                                      std::span<const device_request> requests,
                                                      std::size_t states_max = default_states_max);
    static constexpr std::size_t default_states_max = 20'000;

    [[nodiscard]] std::size_t parts() const noexcept override { return parts_; }
    [[nodiscard]] worthy_pattern best(std::span<const double> worth) const override;
    [[nodiscard]] expected<std::vector<device_pattern>> enumerate(std::span<const std::int64_t> most,
                                                                  std::size_t patterns_max) const override;

    /// States that the device can reach with these requests, the idle one among them.
    [[nodiscard]] std::size_t states() const noexcept { return first_step_.size() - 1; }

private:
    struct step {
        std::uint32_t part = 0;
        std::uint32_t next = 0; ///< a state of a higher number
    };

    state_packing() = default;

    std::size_t parts_ = 0;
    std::vector<std::uint32_t> first_step_; ///< by state, and one more: where its steps begin
    std::vector<step> steps_;
};

/// The packing of one device. Slices of memory and compute are sums (knapsack_packing): a mode's rules about who may
/// join whom are left out, which makes more fit than does; amounts are rounded down to coarser steps where there would
/// be too many states. Other modes are followed through their states. So what fits really fits here, and a bound made
/// of it is one. Errors: more than `states_max` states of a device that is not cut in slices.
[[nodiscard]] expected<std::shared_ptr<const device_packing>>
packing_of_device(const device_spec& device, std::span<const device_request> requests,
                  std::size_t states_max = state_packing::default_states_max);

} // namespace vgpualloc::plan
