// How many units of a node are free from when on, as far as is planned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// A step function of time. It begins at the time that it was made for and goes on for ever.
class free_profile {
public:
    free_profile(ticks begin, std::int64_t units) : steps_{{.from = begin, .free = units}} {}

    /// The earliest time, not before `earliest`, from which on so many units are free for so long; ticks::max() for
    /// never.
    [[nodiscard]] ticks find(std::int64_t units, ticks duration, ticks earliest) const noexcept;
    /// The fewest units that are free at any time of a span.
    [[nodiscard]] std::int64_t least(ticks from, ticks duration) const noexcept;
    /// So many units are taken for so long (ticks::max(): for ever), or given back if negative.
    void take(std::int64_t units, ticks from, ticks duration);
    /// What lies before `now` will not be asked for again.
    void forget_before(ticks now);
    /// Appends the times at which more becomes free than before.
    void append_times(std::vector<ticks>& times) const;

private:
    struct step {
        ticks from;
        std::int64_t free = 0;
    };

    [[nodiscard]] std::size_t step_at(ticks time) const noexcept;
    std::size_t split(ticks time);

    std::vector<step> steps_; ///< ascending
};

} // namespace vgpusim
