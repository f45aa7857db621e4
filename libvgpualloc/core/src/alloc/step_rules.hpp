// What all ways of choosing devices agree on: which of two equally good steps goes first.
#pragma once

#include "vgpualloc/model/view.hpp"

namespace vgpualloc {

/// Whether a step goes before another one that the policies score alike: by the kind of the device, by its state, by
/// the state that it is left in. So the outcome of several steps does not depend on the devices' indices.
[[nodiscard]] inline bool goes_first(const device_view& before, const device_state& after,
                                     const device_view& other_before, const device_state& other_after) noexcept {
    if (&before != &other_before) {
        if (before.kind != other_before.kind) return before.kind < other_before.kind;
        const auto order = before.state <=> other_before.state;
        if (order != 0) return order < 0;
    }
    return after < other_after;
}

} // namespace vgpualloc
