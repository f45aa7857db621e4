// What a run reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/catalog/power.hpp"
#include "vgpualloc/policy/learned_prices.hpp"
#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/workload.hpp"
#include "vgputraces/trace_job.hpp"

namespace vgpusim {

struct input_file {
    std::string path;   ///< "-" for standard input
    std::string sha256; ///< of the bytes as they were read, compressed or not, or of the columns
};

/// A workload read once and replayed by several policies.
struct loaded_input {
    simulation_input input;
    std::vector<input_file> files;
    vgpualloc::power_catalog power{};                  ///< what the devices draw
    std::optional<vgpualloc::learned_prices> prices{}; ///< that the configuration names
    std::vector<error> warnings{};                     ///< what can be replayed, but is most likely not what was meant
    std::size_t listed = 0;                            ///< pods of an openb list, before it is tuned
    vgputraces::skipped_rows skipped{};                ///< of the pod list
    std::vector<vgputraces::left_out_rows> left_out{};
};

} // namespace vgpusim
