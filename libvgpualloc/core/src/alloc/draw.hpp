// How a tie among nodes is drawn. Part of what a decision means: the fast and the naive path draw alike.
#pragma once

#include <cstddef>
#include <vector>

#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc {

/// A uniformly drawn node among those for which `tied` holds (at least one). Positions of all nodes are drawn until one
/// is tied, which is cheap while many are; after 64 misses the tied ones are listed by `list_tied(out)`, ascending.
template <class Tied, class ListTied>
[[nodiscard]] std::size_t draw_tied_node(policy& drawer, std::size_t nodes, Tied&& tied, ListTied&& list_tied) {
    constexpr int misses_max = 64;
    for (int miss = 0; miss < misses_max; ++miss) {
        const auto position = static_cast<std::size_t>(drawer.draw(nodes));
        if (tied(position)) return position;
    }
    std::vector<std::size_t> all;
    list_tied(all);
    return all[static_cast<std::size_t>(drawer.draw(all.size()))];
}

} // namespace vgpualloc
