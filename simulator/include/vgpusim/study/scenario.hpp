// Scenario files: a run, what it is held against, or what a study replays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vgpuformats/input_source.hpp"
#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/seed.hpp"
#include "vgpusim/workload/settings.hpp"

namespace vgpusim {

/// One way of deciding that a study compares: a policy, and what is set besides in its runs.
struct studied_policy {
    std::string name;                                            ///< in tables
    std::string policy;                                          ///< as run takes it
    std::vector<std::pair<std::string, std::string>> settings{}; ///< keys and values, which set_key takes
    std::string mig_dialect{};                                   ///< of workload models: model_changes::mig_dialect

    bool operator==(const studied_policy&) const = default;
};

/// What `vgpusim study` replays all of against each other.
struct study_lists {
    std::vector<studied_policy> policies;
    std::vector<std::string> pods; ///< paths of pod lists, or of workload models
    seed_range seeds{};
    // Of workload models alone.
    std::vector<double> loads{};              ///< offered; empty: as the models say
    std::optional<std::int64_t> arrivals{};   ///< to measure in every run; none: as the models say
    std::optional<std::int64_t> node_total{}; ///< nodes of every model; none: as the models say
    std::string against{};                    ///< name of the policy that the others are held against; empty: none
    std::vector<std::string> baselines{};     ///< names of those of which the best of each cell is found
};

/// A study: one run, and what is different in the run that it is held against, or in the runs that it stands for.
struct scenario {
    run_config config;
    std::vector<std::pair<std::string, std::string>> baseline; ///< key and value; empty: there is none
    std::optional<study_lists> study{};                        ///< for `vgpusim study` alone
};

/// Reads a scenario: a JSON object of run_config's keys, besides "name", "description", "baseline", an object of keys
/// again, and "study", an object of "policies" and "pods", lists, and "seeds" (docs/fgd-study.md, docs/mig.md).
/// Names of inputs in it are seen from the scenario (input_source::resolve_from()). Errors name the file and the line.
[[nodiscard]] expected<scenario> read_scenario(const std::string& path, const vgpuformats::input_source& source);

} // namespace vgpusim
