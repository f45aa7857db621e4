// Which parts go together on one device, for programs over many devices (packing_lp.hpp): the multiset of parts that is
// worth the most at given worths, which is what a configuration LP asks again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vgpualloc/core/expected.hpp"

namespace vgpualloc {

/// Some of one part on a device.
struct packed_part {
    std::uint32_t part = 0;
    std::int64_t count = 0;

    auto operator<=>(const packed_part&) const = default;
};

/// A multiset of parts that one device can hold at once: by part, ascending, every count above 0.
using device_pattern = std::vector<packed_part>;

struct worthy_pattern {
    double worth = 0.0;
    device_pattern parts{};
};

/// The multisets of parts that one device can hold. Parts are numbered from 0 on, and what a part is is for whoever
/// made the packing. Every subset of a multiset that fits has to fit.
class device_packing {
public:
    virtual ~device_packing() = default;

    [[nodiscard]] virtual std::size_t parts() const noexcept = 0;

    /// The multiset that is worth the most, where part i is worth `worth[i]`; parts worth nothing or less are left out.
    /// Of several that are worth as much always the same one. The empty one is worth 0.
    [[nodiscard]] virtual worthy_pattern best(std::span<const double> worth) const = 0;

    /// All multisets with at most `most[i]` of part i but the empty one, in a fixed order; an error (unsupported) as
    /// soon as there are more than `patterns_max`.
    [[nodiscard]] virtual expected<std::vector<device_pattern>> enumerate(std::span<const std::int64_t> most,
                                                                          std::size_t patterns_max) const = 0;
};

/// Parts that fit wherever the sums of what they take stay within the device's capacity, in each of one to four
/// dimensions: milli-GPU; memory units and compute units; those and slots. Solved exactly, by dynamic programming over
/// what is left.
class knapsack_packing final : public device_packing {
public:
    knapsack_packing() = default;              ///< of no parts
    using amounts = std::vector<std::int64_t>; ///< by dimension

    /// `needs[i]` is what part i takes, at least 0 in every dimension and above 0 in one. Amounts are divided by the
    /// greatest common divisor of their dimension. Errors: other amounts or dimensions; more than `cells_max` states.
    [[nodiscard]] static expected<knapsack_packing> make(const amounts& capacity, const std::vector<amounts>& needs,
                                                         std::size_t cells_max = default_cells_max);
    static constexpr std::size_t default_cells_max = std::size_t{1} << 22U;

    [[nodiscard]] std::size_t parts() const noexcept override { return parts_; }
    [[nodiscard]] worthy_pattern best(std::span<const double> worth) const override;
    [[nodiscard]] expected<std::vector<device_pattern>> enumerate(std::span<const std::int64_t> most,
                                                                  std::size_t patterns_max) const override;

    /// What a rest of a device is worth: the worth of the best multiset that fits into it, for every rest. The first
    /// dimension runs slowest, in steps of step(): entry 0 is the rest of nothing, the last one the whole device.
    [[nodiscard]] std::vector<double> worth_of_rests(std::span<const double> worth) const;
    /// Position in worth_of_rests() of a rest, amounts in the units of make(), a part of a step rounded down.
    [[nodiscard]] std::size_t position_of(const amounts& rest) const;
    [[nodiscard]] std::int64_t step(std::size_t dimension) const { return steps_[dimension]; }
    [[nodiscard]] std::size_t rests() const noexcept { return cells_; }

private:
    /// Parts that take the same are told apart by their worth alone: only the dearest of a size is looked at.
    struct size_class {
        amounts need;       ///< in steps
        std::size_t offset; ///< how far back in the table a part leads
        std::vector<std::uint32_t> parts;
    };
    struct dear_part {
        double worth = 0.0;
        std::uint32_t part = 0;
        const size_class* size = nullptr;
    };
    struct table {
        std::vector<double> worth;
        std::vector<std::int32_t> taken; ///< position in the dear parts; -1: a unit of a dimension is left idle
    };

    [[nodiscard]] std::vector<dear_part> dear_parts(std::span<const double> worth) const;
    [[nodiscard]] table fill(const std::vector<dear_part>& parts) const;
    template <std::size_t Dimensions>
    void fill_cells(const std::vector<dear_part>& parts, table& into) const;

    amounts capacity_; ///< in steps
    amounts steps_;
    amounts strides_;
    std::size_t cells_ = 0;
    std::size_t parts_ = 0;
    std::vector<size_class> sizes_;
};

} // namespace vgpualloc
