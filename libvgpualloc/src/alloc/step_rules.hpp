// What all ways of choosing devices agree on: which of two equally good steps goes first, and why there is none.
#pragma once

#include <cstdint>

#include "vgpualloc/model/rejection.hpp"
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

/// Of the answers of a node's devices, the one that is the node's: devices of another family say nothing of those that
/// could serve, whatever their number.
[[nodiscard]] constexpr rejection_code device_code(rejection reasons) noexcept {
    const rejection_code all = reasons.main_code();
    reasons.nodes[static_cast<std::size_t>(rejection_code::family_not_offered)] = 0;
    const rejection_code of_family = reasons.main_code();
    return of_family == rejection_code::no_nodes ? all : of_family;
}

/// The reason why a container gets no further device: `already` are those it has, `reasons` the answers of those that
/// the pod has not taken. Without an answer they are all taken.
[[nodiscard]] inline rejection_code step_refusal(const rejection& reasons, std::int64_t already) {
    const rejection_code code = device_code(reasons);
    return already > 0 || code == rejection_code::no_nodes ? rejection_code::too_few_devices : code;
}

} // namespace vgpualloc
