// Why a pod goes where it goes in a cluster of Kubernetes objects, or why it goes nowhere.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/explain/words.hpp"
#include "vgpufacade/core_names.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpusim/workload/cluster_files.hpp"
#include "vgpusim/workload/seed.hpp"

namespace vgpufacade {

/// Names of inputs are those of a source; options of the command line that ask the same are named in errors.
struct explain_question {
    std::vector<std::string> cluster; ///< inputs with the objects
    std::string pod;                  ///< a pending pod, by name or namespace/name; or an input with manifests
    vgpusim::dialect_files dialects{};
    std::string scheduler_config{}; ///< an input; empty: none
    std::string node{};             ///< shown alone; empty: all
    vgpualloc::explaining::explain_options explain{.policies = vgpualloc::all_policies(),
                                                   .seed = vgpusim::default_seed};
    bool all = false; ///< every node in a row of its own
};

/// Who gets the parts of an answer as soon as they are known; either may be empty.
struct answer_sinks {
    std::function<void(std::string_view)> text{};
    std::function<void(std::string_view)> json{};
};

/// Explains one pod after the other. Returns the errors of those that cannot be explained. Errors: those of the inputs;
/// a pod, node or policy that is not known; stopped, after which what the sinks have got is a part of the answer.
[[nodiscard]] expected<std::vector<error>> explain(explain_question question, const vgpuformats::input_source& source,
                                                   const answer_sinks& sinks, const stop_signal& stop = {});

} // namespace vgpufacade
