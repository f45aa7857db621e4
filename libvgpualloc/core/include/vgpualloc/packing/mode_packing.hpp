// How requests go together on one device, asked of the device's sharing mode: sums of amounts where parts are slices,
// and elsewhere every state that the device can reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/device.hpp"
#include "vgpualloc/packing/device_packing.hpp"

namespace vgpualloc {

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

/// Parts that are slices of memory and compute: sums of both, and of slots where these run out first. A mode's rules
/// about who may join whom are left out, which makes more fit than does; amounts are rounded down to coarser steps
/// where there would be too many states.
class slice_packing final : public device_packing {
public:
    /// Every request is one device's worth, and the device serves each when idle with a slice or the whole device.
    /// Memory comes in steps so coarse that the table has at most `cells_wanted` cells, as far as memory decides that.
    [[nodiscard]] static expected<slice_packing> make(const device_spec& device,
                                                      std::span<const device_request> requests,
                                                      std::size_t cells_wanted = default_cells_wanted);
    static constexpr std::size_t default_cells_wanted = std::size_t{1} << 18U;

    [[nodiscard]] std::size_t parts() const noexcept override { return sums_.parts(); }
    [[nodiscard]] worthy_pattern best(std::span<const double> worth) const override { return sums_.best(worth); }
    [[nodiscard]] expected<std::vector<device_pattern>> enumerate(std::span<const std::int64_t> most,
                                                                  std::size_t patterns_max) const override {
        return sums_.enumerate(most, patterns_max);
    }

    /// What each rest of a device is worth (knapsack_packing::worth_of_rests), and where that of a state stands.
    [[nodiscard]] std::vector<double> worth_of_rests(std::span<const double> worth) const {
        return sums_.worth_of_rests(worth);
    }
    [[nodiscard]] std::size_t position_of_rest(const device_spec& device, const device_state& state) const;

private:
    slice_packing() = default;
    /// In the dimensions that count.
    [[nodiscard]] knapsack_packing::amounts amounts_of(const use_vector& use) const;

    std::int64_t memory_step_ = 0; ///< MiB; 0 where memory does not count
    bool compute_counts_ = false;
    bool slots_count_ = false;
    knapsack_packing sums_;
};

/// The packing of one device: slice_packing where all parts are slices; other modes are followed through their states.
/// So what fits really fits here, and a bound made of it is one. Errors: more than `states_max` states of a device that
/// is not cut in slices.
[[nodiscard]] expected<std::shared_ptr<const device_packing>>
packing_of_device(const device_spec& device, std::span<const device_request> requests,
                  std::size_t states_max = state_packing::default_states_max,
                  std::size_t cells_wanted = slice_packing::default_cells_wanted);

/// One device's worth of a request, and what it is worth to have it on a device, in thousandths.
struct worthy_part {
    device_request request;
    std::int64_t worth = 0;

    bool operator==(const worthy_part&) const = default;
};

/// What the rests of devices of one kind are worth: the multiset of parts that is worth the most of those that still
/// fit. Whole numbers, so the same on every machine.
class rest_worths {
public:
    /// Parts that an idle device does not serve are left out. Errors: those of the packings.
    [[nodiscard]] static expected<rest_worths> make(const device_spec& device, std::vector<worthy_part> parts);

    /// In thousandths; looked up after the first time.
    [[nodiscard]] std::int64_t of(const device_state& state);

private:
    struct state_hash {
        [[nodiscard]] std::size_t operator()(const device_state& state) const noexcept { return hash_value(state); }
    };

    rest_worths() = default;

    device_spec device_;
    std::vector<worthy_part> parts_;
    std::optional<slice_packing> slices_;
    std::vector<std::int64_t> worth_of_rest_;                                   ///< of slices, by position
    std::unordered_map<device_state, std::int64_t, state_hash> worth_of_state_; ///< that was asked for
};

} // namespace vgpualloc
