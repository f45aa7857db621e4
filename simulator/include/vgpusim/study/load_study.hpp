// Policies x pod lists x seeds, replayed in one process: what each policy reaches at every load, as the FGD paper shows
// it (Weng et al., USENIX ATC 2023).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpusim/engine/record.hpp"
#include "vgpusim/outputs/run_files.hpp"
#include "vgpusim/study/load_curve.hpp"
#include "vgpusim/study/scenario.hpp"
#include "vgputraces/openb.hpp"

namespace vgpusim {

struct load_study {
    run_config run;                    ///< of every run but for policy, pods and seed
    std::vector<std::string> policies; ///< no two alike
    std::vector<std::string> lists;    ///< paths of pod lists, no two alike
    seed_range seeds;
};

/// Refuses a list of nothing and one with something twice. `flag` is what errors call it.
[[nodiscard]] vgpualloc::expected<void> check_different(const std::vector<std::string>& values, const char* flag);

/// Refuses more than 100,000 runs.
[[nodiscard]] vgpualloc::expected<void> check_run_count(std::size_t runs, const seed_range& seeds);

/// Makes a study of the configuration and the lists that a scenario or flags name. Errors: nothing to replay, something
/// twice, a policy that is unknown, more than 100,000 runs, and keys that a study does not have.
[[nodiscard]] vgpualloc::expected<load_study> check_study(const run_config& run, const study_lists& lists);

/// The lists, each read once.
struct study_inputs {
    std::vector<vgputraces::openb_node> nodes;
    std::vector<std::vector<vgputraces::openb_pod>> pods; ///< by list
    std::vector<input_file> files;                        ///< the node list, then the pod lists, then the prices
    std::optional<vgpualloc::price_table> prices{};
    std::vector<vgpualloc::error> warnings{};
};

[[nodiscard]] vgpualloc::expected<study_inputs> read_study(const load_study& study,
                                                           const vgpuformats::input_source& source);

/// What is kept of one run.
struct studied_run {
    load_curve curve;
    std::int64_t arrived = 0;
    std::int64_t failed = 0;
};

/// By policy, then list, then seed.
struct study_results {
    std::vector<studied_run> runs;
    double wall_s = 0.0;
    double cpu_s = 0.0;
    std::size_t jobs = 1;
};

/// Replays everything on `jobs` threads; the result does not depend on how many. The workload of a list and a seed is
/// built once for all policies. Errors are those of build_openb_workload and replay. `tell`: runs that are done.
[[nodiscard]] vgpualloc::expected<study_results> run_study(const load_study& study, const study_inputs& inputs,
                                                           std::size_t jobs,
                                                           const std::function<void(std::size_t)>& tell);

} // namespace vgpusim
