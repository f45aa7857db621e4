// From samples of pods to pods that have run.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "pod_series.hpp"
#include "vgputraces/accounting.hpp"

namespace vgputraces {

struct pods_of_metrics {
    std::map<std::tuple<std::string, std::string, std::string>, pod_series> by_key{}; ///< namespace, name and uid
    sample_grid grid{};
    bool has_phases = false;
    bool has_requests = false;
};

/// As kube_metrics_reader says. Takes the grid's samples to their end.
[[nodiscard]] expected<accounting> accounting_of(pods_of_metrics& pods, const row_options& options,
                                                 skipped_rows skipped);

} // namespace vgputraces
