// The node × GPU picture of one run, ready for the page: who stands in which column, and how full each cell is.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vgpureport/report.hpp"

namespace vgpureport {

struct occupancy {
    std::string cluster_json; ///< groups of columns and node names: the same for every run on one cluster
    std::string cells;        ///< two digits of base 64 per GPU, column by column: thousandths in use
    std::string cpu;          ///< two digits of base 64 per column: thousandths of the CPU in use
};

/// Nodes are grouped by model and number of GPUs. Up to `columns_limit` nodes each have a column, in node-list order;
/// above that the nodes of a group are ranked by use and neighbours share a column, which shows their mean.
[[nodiscard]] occupancy picture_of(const std::vector<report_node>& nodes, std::size_t columns_limit);

} // namespace vgpureport
