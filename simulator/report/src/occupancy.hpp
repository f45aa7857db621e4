// Where in the picture each GPU is drawn: nodes of a kind stand together, a column per node or per few nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "vgpureport/report.hpp"

namespace vgpureport {

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
