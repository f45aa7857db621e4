// One run from files to files: configuration, replay, outputs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/view.hpp"
#include "vgpualloc/policy/policy.hpp"
#include "vgpureport/report.hpp"
#include "vgpusim/engine/simulation.hpp"
#include "vgpusim/workload/workload.hpp"

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

struct input_file {
    std::string path;
    std::string sha256;
};

/// A workload read once and replayed by several policies.
struct loaded_input {
    simulation_input input;
    std::vector<input_file> files;
};

[[nodiscard]] vgpualloc::expected<loaded_input> load_input(const run_config& config);

/// Devices of a mode in which a fatal fault of one container takes the others with it (sharing_mode::shares_faults).
struct fault_domain_count {
    std::int64_t shared = 0;         ///< devices that more than one container is on
    std::int64_t containers_max = 0; ///< on one of them; 0 without any

    void count(const vgpualloc::device_view& device) noexcept {
        if (!device.spec->mode->shares_faults() || device.state.slots < 2) return;
        ++shared;
        containers_max = std::max(containers_max, device.state.slots);
    }
};

/// A finished replay with what is needed to describe it.
struct run_record {
    run_config config;
    std::unique_ptr<vgpualloc::ledger> ledger;
    simulation_result result;
    vgpualloc::fragmentation_buckets buckets; ///< over all nodes at the end
    fault_domain_count fault_domains;         ///< at the end
    std::vector<double> cpu_used_ratio;       ///< by node
    std::vector<std::int64_t> code_count;     ///< failed pods by rejection code
    std::int64_t total_milli = 0;
    std::int64_t gpus = 0;
    sample last; ///< the state at the end
};

/// Makes the policies and replays the workload.
[[nodiscard]] vgpualloc::expected<run_record> replay(const run_config& config, const loaded_input& loaded,
                                                     const simulation::progress& tell);

/// The texts of the output files.
[[nodiscard]] std::string pods_csv(const run_record& record, const simulation_input& input);
[[nodiscard]] std::string timeseries_csv(const run_record& record);
[[nodiscard]] std::string summary_json(const run_record& record, const loaded_input& loaded);
[[nodiscard]] vgpureport::report_run describe(const run_record& record, const loaded_input& loaded);

} // namespace vgpusim
