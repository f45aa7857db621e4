// Volcano's scheduler configuration: what the plugin deviceshare is told, and the ranking that it then is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/volcano_config.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpusim {

/// The arguments of plugin deviceshare: in volcano-scheduler.conf itself, or in a ConfigMap that holds it under a key
/// that ends with ".conf". `name` is the file's, for errors: malformed, missing (no such plugin), duplicate (it twice),
/// and those of parse_plugin_arguments().
[[nodiscard]] vgpualloc::expected<vgpualloc::dialect::volcano::plugin_arguments>
parse_scheduler_config(const std::string& text, const std::string& name);

/// Whether the arguments enable what serves this pod, which asks for devices in `dialect` (`vgpusim dialects`). Error
/// unsupported, which names the argument; where is empty.
[[nodiscard]] vgpualloc::expected<void> check_enabled(const vgpualloc::dialect::volcano::plugin_arguments& arguments,
                                                      std::string_view dialect,
                                                      const vgpualloc::kubernetes::pod& asked);

/// How plugin deviceshare ranks.
struct deviceshare_ranking {
    std::string policy{};    ///< deviceshare.SchedulePolicy; any other text than binpack and spread is none
    std::int64_t weight = 0; ///< deviceshare.ScheduleWeight
    std::vector<std::int64_t> ai_cores{}; ///< by node: huawei.com/npu-core that it offers; for dialect mindcluster
    /// AI cores that Kubernetes counts for a booking; empty: they are booked as host memory.
    std::function<std::int64_t(const vgpualloc::booking&)> ai_cores_booked{};
};

/// The ranking of pods that ask in `dialect`; of a dialect that the plugin does not serve, the first node and cards
/// that fit. `owned` outlives it.
[[nodiscard]] std::unique_ptr<vgpualloc::policy>
make_deviceshare_policy(std::string_view dialect, deviceshare_ranking with, const vgpualloc::cluster& owned);

/// Allocatable huawei.com/npu-core of a node; 0 without a whole number.
[[nodiscard]] std::int64_t ai_cores_of(const vgpualloc::kubernetes::node& of);

} // namespace vgpusim
