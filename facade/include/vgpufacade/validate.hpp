// What every object of a manifest asks for or offers, in which dialect, and what is wrong with it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vgpualloc/explain/validate.hpp"
#include "vgpufacade/core_names.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpusim/workload/cluster_files.hpp"

namespace vgpufacade {

/// Names of inputs are those of a source.
struct validate_question {
    std::vector<std::string> files; ///< inputs with manifests; empty: configurations alone are checked
    vgpusim::dialect_files dialects{};
    std::string scheduler_config{}; ///< an input; empty: none
};

struct validation {
    std::vector<vgpualloc::explaining::object_report> reports;
    std::vector<std::string> ignored; ///< rules in the objects that nobody looks at
    std::size_t errors = 0;
    std::size_t objects_with_errors = 0;
};

/// Checks objects and configurations. What is wrong with an object is in its report. Errors: those of inputs that
/// cannot be read at all; no input; stopped.
[[nodiscard]] expected<validation> validate(const validate_question& question, const vgpuformats::input_source& source,
                                            const stop_signal& stop = {});

/// The reports as text and as JSON.
[[nodiscard]] std::string validation_text(const validation& result);
[[nodiscard]] std::string validation_json(const validation& result);
/// "2 errors in 1 of 3 objects"; empty where there is none.
[[nodiscard]] std::string complaint_of(const validation& result);

} // namespace vgpufacade
