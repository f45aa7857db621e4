// The ranking that HAMi's scheduler makes of a pod's annotations.
#pragma once

#include <string>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/policy/hami.hpp"

namespace vgpualloc::explaining {

struct hami_choice {
    policies::hami_ranking ranking{};
    std::string words;                         ///< the orders and where each comes from
    std::vector<std::string> not_considered{}; ///< what the annotations also ask for, and nothing here looks at
};

/// HAMi's flags as they are shipped (nodes binpack, GPUs spread), unless the pod's annotations say otherwise:
/// hami.io/node-scheduler-policy, hami.io/gpu-scheduler-policy, hami.io/device-scoring-weights. Error malformed for
/// weights that HAMi refuses, with which it schedules the pod nowhere; where is empty.
[[nodiscard]] expected<hami_choice> hami_choice_of(const kubernetes::pod& pod);

} // namespace vgpualloc::explaining
