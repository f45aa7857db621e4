// A run reduced to what it is at every whole percent of load, as the curves of the FGD paper are.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "vgpusim/engine/record.hpp"

namespace vgpusim {

/// What a curve says of the cluster at a load. Ratios are fractions of all GPUs unless they say otherwise.
inline constexpr std::array<std::string_view, 8> load_metric_names{
    "allocation_ratio",    ///< milli-GPU that pods have
    "unallocated_ratio",   ///< the rest
    "served_ratio",        ///< milli-GPU that running pods asked for
    "fragmentation_milli", ///< F: idle milli-GPU that typical pods cannot use
    "fragmentation_ratio", ///< F of the idle milli-GPU; 0 where none is idle
    "fragmentation_of_all_ratio",
    "active_nodes", ///< nodes with any GPU or CPU used
    "active_gpus",  ///< GPUs with anything used
};

using load_point = std::array<double, load_metric_names.size()>;

/// By percent of all GPUs that the pods which have arrived ask for; nothing where no event is near that load.
using load_curve = std::vector<std::optional<load_point>>;

/// Loads above this many percent are left out.
inline constexpr std::size_t load_pct_max = 1000;

/// The mean over the events whose load rounds to the percent (halves to the even one), as the paper's analysis has it;
/// where there is none, over those of the percents beside it. Empty for a cluster without GPUs. The run must have a
/// sample after every event.
[[nodiscard]] load_curve load_curve_of(const run_record& record);

} // namespace vgpusim
