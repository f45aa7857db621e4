// The openb dialect: requests and nodes as the openb trace spells them, in thousandths of a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vgpualloc/core/units.hpp"
#include "vgpualloc/dialect/dialect.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/rejection.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc::openb {

/// The trace knows shares of a GPU but neither its memory nor its compute, so a GPU is written as a device of 1000
/// memory units, one per milli-GPU, that any number of pods may share. A share's milli_gpu is then the trace's value.
inline constexpr mib gpu_memory{1000};

/// The reference allows 1001 pods on a node.
inline constexpr std::int64_t pods_max = 1001;

/// num_gpu devices of gpu_milli each; `gpu_spec` lists acceptable models joined by '|', empty items are dropped. A pod
/// without GPUs (num_gpu or gpu_milli 0) has no containers that ask for devices.
[[nodiscard]] pod_request make_request(milli_cpu cpu, mib memory, std::int64_t num_gpu, milli_gpu gpu_milli,
                                       std::string_view gpu_spec);

/// Appends a node with `gpu_count` GPUs of `model`, shared as `mode` says (hami_core is what the trace's cluster does).
/// Device ids are "<name>-gpu-<index>".
void add_node(cluster& to, std::string name, milli_cpu cpu, mib memory, std::int64_t gpu_count,
              const std::string& model, const sharing_mode& mode);

/// A reason in the words of the trace, where what counts as memory of a device is a share of a GPU (gpu_memory).
[[nodiscard]] constexpr std::string_view reason_name(rejection_code code) noexcept {
    return code == rejection_code::insufficient_device_memory ? "insufficient_gpu_share" : to_string(code);
}

inline constexpr dialect_entry list_entry{
    .name = "openb",
    .summary = "node and pod lists of the Alibaba openb trace (cluster-trace-gpu-v2023), CSV",
    .make = nullptr,
};

} // namespace vgpualloc::openb
