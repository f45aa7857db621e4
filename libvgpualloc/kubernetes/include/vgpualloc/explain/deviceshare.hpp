// The ranking that Volcano's plugin deviceshare makes of its arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "vgpualloc/dialect/dialect.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc::explaining {

/// How plugin deviceshare ranks.
struct deviceshare_options {
    std::string policy{};    ///< deviceshare.SchedulePolicy; any other text than binpack and spread is none
    std::int64_t weight = 0; ///< deviceshare.ScheduleWeight
    std::vector<std::int64_t> extended{}; ///< by node: dialect::extended_of, for npu_chips
    /// What Kubernetes counts of it for a booking; empty: it is booked as host memory.
    std::function<std::int64_t(const booking&)> extended_booked{};
};

/// The policy that ranks so.
[[nodiscard]] std::unique_ptr<policy> make_deviceshare_policy(deviceshare_ranking ranking, deviceshare_options options);

} // namespace vgpualloc::explaining
