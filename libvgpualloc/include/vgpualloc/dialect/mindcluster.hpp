// The mindcluster dialect: Ascend 310P chips as Huawei's MindCluster and Volcano's MindCluster mode spell them (specs:
// SPEC-volcano 7, SPEC-ascend 6). Amounts are AI cores.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/dialect/decision.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/reading.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc::dialect::mindcluster {

/// The sharing mode of these devices (mode/all.hpp).
inline constexpr const char* mode_name = "mindcluster_310p";

/// What is known of a node beside the Node object.
struct device_info {
    kubernetes::text_map device_list{}; ///< DeviceList of the device-info ConfigMap
    std::int64_t update_time = 0;       ///< of that list
    std::string noded_status{};         ///< "PreSeparate": NodeD is about to separate the node
};

struct options {
    bool strict_dvpp = true;         ///< vnpu-dvpp has to match a row of the table; false: ignored for 1 and 2 cores
    bool every_container = true;     ///< false: the first container with a request stands for the pod, as in Volcano
    std::int64_t cores_per_chip = 8; ///< what a whole card is in requests; 8 or 10
    mib memory{21527};               ///< of a chip; the node does not report it
    std::int64_t slots = 8;          ///< containers on a chip: one per core
    bool self_maintain = true; ///< chips are those of node annotation baseDeviceInfos; false: those in the ConfigMap
};

/// The chips of a node, healthy or not, by number. `on_node` are the pods bound there. A node that fails a check has no
/// devices and a problem that names the check. Source: Volcano, devices/ascend/mindcluster/ascend310p/vnpu.
[[nodiscard]] node_reading read_node(const kubernetes::node& of, const device_info& info,
                                     std::span<const kubernetes::pod* const> on_node, const options& with);

/// Registers those of `devices` that are such chips: labels, annotation, allocatable and capacity of the node, and the
/// list of the ConfigMap.
void write_node(std::span<const device_registration> devices, const options& with, kubernetes::node& to,
                device_info& info);

/// Whether label ring-controller.atlas is ascend-310P and a regular container's limits name huawei.com/npu-core.
[[nodiscard]] bool requests(const kubernetes::pod& of, const options& with);

/// What the pod asks for: per container a part of a chip (1, 2 or 4 cores), or whole chips (a multiple of
/// cores_per_chip). Host amounts stay 0. Errors: out_of_range for cores, unknown_name or mismatch for vnpu-dvpp.
[[nodiscard]] expected<pod_request> read_pod(const kubernetes::pod& of, const options& with);

/// What a bound pod has of `devices`, those of its node, by annotation huawei.com/npu-core: "<chip>-<template>" or
/// "<chip>,<chip>"; of several containers separated by ';'. Problems: malformed, duplicate, unknown_name.
[[nodiscard]] assignment_reading read_assignment(const kubernetes::pod& of,
                                                 std::span<const device_registration> devices, const options& with);

/// The annotations that carry a decision to the device plugin. The time is in nanoseconds of Unix time; every share is
/// a vir_template or a whole_device of one of `devices`.
[[nodiscard]] kubernetes::text_map write_assignment(std::span<const device_registration> devices, const decision& made);

} // namespace vgpualloc::dialect::mindcluster
