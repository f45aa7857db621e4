// The configuration of a run, and where it comes from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpusim/study/seed.hpp"

namespace vgpusim {

/// The full effective configuration of a run; every field can be set by flag, scenario file and --set under its own
/// name.
struct run_config {
    std::string format = "openb";
    std::string nodes;
    std::string pods;
    std::string classes;          ///< format kubernetes: manifests of the classes of pods
    std::string queues;           ///< format kubernetes: queues and their quotas; empty: none
    std::string config;           ///< format kubernetes: device configuration; empty: none
    std::string scheduler_config; ///< format kubernetes: Volcano's volcano-scheduler.conf; empty: none
    std::string catalog;          ///< format kubernetes: catalog file; empty: what is built in
    std::string events;           ///< what happens to nodes and devices; empty: nothing
    std::string failures;         ///< model that draws failures; empty: none
    std::string autoscaler;       ///< nodes that are added for pods that wait; empty: none
    std::string policy = "fgd";
    std::string device_policy; ///< empty: the policy itself
    std::string mode = "hami_core";
    std::string discipline = "try_once";
    std::string after_failure = "requeue"; ///< or "lose": of jobs whose node or device failed
    std::int64_t layout_change_s = 0;      ///< to make a MIG instance that is not there
    /// Or "on_loss": pods are moved for one that would be lost; or "periodic": so that devices or nodes become empty.
    std::string defragment = "never";
    std::int64_t defragment_every_s = 3600; ///< where it is periodic
    std::int64_t defragment_moves_max = 3;  ///< for one such pod
    double defragment_share = 0.01;         ///< moves that every pod that starts allows
    std::int64_t move_downtime_s = 0;       ///< of a pod that is moved
    std::int64_t move_copy_s_per_gib = 0;   ///< while it is copied it has both places
    std::string prices;                     ///< of policy dual_price: a prices.json; empty: they are solved
    std::string price_demand = "known";     ///< or "learned": from the arrivals of the run itself
    std::int64_t price_every = 500;         ///< arrivals from one solution to the next, where learned
    std::int64_t price_window = 2000;       ///< arrivals in which the weight of one falls to 1/e
    double tune = 0.0;
    double offered_load = 0.0; ///< 0 = the times of the trace
    std::int64_t seed = default_seed;
    bool departures = false;
    std::string mapping;                ///< rules for jobs of a trace, canonical JSON; empty: none
    bool skip_bad_rows = false;         ///< of a list of pods or jobs: they are counted instead of being an error
    std::int64_t sample_interval_s = 0; ///< 0 = a row after every event
    bool trace = false;                 ///< write trace.json
    std::string out = "out/run";
};

/// Sets one field from its text form. Unknown keys list the known ones.
[[nodiscard]] vgpualloc::expected<void> set_key(run_config& config, std::string_view key, std::string_view value);

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

/// The configuration with these settings, of a baseline or of a policy of a study, in place of its own.
[[nodiscard]] run_config with_settings(run_config config,
                                       const std::vector<std::pair<std::string, std::string>>& settings);

inline constexpr std::int64_t arrivals_max = 10'000'000;
inline constexpr const char* arrivals_expected = "a whole number from 1 to 10000000";

/// A number of arrivals to measure; nothing for other texts.
[[nodiscard]] std::optional<std::int64_t> parse_arrivals(std::string_view text);

/// Reads a scenario: a JSON object of run_config's keys, besides "name", "description", "baseline", an object of keys
/// again, and "study", an object of "policies" and "pods", lists, and "seeds" (docs/fgd-study.md, docs/mig.md).
/// Relative paths in it are taken from the scenario's own folder. Errors name the file and the line.
[[nodiscard]] vgpualloc::expected<scenario> read_scenario(const std::string& path);

/// The keys that name a file to read, and their values.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> paths_of(const run_config& config);

/// Every key and value as text, in a fixed order.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> effective(const run_config& config);

/// Whether a policy of the configuration goes by prices, whatever else it is a part of.
[[nodiscard]] bool uses_prices(const run_config& config);

/// Refuses keys about prices where none of the policies, nor the device policy, goes by any.
[[nodiscard]] vgpualloc::expected<void> check_prices(const run_config& config,
                                                     const std::vector<std::string>& policies);

/// The same without the keys about moves where nothing moves, and about prices where no policy has any: what outputs
/// show.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> shown_settings(const run_config& config);

} // namespace vgpusim
