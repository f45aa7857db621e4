// What a node answers to a request.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "vgpualloc/model/placement.hpp"
#include "vgpualloc/model/rejection.hpp"

namespace vgpualloc {

struct node_answer {
    double score = 0.0; ///< meaningful if code is none
    /// How far the best placement there falls short of what was asked; less of it goes before a higher score.
    int compromise = 0;
    rejection_code code = rejection_code::none;
};

/// What one device answers to one container of a pod that has no device yet.
struct device_answer {
    rejection_detail refusal;     ///< code none: it fits
    std::vector<partition> parts; ///< that it could give, in the mode's order
    double score = 0.0;           ///< of the policy's choice among devices, for the best of the parts
};

/// Everything that one node says to one request.
struct node_decision {
    node_answer answer;
    placement where;            ///< the devices that the pod would get; empty unless answer.code is none
    rejection_detail refusal{}; ///< of the host or of what stopped the choice of devices, with its numbers
    std::vector<std::vector<device_answer>> containers{}; ///< by container of the request, then device index
    /// The container that gets no device once those before it have theirs, and what the devices then answer to it.
    /// Devices that it may not share with a container before it have no answer.
    std::optional<std::size_t> stopped_at{};
    std::vector<std::optional<device_answer>> stopped_by{};
};

} // namespace vgpualloc
