// One run: the inputs of a configuration are read, and replayed under its policies.
#pragma once

#include <functional>
#include <memory>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/policy/parse.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpusim/engine/discipline.hpp"
#include "vgpusim/engine/record.hpp"
#include "vgpusim/engine/simulation.hpp"

namespace vgpusim {

struct model_changes; // workload/kubernetes.hpp

/// Reads the lists that the configuration names, and builds their workload. Errors: those of the lists, and keys whose
/// values do not go together; stopped.
[[nodiscard]] expected<loaded_input> load_input(const run_config& config, const vgpuformats::input_source& source,
                                                const stop_signal& stop = {});
/// The same of a workload model that is taken with changes; other formats have none.
[[nodiscard]] expected<loaded_input> load_input(const run_config& config, const vgpuformats::input_source& source,
                                                const model_changes& changes, const stop_signal& stop);

/// What a caller brings to a run in place of what the configuration names.
struct run_parts {
    kept_of_run kept = kept_of_run::everything;
    stop_signal stop{};
    /// Makes the policies; empty: those that the configuration names, whose names are then only what outputs show.
    vgpualloc::policies_maker make_policies{};
    /// Makes the discipline; likewise. It may plan starts ahead, so that nothing else may place or move pods.
    std::function<std::unique_ptr<discipline>()> make_discipline{};
};

/// A run from its beginning to its record: replay() in parts. Configuration and input must outlive it.
class started_run {
public:
    /// Makes policies, discipline, ledger and loop. Errors: those of replay().
    [[nodiscard]] static expected<std::unique_ptr<started_run>>
    begin(const run_config& config, const loaded_input& loaded, vgpualloc::cluster nodes, const run_parts& parts = {});
    ~started_run();
    started_run(const started_run&) = delete;
    started_run& operator=(const started_run&) = delete;

    [[nodiscard]] simulation& loop() noexcept;
    /// What has become of the run, whose loop has ended with this result. Error stopped: the caller wanted an end.
    [[nodiscard]] expected<run_record> end(simulation_result result);

private:
    struct parts_of_run;
    explicit started_run(std::unique_ptr<parts_of_run> parts);
    std::unique_ptr<parts_of_run> parts_;
};

/// Makes the policies and replays the workload on `nodes`: those of the input, moved out of it by the last replay, as
/// nothing else looks at them there. Where the pods alone are kept, the record has its result and nothing that is
/// counted at the end. Errors: keys that do not go together or with the workload, a solver that is needed and not
/// there; stopped.
[[nodiscard]] expected<run_record> replay(const run_config& config, const loaded_input& loaded,
                                          vgpualloc::cluster nodes, const simulation::progress& tell,
                                          const run_parts& parts = {});

} // namespace vgpusim
