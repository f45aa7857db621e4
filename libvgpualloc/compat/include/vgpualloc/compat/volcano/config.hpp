// What Volcano's deviceshare plugin is configured with: names and device data as upstream holds them after parsing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vgpualloc/compat/volcano/quirks.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"

namespace vgpualloc::compat::volcano {

struct mig_instance_kind {
    std::string name;
    std::int64_t memory = 0; ///< MiB
    std::int64_t count = 0;
};
struct mig_group {
    std::string name;
    std::vector<mig_instance_kind> instances; ///< in the order of the configuration
};
/// The groups for the card types that contain one of `models`; the order counts.
struct mig_geometry {
    std::vector<std::string> models;
    std::vector<mig_group> groups;
};

struct vnpu_template {
    std::string name;
    std::int64_t memory = 0; ///< MiB
    std::int64_t ai_core = 0;
    std::int64_t ai_cpu = 0;
};
struct vnpu_kind {
    std::string common_word;
    std::string chip_name;
    std::string resource_name;
    std::string resource_memory_name;
    std::int64_t memory_allocatable = 0; ///< MiB
    std::int64_t memory_capacity = 0;    ///< MiB
    std::int64_t ai_core = 0;
    std::int64_t ai_cpu = 0;
    std::vector<vnpu_template> templates; ///< unordered
};

/// The device configuration. The defaults are upstream's built-in ones; a ConfigMap replaces all of it.
struct device_config {
    std::string count_name = "volcano.sh/vgpu-number";
    std::string memory_name = "volcano.sh/vgpu-memory";
    std::string core_name = "volcano.sh/vgpu-cores";
    std::string percent_name; ///< empty: not configured
    std::int64_t gpu_memory_factor = 0;
    std::vector<mig_geometry> mig_geometries;
    bool hami_vnpu_core = false;
    std::vector<vnpu_kind> vnpus; ///< in the order of the configuration
};

/// The plugin's arguments.
struct plugin_options {
    std::string policy;      ///< deviceshare.SchedulePolicy: "binpack", "spread", anything else
    std::int64_t weight = 0; ///< deviceshare.ScheduleWeight
    bool gpushare_memory = false;
    bool gpushare_number = false;
    bool vgpu = false;
    bool ascend_hami = false;
    bool ascend_mindcluster = false;
    std::vector<kubernetes::text_map> exclusive_rules; ///< deviceshare.GPUExclusiveRules
    quirk_set quirks = quirk_set::all();
};

} // namespace vgpualloc::compat::volcano
