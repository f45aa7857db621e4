// The configuration of a run, and where it comes from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/core/expected.hpp"

namespace vgpusim {

/// The full effective configuration of a run; every field can be set by flag, scenario file and --set under its own
/// name.
struct run_config {
    std::string format = "openb";
    std::string nodes;
    std::string pods;
    std::string policy = "fgd";
    std::string device_policy; ///< empty: the policy itself
    std::string mode = "hami_core";
    double tune = 0.0;
    std::int64_t seed = 42;
    bool departures = false;
    std::int64_t sample_interval_s = 0; ///< 0 = a row after every event
    std::string out = "out/run";
};

/// Sets one field from its text form. Unknown keys list the known ones.
[[nodiscard]] vgpualloc::expected<void> set_key(run_config& config, std::string_view key, std::string_view value);

/// Reads a scenario: a JSON object of run_config's keys, besides "name" and "description". Relative paths in it are
/// taken from the scenario's own folder. Errors name the file and the JSON pointer.
[[nodiscard]] vgpualloc::expected<run_config> read_scenario(const std::string& path);

/// Every key and value as text, in a fixed order.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> effective(const run_config& config);

} // namespace vgpusim
