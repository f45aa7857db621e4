// The openb trace (Alibaba cluster-trace-gpu-v2023): node and pod lists as records, read from and written to CSV.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpuformats/list_content.hpp"
#include "vgputraces/core_names.hpp"
#include "vgputraces/trace_job.hpp"

namespace vgputraces {

/// One line of a node list. Every GPU of a node is 1000 milli-GPU of the same model.
struct openb_node {
    std::string name;
    milli_cpu cpu;
    mib memory;
    int gpu_count = 0;
    std::string model; ///< empty on nodes without GPUs

    bool operator==(const openb_node&) const = default;
};

/// One line of a pod list. The columns qos, pod_phase and scheduled_time drive nothing and are not kept.
struct openb_pod {
    std::string name;
    milli_cpu cpu;
    mib memory;
    int num_gpu = 0;
    milli_gpu gpu_milli;                ///< per GPU; 0 for pods that use no GPU, 1000 when num_gpu > 1
    std::string gpu_spec;               ///< acceptable models joined by '|'; empty = any
    std::optional<ticks> creation_time; ///< from trace start; absent in lists with five columns
    std::optional<ticks> deletion_time;

    bool operator==(const openb_pod&) const = default;
};

/// Reads a node list, which errors call `name`: columns sn, cpu_milli, memory_mib, gpu, model, in any order; further
/// columns are ignored. Errors have name, line and column: missing column, negative or malformed number, duplicate node
/// name, a GPU node without a model, a line with the wrong number of fields (also a truncated last line).
[[nodiscard]] expected<std::vector<openb_node>> read_openb_nodes(const vgpuformats::list_content& content,
                                                                 const std::string& name);

struct openb_pod_list {
    std::vector<openb_pod> pods; ///< in the order of the file
    skipped_rows skipped{};
};

/// Reads a pod list: columns name, cpu_milli, memory_mib, num_gpu, gpu_milli required; gpu_spec, creation_time and
/// deletion_time (whole seconds) optional. gpu_milli above 1000 counts as 1000 (as in the reference); names are unique.
[[nodiscard]] expected<openb_pod_list> read_openb_pods(const vgpuformats::list_content& content,
                                                       const std::string& name, const row_options& options = {});

/// The same formats as text, LF line ends, header first. Pods are written with all eleven columns.
[[nodiscard]] std::string write_openb_nodes(const std::vector<openb_node>& nodes);
[[nodiscard]] std::string write_openb_pods(const std::vector<openb_pod>& pods);
/// The header of a pod list, and one line of it.
[[nodiscard]] std::string_view openb_pods_header() noexcept;
void append_openb_pod(std::string& out, const openb_pod& pod);

} // namespace vgputraces
