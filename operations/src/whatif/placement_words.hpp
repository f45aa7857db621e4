// Placements on the nodes of a snapshot, in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vgpuops/whatif/answer.hpp"

namespace vgpuops::whatif {

/// Names of the cluster are somebody else's: each line is made one that a terminal may show.
void add_line(std::string& text, std::string_view line);

/// "GPU-a1 slice 3000 MiB, compute not limited; GPU-a2 …", or "no device".
[[nodiscard]] std::string share_words(const std::vector<explaining::explained_share>& shares);

} // namespace vgpuops::whatif
