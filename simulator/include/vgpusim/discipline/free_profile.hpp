// How many units of a node are free from when on, as far as is planned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpualloc/core/units.hpp"

namespace vgpusim {

/// A step function of time. It begins at the time that it was made for and goes on for ever.
class free_profile {
public:
    free_profile(vgpualloc::ticks begin, std::int64_t units) : steps_{{.from = begin, .free = units}} {}

    /// The earliest time, not before `earliest`, from which on so many units are free for so long; ticks::max() for
    /// never.
    [[nodiscard]] vgpualloc::ticks find(std::int64_t units, vgpualloc::ticks duration,
                                        vgpualloc::ticks earliest) const noexcept;
    /// The fewest units that are free at any time of a span.
    [[nodiscard]] std::int64_t least(vgpualloc::ticks from, vgpualloc::ticks duration) const noexcept;
    /// So many units are taken for so long (ticks::max(): for ever), or given back if negative.
    void take(std::int64_t units, vgpualloc::ticks from, vgpualloc::ticks duration);
    /// What lies before `now` will not be asked for again.
    void forget_before(vgpualloc::ticks now);
    /// Appends the times at which more becomes free than before.
    void append_times(std::vector<vgpualloc::ticks>& times) const;

private:
    struct step {
        vgpualloc::ticks from;
        std::int64_t free = 0;
    };

    [[nodiscard]] std::size_t step_at(vgpualloc::ticks time) const noexcept;
    std::size_t split(vgpualloc::ticks time);

    std::vector<step> steps_; ///< ascending
};

} // namespace vgpusim
