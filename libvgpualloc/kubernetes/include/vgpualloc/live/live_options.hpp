// The options of a living cluster as texts: what the C interface is told, and what decision logs keep.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/kube/scheduler_config.hpp"
#include "vgpualloc/live/live_cluster.hpp"
#include "vgpualloc/policy/all.hpp"

namespace vgpualloc {

/// The contents of files, not their paths. None: the default.
struct live_option_texts {
    std::optional<std::string> policy{};
    std::optional<std::string> device_policy{};
    std::optional<std::string> catalog{};          ///< added to the one that is built in
    std::optional<std::string> device_config{};    ///< device-config.yaml, or ConfigMaps that hold it
    std::optional<std::string> scheduler_config{}; ///< volcano-scheduler.conf
};

/// What errors call these texts.
struct live_option_names {
    std::string catalog = "catalog";
    std::string device_config = "device_config";
    std::string scheduler_config = "scheduler_config";
};

/// Volcano's scheduler configuration with those of `policies` that a living cluster takes. Errors: those of
/// kube::parse_scheduler_config(), and of live_cluster::make() about a policy, with the argument's place.
[[nodiscard]] expected<kube::scheduler_config>
read_scheduler_config(const std::string& text, const std::string& name,
                      std::span<const policy_entry> policies = native_policies);

/// Policies that are not given are those that the scheduler configuration has for plugin vgpualloc, if it has any.
/// Errors: those of merge_file(), read_device_config() and read_scheduler_config(). Whether there are policies as they
/// are given live_cluster::make() and live_cluster::configure() say.
[[nodiscard]] expected<live_options> read_live_options(const live_option_texts& texts,
                                                       const live_option_names& names = {},
                                                       std::span<const policy_entry> policies = native_policies);

} // namespace vgpualloc
