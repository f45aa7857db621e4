// Why pods of a cluster wait, and what would have to change.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "vgpufacade/core_names.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpuops/why/owner.hpp"
#include "vgpuops/why/pod.hpp"
#include "vgpuops/why/waiting.hpp"
#include "vgpusim/workload/cluster_files.hpp"

namespace vgpufacade {

/// Names of inputs are those of a source.
struct why_question {
    std::vector<std::string> cluster; ///< inputs with the objects
    std::string ns{};                 ///< of all that wait, only those of this namespace; empty: of all
    vgpusim::dialect_files dialects{};
};

/// All pods that wait. Errors: those of the inputs; missing where they have no node; those of
/// vgpuops::why::waiting_of(); stopped.
[[nodiscard]] expected<vgpuops::why::waiting_answer>
why(const why_question& question, const vgpuformats::input_source& source, const stop_signal& stop = {});

/// What is told about one pod, or about the pods of one owner.
using one_answer = std::variant<vgpuops::why::pod_answer, vgpuops::why::owner_answer>;

/// What `named` is: a pod of the cluster, an owner of pods there or one that is kept from making some, each by
/// "namespace/name" or name; or an input with one object that is or makes a pod. Errors: the same, and those of
/// vgpuops::why::pod_of(), owner_of() and pod_of_file().
[[nodiscard]] expected<one_answer> why_one(const why_question& question, const std::string& named,
                                           const vgpuformats::input_source& source, const stop_signal& stop = {});

/// As text, and as a document. `arguments` are cluster_arguments().
[[nodiscard]] std::string text_of(const one_answer& answered, const std::vector<std::string>& arguments);
[[nodiscard]] std::string json_of(const one_answer& answered, const std::vector<std::string>& arguments);

/// The arguments of the command line that name the cluster of a question: its files, --config and --file.
[[nodiscard]] std::vector<std::string> cluster_arguments(const why_question& question);

} // namespace vgpufacade
