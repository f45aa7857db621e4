// A scheduling discipline: when a waiting pod is tried, and what happens when it does not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/rejection.hpp"

namespace vgpusim {

/// The loop asks the discipline at each arrival, rejection and finish which pods to try when; it schedules the
/// attempts.
class discipline {
public:
    struct attempt {
        std::uint32_t pod = 0;
        vgpualloc::ticks time;
    };

    virtual ~discipline() = default;
    /// A pod arrived: append the attempts that follow from it.
    virtual void on_arrival(std::uint32_t pod, vgpualloc::ticks now, std::vector<attempt>& attempts) = 0;
    /// A pod did not fit. True: it has failed for good. False: the discipline keeps it, and may have appended attempts.
    [[nodiscard]] virtual bool on_rejection(std::uint32_t pod, const vgpualloc::rejection& why, vgpualloc::ticks now,
                                            std::vector<attempt>& attempts) = 0;
    /// Capacity became free.
    virtual void on_finish(std::uint32_t pod, vgpualloc::ticks now, std::vector<attempt>& attempts) = 0;
};

} // namespace vgpusim
