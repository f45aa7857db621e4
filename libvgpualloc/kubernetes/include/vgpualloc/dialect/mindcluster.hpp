// The mindcluster dialect: Ascend 310P chips as Huawei's MindCluster and Volcano's MindCluster mode spell them
// (docs/dialects/mindcluster.md). Amounts are AI cores.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/dialect/dialect.hpp"

namespace vgpualloc::dialects::mindcluster {

/// The sharing mode of these devices (mode/all.hpp).
inline constexpr const char* mode_name = "mindcluster_310p";

/// What is known of a node beside the Node object.
struct device_info {
    kubernetes::text_map device_list{}; ///< DeviceList of the device-info ConfigMap
    std::string noded_status{};         ///< "PreSeparate": NodeD is about to separate the node
};

struct options {
    bool strict_dvpp = true;     ///< vnpu-dvpp has to match a row of the table; false: ignored for 1 and 2 cores
    bool every_container = true; ///< false: the first container with a request stands for the pod, as in Volcano
    /// AI cores of the chips that there are, each above 0, the most usual first: what a whole chip is in requests. A
    /// node says it of its own (cores_per_chip); a pod does not say what it was written for.
    std::vector<std::int64_t> chip_cores{8, 10};
    bool usual_chips = true;   ///< whole chips of more than one size are of the first; false: an error
    mib memory{21527};         ///< of a chip; the node does not report it
    std::int64_t slots = 8;    ///< containers on a chip: one per core
    bool self_maintain = true; ///< chips are those of node annotation baseDeviceInfos; false: those in the ConfigMap
};

/// What MindCluster writes into the ConfigMap of a node; none if the data is something else.
[[nodiscard]] std::optional<device_info> read_device_info(const kubernetes::text_map& config_map);

/// As the dialect's read_node() with `info` for the node's ConfigMap.
[[nodiscard]] node_reading read_node(const kubernetes::node& node, const device_info& info,
                                     std::span<const kubernetes::pod* const> pods, const options& configured);

/// The AI cores of each of the node's chips, as its label servertype says; none if it has no such chips or says
/// something else than 8 or 10.
[[nodiscard]] std::optional<std::int64_t> cores_per_chip(const kubernetes::node& node);

/// What the pod can mean: per container a part of a chip (1, 2 or 4 cores), or whole chips (a multiple of a chip's
/// cores). One request for each of options::chip_cores, in this order, but only different ones, and none for chips of
/// which that is no amount. At least one. Host amounts stay 0. Errors, if it is no amount for any chip: out_of_range
/// for cores, unknown_name or mismatch for vnpu-dvpp.
[[nodiscard]] expected<std::vector<pod_request>> readings(const kubernetes::pod& pod, const options& configured);

/// The dialect with these options. What its functions do beside what dialect.hpp says of them:
///
/// - read_node: the chips, healthy or not, by number; none of a node without AI cores in its capacity. A node that
/// fails
///   a check has no devices and a problem that names the check. Source: Volcano,
///   devices/ascend/mindcluster/ascend310p/vnpu.
/// - write_node: labels, annotation, allocatable and capacity of the node, and the list of the ConfigMap.
/// - for_traits: chips are of the sizes that the nodes have. Where there are several, an amount that is whole chips of
///   more than one size is an error.
/// - requests: whether label ring-controller.atlas is ascend-310P and a regular container's limits name
///   huawei.com/npu-core.
/// - read_pod: the one of readings() that counts (usual_chips). Error unsupported: the amount is whole chips of more
/// than
///   one size.
/// - read_assignment: by annotation huawei.com/npu-core: "<chip>-<template>" or "<chip>,<chip>"; of several containers
///   separated by ';'. Problems: malformed, duplicate, unknown_name.
/// - write_assignment: the time is in nanoseconds of Unix time; every share is a vir_template or a whole_device.
[[nodiscard]] std::shared_ptr<const dialect> make(options configured);

inline constexpr dialect_entry list_entry = make_dialect_entry<make>(
    "mindcluster", "Ascend 310P chips as MindCluster: huawei.com/npu-core, labels vnpu-dvpp, vnpu-level");

} // namespace vgpualloc::dialects::mindcluster
