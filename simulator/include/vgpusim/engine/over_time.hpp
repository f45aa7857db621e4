// What a cluster held over time: sums in which each state counts for as long as it lasts.
#pragma once

#include <cstdint>

#include "vgpualloc/core/units.hpp"

namespace vgpusim {

/// Amounts that are in use at one moment.
struct amounts_in_use {
    std::int64_t allocated_milli = 0; ///< milli-GPU that nobody else can have
    std::int64_t served_milli = 0;    ///< milli-GPU that the running pods asked for
    std::int64_t unusable_micro = 0;  ///< fragmentation F, millionths of a milli-GPU
};

/// The sums are exact: amounts to 2^50 over times to 2^60 ticks pass 64 bits, and a sum of rounded products would
/// depend on how often the state was looked at.
class over_time {
public:
    /// These amounts were held until `now`, which is not before the moment of the call before. The first call says only
    /// when the run begins.
    void hold(const amounts_in_use& amounts, vgpualloc::ticks now) noexcept {
        if (begun_ && now != last_) {
            const std::int64_t span = (now - last_).count();
            allocated_ += wide{amounts.allocated_milli} * span;
            served_ += wide{amounts.served_milli} * span;
            unusable_ += wide{amounts.unusable_micro} * span;
            span_ += span;
        }
        begun_ = true;
        last_ = now;
    }

    /// Whether any time has passed; without it there are no means.
    [[nodiscard]] bool has_span() const noexcept { return span_ > 0; }
    /// Means over the time that has passed, in milli-GPU.
    [[nodiscard]] double allocated_milli() const noexcept { return mean(allocated_); }
    [[nodiscard]] double served_milli() const noexcept { return mean(served_); }
    [[nodiscard]] double unusable_milli() const noexcept { return mean(unusable_) / 1e6; }

private:
    __extension__ using wide = __int128;

    [[nodiscard]] double mean(wide sum) const noexcept {
        return has_span() ? static_cast<double>(sum) / static_cast<double>(span_) : 0.0;
    }

    wide allocated_ = 0;
    wide served_ = 0;
    wide unusable_ = 0;
    std::int64_t span_ = 0; ///< in ticks
    vgpualloc::ticks last_;
    bool begun_ = false;
};

} // namespace vgpusim
