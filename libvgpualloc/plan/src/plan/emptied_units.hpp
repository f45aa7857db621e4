// The devices that consolidate() empties together, as places of a board.
#pragma once

#include <cstddef>
#include <cstdint>

#include "board.hpp"

namespace vgpualloc::plan {

/// Calls `visit` with the first place of each unit and the one after its last.
template <class Visitor>
void for_each_unit(const board& on, emptied_unit unit, Visitor visit) {
    for (std::size_t n = 0; n < on.node_count(); ++n) {
        const std::size_t first = on.first_of(node_index{n});
        const std::size_t end = on.end_of(node_index{n});
        if (unit == emptied_unit::node) visit(first, end);
        for (std::size_t place = first; unit == emptied_unit::device && place < end; ++place) visit(place, place + 1);
    }
}

/// Whether no pod has a part of the devices at these places.
[[nodiscard]] inline bool is_idle(const board& on, std::size_t first, std::size_t end) {
    for (std::size_t place = first; place < end; ++place) {
        if (!on.residents(place).empty()) return false;
    }
    return true;
}

[[nodiscard]] inline std::int64_t used_units(const board& on, emptied_unit unit) {
    std::int64_t used = 0;
    for_each_unit(on, unit, [&](std::size_t first, std::size_t end) { used += is_idle(on, first, end) ? 0 : 1; });
    return used;
}

} // namespace vgpualloc::plan
