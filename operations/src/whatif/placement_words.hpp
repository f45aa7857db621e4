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

/// "ns/a, ns/b (PodDisruptionBudget db allows no disruption)".
[[nodiscard]] std::string kept_words(const std::vector<kube::kept_pod>& kept);
[[nodiscard]] document kept_json(const std::vector<kube::kept_pod>& kept);

} // namespace vgpuops::whatif
