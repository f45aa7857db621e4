// The cce dialect: GPU virtualization of Huawei Cloud CCE (spec: SPEC-cce, from "Using GPU Virtualization",
// cce_10_0646). Memory is asked for in units of 128 MiB, compute in percent of a GPU in steps of 5.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/dialect/decision.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/reading.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc::dialect::cce {

inline constexpr std::string_view family = "CCE";
/// The sharing mode of these devices (mode/all.hpp).
inline constexpr const char* mode_name = "cce";
inline constexpr mib memory_unit{128};
inline constexpr core_percent cores_step{5};
inline constexpr std::int64_t slots = 20; ///< virtual GPUs of one GPU (rule 1)

/// Annotations of this project's own: what CCE's components write is not published.
inline constexpr const char* register_annotation = "vgpualloc.io/cce-node-register";
inline constexpr const char* assignment_annotation = "vgpualloc.io/cce-devices-allocated";

struct options {
    std::string memory_name = "volcano.sh/gpu-mem.128Mi";
    std::string cores_name = "volcano.sh/gpu-core.percentage";
};

/// The GPUs of a node: those of register_annotation, a JSON list of {id, model, memory (MiB), health}. Without it the
/// node's allocatable tells: compute of 100 for each GPU and equal parts of the memory, as far as whole units go; their
/// uuids are "<node>/<position>" and the model is label `accelerator`. A GPU that cannot be read is left out and a
/// problem.
[[nodiscard]] node_reading read_node(const kubernetes::node& of, const options& with);

/// Registers those of `devices` that are shared in mode cce: annotation, allocatable and capacity.
void write_node(std::span<const device_registration> devices, const options& with, kubernetes::node& to);

/// Whether any container, init containers too, names one of the resources.
[[nodiscard]] bool requests(const kubernetes::pod& of, const options& with);

/// What the pod asks for: one virtual GPU per container that names the resources. A GPU's whole memory is not told from
/// a part here: the mode decides. Host amounts stay 0. Errors name the rule of the specification: unsupported (2: init
/// containers), missing (4: compute without memory), out_of_range (6, 8: amounts).
[[nodiscard]] expected<pod_request> read_pod(const kubernetes::pod& of, const options& with);

/// What a bound pod has of `devices`, those of its node: per container, closed by ';', "uuid,<MiB>,<percent>:" or
/// "uuid,whole:". Problems: malformed, out_of_range, duplicate, unknown_name, mismatch.
[[nodiscard]] assignment_reading read_assignment(const kubernetes::pod& of,
                                                 std::span<const device_registration> devices, const options& with);

/// The annotation that carries a decision on read_pod(of), which succeeds; every share is a slice or a whole_device.
[[nodiscard]] kubernetes::text_map write_assignment(const kubernetes::pod& of,
                                                    std::span<const device_registration> devices, const decision& made,
                                                    const options& with);

} // namespace vgpualloc::dialect::cce
