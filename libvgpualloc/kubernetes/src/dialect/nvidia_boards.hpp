// Which boards of a node have which of the MIG instances that NVIDIA's plugin counts: no object says it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/catalog/mig_layouts.hpp"

namespace vgpualloc::dialects::nvidia {

/// Instances of one profile on a node, or on a board of it.
struct instance_count {
    std::string profile; ///< "1g.10gb+me"
    std::int64_t instances = 0;
};

/// The profile that a resource ("mig-1g.10gb.me", without its domain) or a product label names: a plus sign is a dot
/// there. Source: k8s-device-plugin, internal/rm.
[[nodiscard]] std::string profile_of_words(std::string_view words);
/// The other way.
[[nodiscard]] std::string words_of_profile(std::string profile);

/// The most instances of one profile that a board has; 1 where neither the model nor the name says it. `model` may be
/// null.
[[nodiscard]] std::int64_t instances_per_board(const mig_model* model, const std::string& profile);

/// Instances of these profiles (positions in the model) on one GPU, in that order each at the first start with which
/// the others have room too; none: there is no room for all.
[[nodiscard]] std::optional<mig_layout> places_on_board(const mig_model& model,
                                                        const std::vector<std::size_t>& instances);

/// Deals instances to boards: to all alike where that is possible, else each to the board with the fewest slices taken
/// that has room for it, the largest first. `boards`: how many there are known to be; none, or too few: as few as hold
/// them. A board of an unknown model has 7 compute slices. Each board has an entry for every profile of `all`.
[[nodiscard]] std::vector<std::vector<instance_count>>
deal_instances(const mig_model* model, const std::vector<instance_count>& all, std::optional<std::int64_t> boards);

} // namespace vgpualloc::dialects::nvidia
