// The ranking that Volcano's plugin deviceshare makes of its arguments, for pods of each dialect.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpusim {

/// How plugin deviceshare ranks.
struct deviceshare_ranking {
    std::string policy{};    ///< deviceshare.SchedulePolicy; any other text than binpack and spread is none
    std::int64_t weight = 0; ///< deviceshare.ScheduleWeight
    std::vector<std::int64_t> ai_cores{}; ///< by node: huawei.com/npu-core that it offers; for dialect mindcluster
    /// AI cores that Kubernetes counts for a booking; empty: they are booked as host memory.
    std::function<std::int64_t(const vgpualloc::booking&)> ai_cores_booked{};
};

/// The ranking of pods that ask in `dialect`; of a dialect that the plugin does not serve, the first node and cards
/// that fit.
[[nodiscard]] std::unique_ptr<vgpualloc::policy> make_deviceshare_policy(std::string_view dialect,
                                                                         deviceshare_ranking with);

} // namespace vgpusim
