// Functions f of a share of a device with f(a) + f(b) + … <= 1 wherever a + b + … <= 1. None of them decreases.
#pragma once

#include <array>
#include <cstdint>

#include "vgpualloc/model/requested_share.hpp"

namespace vgpualloc::plan {

[[nodiscard]] inline double value_of(const fraction& share) noexcept {
    return static_cast<double>(share.part) / static_cast<double>(share.whole);
}

/// With a threshold of t percent, at most 50: less than t is nothing, more than 100 - t is all; 0 leaves a share as it
/// is. With n steps: to the next lower one of n where it is not a multiple of 1 / (n + 1).
struct share_rounding {
    std::int64_t threshold_percent = 0;
    std::int64_t steps = 0; ///< 0: by the threshold

    [[nodiscard]] double of(const fraction& share) const noexcept {
        if (steps > 0) {
            const std::int64_t scaled = share.part * (steps + 1);
            if (scaled % share.whole == 0) return value_of(share);
            return static_cast<double>(scaled / share.whole) / static_cast<double>(steps);
        }
        constexpr std::int64_t percent = 100;
        const std::int64_t scaled = share.part * percent;
        if (scaled < threshold_percent * share.whole) return 0.0;
        return scaled > (percent - threshold_percent) * share.whole ? 1.0 : value_of(share);
    }
    [[nodiscard]] bool changes_nothing() const noexcept { return steps == 0 && threshold_percent == 0; }
};

/// Thresholds with which few pods fit together, and steps by which few do.
inline constexpr std::array share_roundings{
    share_rounding{.threshold_percent = 0},
    share_rounding{.threshold_percent = 10},
    share_rounding{.threshold_percent = 20},
    share_rounding{.threshold_percent = 25},
    share_rounding{.threshold_percent = 30},
    share_rounding{.threshold_percent = 40},
    share_rounding{.steps = 1},
    share_rounding{.steps = 2},
    share_rounding{.steps = 3},
};

} // namespace vgpualloc::plan
