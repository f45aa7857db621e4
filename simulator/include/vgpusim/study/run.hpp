// One run: the inputs of a configuration are read, and replayed under its policies.
#pragma once

#include "vgpualloc/core/expected.hpp"
#include "vgpusim/engine/record.hpp"
#include "vgpusim/engine/simulation.hpp"

namespace vgpusim {

struct model_changes; // workload/kubernetes.hpp

/// Reads the lists that the configuration names and builds their workload. Errors: those of the lists, and keys whose
/// values do not go together.
[[nodiscard]] vgpualloc::expected<loaded_input> load_input(const run_config& config);
/// The same of a workload model that is taken with changes.
[[nodiscard]] vgpualloc::expected<loaded_input> load_input(const run_config& config, const model_changes& changes);

/// Makes the policies and replays the workload on `nodes`: those of the input, moved out of it by the last replay, as
/// nothing else looks at them there. Where the pods alone are kept, the record has its result and nothing that is
/// counted at the end.
[[nodiscard]] vgpualloc::expected<run_record> replay(const run_config& config, const loaded_input& loaded,
                                                     vgpualloc::cluster nodes, const simulation::progress& tell,
                                                     kept_of_run kept = kept_of_run::everything);

} // namespace vgpusim
