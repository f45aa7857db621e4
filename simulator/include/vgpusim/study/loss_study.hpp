// Policies x workload models x loads x seeds: which part of the pods each policy places, where pods that do not fit are
// lost. All policies of a cell meet the same arrivals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpusim/engine/record.hpp"
#include "vgpusim/outputs/loss_figures.hpp"
#include "vgpusim/study/scenario.hpp"

namespace vgpusim {

/// What a study may list as a policy, which decides nothing: pool_figures_of().
inline constexpr std::string_view pool_reference = "reference:pool";

struct loss_study {
    run_config run;                       ///< of every run but for policy, pods, offered load and seed
    std::vector<studied_policy> policies; ///< no two of one name
    std::vector<std::string> models;      ///< paths, no two alike
    std::vector<double> loads;            ///< 0: as the model says
    seed_range seeds;
    std::optional<std::int64_t> arrivals{};
    std::optional<std::int64_t> node_total{};
    std::optional<std::size_t> against{}; ///< position in policies
    std::vector<std::size_t> baselines{}; ///< positions in policies

    [[nodiscard]] std::size_t cells() const noexcept { return models.size() * loads.size(); }
    [[nodiscard]] std::size_t runs() const noexcept { return cells() * seeds.count() * policies.size(); }
};

/// Makes a study of the configuration and the lists that a scenario or flags name. Errors: nothing to replay, something
/// twice, a policy that is unknown, more than 100,000 runs, and keys that the study sets itself.
[[nodiscard]] vgpualloc::expected<loss_study> check_loss_study(const run_config& run, const study_lists& lists);

/// What is kept of one run.
struct loss_run {
    loss_figures figures;
    std::vector<std::string> classes{}; ///< by position in loss_figures::of_classes
    std::int64_t started = 0;           ///< pods that started, those before the measured ones too
    std::int64_t moved = 0;             ///< times that one of them was moved
};

/// By model, then load, then policy, then seed.
struct loss_results {
    std::vector<loss_run> runs;
    std::vector<input_file> files{};          ///< each once, in the order in which the first seed's runs read them
    std::vector<vgpualloc::error> warnings{}; ///< likewise, of loaded_input
    double wall_s = 0.0;
    double cpu_s = 0.0;
    std::size_t jobs = 1;
};

/// Replays everything on `jobs` threads; the result does not depend on how many. The workload of a cell and a seed is
/// made once for all policies that do not change what it is made of. Errors are those of load_input and replay.
/// `tell`: runs that are done.
[[nodiscard]] vgpualloc::expected<loss_results> run_loss_study(const loss_study& study,
                                                               const vgpuformats::input_source& source,
                                                               std::size_t jobs,
                                                               const std::function<void(std::size_t)>& tell);

} // namespace vgpusim
