// The device configuration of Volcano (ConfigMap volcano-vgpu-device-config, key device-config.yaml) and of HAMi
// (hami-scheduler-device), and the arguments of Volcano's deviceshare plugin and of ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/dialect/hami.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/nvidia.hpp"
#include "vgpualloc/dialect/volcano_vgpu.hpp"
#include "vgpualloc/model/registration.hpp"

namespace vgpualloc::dialects::volcano {

/// What the device plugin reads of the section `nvidia`; the values without an entry are those of the shipped file.
struct nvidia_plugin_config {
    std::string priority_name;
    bool overwrite_env = false;
    mib memory_default; ///< in units of the memory factor
    core_percent cores_default;
    std::int64_t count_default = 1;
    std::int64_t split_count = 10;
    std::int64_t memory_scaling_percent = 100;
    std::int64_t cores_scaling_percent = 100;
    bool disable_core_limit = false;
    bool pass_device_specs = false;

    bool operator==(const nvidia_plugin_config&) const = default;
};

/// One entry of `vnpus`.
struct vnpu_config {
    std::string chip_name; ///< what the driver reports: "910B4"
    std::string resource_name;
    std::string resource_memory_name;
    std::string resource_core_name; ///< empty: not named
    std::int64_t memory_factor = 1; ///< HAMi's: MiB per unit of resource_memory_name
    bool super_pod = false;         ///< HAMi's: ascend_hami::kind::super_pod
    npu_kind kind;                  ///< its name is commonWord

    bool operator==(const vnpu_config&) const = default;
};

struct device_config {
    /// A resource that is not named is not configured: "". The defaults where the section `nvidia` is HAMi's.
    volcano_vgpu::options vgpu;
    std::optional<hami::options> hami; ///< where the section `nvidia` is HAMi's, what it says
    nvidia_plugin_config nvidia;
    /// What the configuration of NVIDIA's own device plugin says; the file is that and nothing else.
    std::optional<nvidia::options> nvidia_plugin;
    std::vector<vnpu_config> vnpus; ///< in the order given
    bool hami_vnpu_core = false;    ///< NPUs may be limited in software where the node does not say
    bool npus_of_hami_2_10 = false; ///< vnpus.hamiVersion, a key of ours: ascend_hami::options::slices_by_node
    bool names_vgpu = false;        ///< it has a section `nvidia`, which is Volcano's
    bool names_npus = false;        ///< it has a section `vnpus`
    std::vector<error> warnings;    ///< keys that nothing here knows, which were not read
};

/// Reads the configuration from JSON of the same shape; `name` is the file's, for errors. A key given twice, a wrong
/// type, a number out of range is an error that names its path, and so is a key that looks like one of ours mistyped.
/// Keys of HAMi that nothing is decided by, and the sections of other vendors, are passed over; keys that nobody knows
/// are a warning. A `vnpus` list and `vnpus: {hamiVnpuCore, hamiVersion, configs}` are both read.
///
/// The section `nvidia` is HAMi's if it has a key that only HAMi has (memoryFactor, migProfileAllowlist, …), and
/// Volcano's if it has gpuMemoryFactor; without either, it is HAMi's if resourceCountName begins with "nvidia.com/".
/// A file with `flags` or `sharing` is the configuration of NVIDIA's own device plugin (version: v1).
[[nodiscard]] expected<device_config> parse_device_config(std::string_view json, std::string_view name);

/// Arguments of the deviceshare plugin.
struct plugin_arguments {
    bool gpu_sharing = false;
    bool gpu_number = false;
    bool vgpu = false;
    bool node_lock = false;
    bool mindcluster_vnpu = false;
    bool hami_vnpu = false;
    std::string schedule_policy{};    ///< binpack, spread or none
    std::int64_t schedule_weight = 0; ///< 1 where a policy is given and no weight (Volcano: 0, which ranks no node)
    bool weight_assumed = false;      ///< that is so
    std::string config_map_name = "volcano-vgpu-device-config";
    std::string config_map_namespace = "kube-system";
    std::vector<kubernetes::text_map> exclusive_rules{}; ///< for volcano_vgpu::options, in the order given
    /// Arguments of the scheduler's entry init-params: presetVirtualDevice is true, and virtual NPUs are made by hand.
    bool preset_virtual_devices = false;

    bool operator==(const plugin_arguments&) const = default;
};

/// Whether the argument of that name ("deviceshare.VGPUEnable") is one that enables something, and does.
[[nodiscard]] bool is_enabled(const plugin_arguments& arguments, std::string_view name);

/// Whether some dialect is enabled.
[[nodiscard]] bool enables_something(const plugin_arguments& arguments);

/// Reads the arguments, keyed `deviceshare.<Name>`; `deviceshare.GPUExclusiveRules` is JSON, a list of objects with
/// text values. Error unknown_name for any other key, unsupported for combinations with which Volcano ends: sharing by
/// memory and by number together, or one of them beside vGPU. Errors name the argument; where is empty, but for what is
/// wrong within the rules.
[[nodiscard]] expected<plugin_arguments> parse_plugin_arguments(const kubernetes::text_map& arguments);

/// Arguments of plugin vgpualloc: its own, and those of deviceshare under their names.
struct vgpualloc_arguments {
    std::string policy{};        ///< vgpualloc.policy, else deviceshare's SchedulePolicy; empty: neither is given
    std::string device_policy{}; ///< empty: as policy
    double weight = 0.0;         ///< vgpualloc.weight, else deviceshare's; 0: the plugin settles the node
    std::string decision_log{};  ///< a path; empty: none
    std::int64_t decision_log_mib_max = 1024; ///< from which length on it begins anew; 0: it does not
    plugin_arguments deviceshare{};

    bool operator==(const vgpualloc_arguments&) const = default;
};

/// Reads them. Errors: as above, malformed for a weight that is no number from 0. Whether there are such policies
/// read_scheduler_config() says (live/live_options.hpp).
[[nodiscard]] expected<vgpualloc_arguments> parse_vgpualloc_arguments(const kubernetes::text_map& arguments);

} // namespace vgpualloc::dialects::volcano
