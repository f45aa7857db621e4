// Where in the picture each GPU is drawn: nodes of a kind stand together, a column per node or per few nodes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "vgpureport/report.hpp"

namespace vgpureport {

/// More groups than this cannot be told apart on a page, and each needs a column of its own.
inline constexpr std::size_t groups_max = 256;

/// Of so many columns for the nodes of all groups, those of one group: in proportion to its nodes, at least one.
[[nodiscard]] constexpr std::size_t columns_of(std::size_t members, std::size_t nodes, std::size_t groups,
                                               std::size_t columns_limit) {
    return std::min(members, 1 + members * (columns_limit - groups) / nodes);
}

/// The members shown in column `column` are those from `first_member(column, …)` up to `first_member(column + 1, …)`.
[[nodiscard]] constexpr std::size_t first_member(std::size_t column, std::size_t members, std::size_t columns) {
    return column * members / columns;
}

inline constexpr std::uint32_t not_drawn = std::numeric_limits<std::uint32_t>::max();

/// The picture's cells are numbered column by column; a node's GPUs have numbers that follow each other.
struct occupancy_layout {
    std::string cluster_json;              ///< groups of columns and node names: the same for every run on one cluster
    std::string cpu;                       ///< two digits of base 64 per column: thousandths of the CPU in use
    std::vector<std::uint32_t> first_cell; ///< per node, of its first GPU; not_drawn where it is left out
    std::vector<std::uint32_t> nodes_in_cell; ///< per cell, how many nodes share it
    bool merged = false;                      ///< some columns show several nodes
};

/// Nodes are grouped by model and number of GPUs. Up to `columns_limit` nodes each have a column, in node-list order;
/// above that the nodes of a group are ranked by use and neighbours share a column, which shows their mean.
[[nodiscard]] occupancy_layout layout_of(const std::vector<report_node>& nodes, std::size_t columns_limit);

} // namespace vgpureport
