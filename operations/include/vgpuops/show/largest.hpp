// The largest part of the devices of some nodes that is free in one place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::show {

/// What one pod could have at most; of MIG instances one entry for each profile.
struct largest_part {
    std::string part{};          ///< "gpu", "replicas", "slice", or the profile of an instance
    std::int64_t amount = 0;     ///< GPUs or replicas on one node; instances that are free on all nodes
    std::int64_t memory_mib = 0; ///< of a slice or an instance, where it is known
    std::int64_t cores = 0;      ///< of a slice
    std::string node{};          ///< the first where it is; empty for instances
    std::int64_t nodes = 0;      ///< on how many nodes such a part is, or such an instance

    bool operator==(const largest_part&) const = default;
};

using device_place = std::pair<node_index, device_index>;

/// Of devices of one kind, those that take pods; the largest first. Host CPU and memory are not looked at.
[[nodiscard]] std::vector<largest_part> largest_of(const kube::snapshot& state, std::span<const device_place> devices);

/// "3 gpu (a100-2)", "8 gpu (91 nodes)", "2g.20gb (2)", "21492 MiB, 50 cores (h1)".
[[nodiscard]] std::string words_of(const largest_part& largest);

} // namespace vgpuops::show
