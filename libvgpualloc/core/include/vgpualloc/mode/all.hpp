// The list of sharing modes. A new mode is one header and one line here.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/mode/ascend_vir.hpp"
#include "vgpualloc/mode/cce.hpp"
#include "vgpualloc/mode/entry.hpp"
#include "vgpualloc/mode/exclusive.hpp"
#include "vgpualloc/mode/hami_core.hpp"
#include "vgpualloc/mode/mig.hpp"
#include "vgpualloc/mode/mindcluster_310p.hpp"
#include "vgpualloc/mode/mps.hpp"
#include "vgpualloc/mode/time_slicing.hpp"

namespace vgpualloc {

/// Every mode, sorted by name.
inline constexpr std::array mode_list{
    modes::make_mode_entry<modes::ascend_vir>(
        "templates of an Ascend NPU by memory, or software slices of it (HAMi vNPU)"),
    modes::make_mode_entry<modes::cce>(
        "slices of memory, with or without compute, one kind of isolation per GPU (Huawei Cloud CCE)"),
    modes::make_mode_entry<modes::exclusive>("one container per device, whatever part of it is asked for"),
    modes::make_mode_entry<modes::hami_core>("software slices of memory and compute, up to a split count (HAMi-core)"),
    modes::make_mode_entry<modes::mig>(
        "hardware partitions of one GPU, by profile and placement or by configured groups (NVIDIA MIG)"),
    modes::make_mode_entry<modes::mindcluster_310p>(
        "templates of an Ascend 310P by AI cores, video engines and level (MindCluster)"),
    modes::make_mode_entry<modes::mps>(
        "memory and thread limits of processes that share a GPU and its faults (NVIDIA MPS)"),
    modes::make_mode_entry<modes::time_slicing>(
        "replicas of a GPU that take turns on it, without limits, and share its faults (NVIDIA time-slicing)"),
};

/// The entry of that name; error unknown_name, which lists the known ones.
[[nodiscard]] expected<const mode_entry*> find_mode_entry(std::string_view name);

/// The mode of that name, for a device like mode_entry::example; lives as long as the program. Error as above.
[[nodiscard]] expected<const sharing_mode*> find_mode(std::string_view name);

/// find_mode() of every entry, in the order of the list.
[[nodiscard]] const std::vector<const sharing_mode*>& all_modes();

} // namespace vgpualloc
