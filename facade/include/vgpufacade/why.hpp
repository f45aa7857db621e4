// Why pods of a cluster wait, and what would have to change.
#pragma once

#include <string>
#include <vector>

#include "vgpufacade/core_names.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpuops/why/pod.hpp"
#include "vgpuops/why/waiting.hpp"
#include "vgpusim/workload/cluster_files.hpp"

namespace vgpufacade {

/// Names of inputs are those of a source.
struct why_question {
    std::vector<std::string> cluster; ///< inputs with the objects
    vgpusim::dialect_files dialects{};
};

/// All pods that wait. Errors: those of the inputs; missing where they have no node; those of
/// vgpuops::why::waiting_of(); stopped.
[[nodiscard]] expected<vgpuops::why::waiting_answer>
why(const why_question& question, const vgpuformats::input_source& source, const stop_signal& stop = {});

/// One pod of the cluster, by "namespace/name" or name. Errors: the same, and those of vgpuops::why::pod_of().
[[nodiscard]] expected<vgpuops::why::pod_answer> why_pod(const why_question& question, const std::string& pod,
                                                         const vgpuformats::input_source& source,
                                                         const stop_signal& stop = {});

/// The arguments of the command line that name the cluster of a question: its files, --config and --file.
[[nodiscard]] std::vector<std::string> cluster_arguments(const why_question& question);

} // namespace vgpufacade
