// The cce dialect: GPU virtualization of Huawei Cloud CCE (its documentation: "Using GPU Virtualization",
// cce_10_0646; docs/dialects/cce.md). Memory is asked for in units of 128 MiB, compute in percent of a GPU in steps
// of 5.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "vgpualloc/core/units.hpp"
#include "vgpualloc/dialect/dialect.hpp"

namespace vgpualloc::dialects::cce {

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

/// The dialect with these options. What its functions do beside what dialect.hpp says of them:
///
/// - read_node: the GPUs of register_annotation, a JSON list of {id, model, memory (MiB), health}. Without it the
/// node's
///   allocatable tells: compute of 100 for each GPU and equal parts of the memory, as far as whole units go; their
///   uuids are "<node>/<position>" and the model is label `accelerator`. A GPU that cannot be read is left out and a
///   problem.
/// - requests: whether any container, init containers too, names one of the resources.
/// - read_pod: one virtual GPU per container that names the resources. A GPU's whole memory is not told from a part
///   here: the mode decides. Errors: unsupported for init containers, missing for compute without memory, out_of_range
///   for amounts.
/// - read_assignment: per container, closed by ';', "uuid,<MiB>,<percent>:" or "uuid,whole:". Problems: malformed,
///   out_of_range, duplicate, unknown_name, mismatch.
/// - write_assignment: every share is a slice or a whole_device.
[[nodiscard]] std::shared_ptr<const dialect> make(options configured);

inline constexpr dialect_entry list_entry = make_dialect_entry<make>(
    "cce", "Huawei Cloud CCE GPU virtualization: volcano.sh/gpu-mem.128Mi, gpu-core.percentage");

} // namespace vgpualloc::dialects::cce
