// Policies x pod lists x seeds, replayed in one process: what each policy reaches at every load, as the FGD paper shows
// it (Weng et al., USENIX ATC 2023).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "vgpuformats/input_source.hpp"
#include "vgpusim/engine/record.hpp"
#include "vgpusim/study/experiment.hpp"
#include "vgpusim/study/load_curve.hpp"
#include "vgputraces/openb.hpp"

namespace vgpusim {

/// Makes an experiment of the configuration and the lists that a scenario or flags name. Errors: those of
/// check_lists(), and keys that such a study does not have.
[[nodiscard]] expected<experiment> check_study(const run_config& run, const study_lists& lists);

/// The part about keys: those that such a study does not have.
[[nodiscard]] expected<void> check_study_keys(const run_config& run);

/// The lists, each read once.
struct study_inputs {
    std::vector<vgputraces::openb_node> nodes;
    std::vector<std::vector<vgputraces::openb_pod>> pods; ///< by list
    std::vector<input_file> files;                        ///< the node list, then the pod lists, then the prices
    std::optional<vgpualloc::learned_prices> prices{};
    std::vector<error> warnings{};

    /// How many pods each list has.
    [[nodiscard]] std::vector<std::size_t> list_sizes() const;
};

[[nodiscard]] expected<study_inputs> read_study(const experiment& study, const vgpuformats::input_source& source);

/// What is kept of one run.
struct studied_run {
    load_curve curve;
    std::int64_t arrived = 0;
    std::int64_t failed = 0;
    acceptance accepted{};
};
using study_results = experiment_results<studied_run>;

/// Errors: those of build_openb_workload and replay.
[[nodiscard]] expected<study_results> run_study(const experiment& study, const study_inputs& inputs,
                                                const experiment_control& control);

} // namespace vgpusim
