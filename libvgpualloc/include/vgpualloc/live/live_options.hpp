// The options of a living cluster as texts: what the C interface is told, and what decision logs keep.
#pragma once

#include <optional>
#include <string>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/live/live_cluster.hpp"

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

/// Errors: those of merge_file(), read_device_config() and parse_scheduler_config(). Whether there are such policies
/// live_cluster::make() and live_cluster::configure() say.
[[nodiscard]] expected<live_options> read_live_options(const live_option_texts& texts,
                                                       const live_option_names& names = {});

/// Why the pod's dialect is not served, if deviceshare's arguments say so. Error unsupported, without a place.
[[nodiscard]] std::optional<error> check_served(const live_options& options, const dialect_set& dialects,
                                                const kube::snapshot_pod& pod);

} // namespace vgpualloc
