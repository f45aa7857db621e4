// The settings of a run: every key, its text form and its checks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/policy/parse.hpp"
#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/seed.hpp"

namespace vgpusim {

/// What becomes of a job that a failure of its node or device, or a crash, has stopped.
enum class after_failure : std::uint8_t { requeue, lose };

/// When pods are moved: never, for a pod that would be lost, or now and then so that devices or nodes become empty.
enum class defragment : std::uint8_t { never, on_loss, periodic };

/// Where prices come from, beside a file: bid_price learns them without a solver, or they are solved.
inline constexpr std::string_view prices_online = "online";
inline constexpr std::string_view prices_solved = "lp";
inline constexpr std::array<std::string_view, 2> prices_words{prices_online, prices_solved};

/// When pods end that run as a run begins, beside a table.
inline constexpr std::string_view ends_drawn = "drawn";
inline constexpr std::string_view ends_stay = "stay";
inline constexpr std::array<std::string_view, 2> ends_words{ends_drawn, ends_stay};

/// What prices are solved from: the pod list, or the arrivals of the run so far.
enum class price_demand : std::uint8_t { known, learned };

/// The full effective configuration of a run; every field can be set by flag, scenario file and --set under its own
/// name. Fields that name inputs name what an input_source has.
struct run_config {
    std::string format = "openb";
    std::string nodes;
    std::string pods;
    std::string classes;          ///< format kubernetes: manifests of the classes of pods
    std::string queues;           ///< format kubernetes: queues and their quotas; empty: none
    std::string config;           ///< format kubernetes: device configuration; empty: none
    std::string scheduler_config; ///< format kubernetes: Volcano's volcano-scheduler.conf; empty: none
    std::string catalog;          ///< format kubernetes: catalog file; empty: what is built in
    std::string start;            ///< format kubernetes: the cluster that a run begins with; empty: `nodes`, empty
    std::string start_ends;       ///< "drawn", "stay" or a table: when pods end that run in `start`; empty: drawn
    std::string events;           ///< what happens to nodes and devices; empty: nothing
    std::string failures;         ///< model that draws failures; empty: none
    std::string autoscaler;       ///< nodes that are added for pods that wait; empty: none
    std::string policy = vgpualloc::default_policy;
    std::string device_policy; ///< empty: the policy itself
    std::string mode = "hami_core";
    std::string discipline = "try_once";
    vgpusim::after_failure after_failure = vgpusim::after_failure::requeue;
    std::int64_t layout_change_s = 0; ///< to make a MIG instance that is not there
    vgpusim::defragment defragment = vgpusim::defragment::never;
    std::int64_t defragment_every_s = 3600; ///< where it is periodic
    std::int64_t defragment_moves_max = 3;  ///< for one such pod
    double defragment_share = 0.01;         ///< moves that every pod that starts allows
    std::int64_t move_downtime_s = 0;       ///< of a pod that is moved
    std::int64_t move_copy_s_per_gib = 0;   ///< while it is copied it has both places
    /// "online", "lp" or a prices.json; empty: online for bid_price, and lp for dual_price.
    std::string prices;
    vgpusim::price_demand price_demand = vgpusim::price_demand::known;
    std::int64_t price_every = 500;   ///< arrivals from one solution to the next, where learned
    std::int64_t price_window = 2000; ///< arrivals in which the weight of one falls to 1/e
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

/// What the text of a setting is.
enum class setting_type : std::uint8_t { text, input, choice, whole, real, truth, rules };
[[nodiscard]] std::string_view to_string(setting_type type) noexcept;

/// One field of run_config: how it is set from text and given as text, and what people are told of it. Flags, their
/// help and the table in docs/formats.md are made of this.
struct run_setting {
    std::string_view name;
    setting_type type = setting_type::text;
    std::string_view values; ///< that it may have, in words; empty: any text
    std::string_view help;
    std::string_view flag;                     ///< of `run` and `compare`; empty: --set alone
    std::string_view placeholder;              ///< of its value, in their help
    std::span<const std::string_view> words{}; ///< that an input may have instead of a name
    /// Errors have the key as their field; the configuration is then as it was.
    expected<void> (*set)(run_config&, std::string_view key, std::string_view value);
    std::string (*get)(const run_config&);

    /// It names an input.
    [[nodiscard]] bool is_path() const noexcept { return type == setting_type::input; }
    /// This value of it does.
    [[nodiscard]] bool is_path(std::string_view value) const noexcept {
        return is_path() && std::ranges::find(words, value) == words.end();
    }
};

/// All settings, in the order in which outputs show them.
[[nodiscard]] std::span<const run_setting> all_settings();

/// The setting of that name; null: there is none.
[[nodiscard]] const run_setting* find_setting(std::string_view name);

/// Error unknown_name, which lists the settings that there are.
[[nodiscard]] error unknown_setting(std::string where, std::string_view name);

/// Error malformed, or missing where the value is empty.
[[nodiscard]] error bad_setting(std::string_view key, std::string_view value, const char* expectation);

/// The same of what is to be a number, or a whole one: error out_of_range where it is one.
[[nodiscard]] error bad_number(std::string_view key, std::string_view value, const char* expectation, bool is_whole);

/// The disciplines by name, in the order of all_disciplines (discipline/all.hpp).
inline constexpr std::array<std::string_view, 8> discipline_names{"try_once", "fifo", "easy",          "conservative",
                                                                  "priority", "gang", "priority+fifo", "priority+easy"};

/// Error unknown_name with the field "discipline", which lists the known ones.
[[nodiscard]] error unknown_discipline(std::string_view name);

/// Sets one field from its text form. Unknown keys list the known ones.
[[nodiscard]] expected<void> set_key(run_config& config, std::string_view key, std::string_view value);

/// The configuration with these settings, of a baseline or of a policy of a study, in place of its own.
[[nodiscard]] run_config with_settings(run_config config,
                                       const std::vector<std::pair<std::string, std::string>>& settings);

inline constexpr std::int64_t arrivals_max = 10'000'000;
inline constexpr const char* arrivals_expected = "a whole number from 1 to 10000000";

/// A number of arrivals to measure; nothing for other texts.
[[nodiscard]] std::optional<std::int64_t> parse_arrivals(std::string_view text);

/// The keys that name a file to read, and their values.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> paths_of(const run_config& config);

/// Every key and value as text, in a fixed order.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> effective(const run_config& config);

/// Those of them that have another value than where nothing is set.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> changed_settings(const run_config& config);

/// Whether a policy of the configuration goes by prices, whatever else it is a part of.
[[nodiscard]] bool uses_prices(const run_config& config);
/// Where the prices of these policies come from: "online", "lp" or a file. "lp" where one of them cannot learn.
[[nodiscard]] std::string prices_from(const run_config& config);

/// Refuses keys about prices where none of the policies, nor the device policy, goes by any.
[[nodiscard]] expected<void> check_prices(const run_config& config, const std::vector<std::string>& policies);

/// The same without the keys about moves where nothing moves, and about prices where no policy has any: what outputs
/// show.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> shown_settings(const run_config& config);

} // namespace vgpusim
