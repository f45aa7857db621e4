// What a run reads and what it leaves: the outputs are written from these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vgpualloc/metrics/fragmentation.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/view.hpp"
#include "vgpusim/engine/simulation.hpp"
#include "vgpusim/study/config.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

struct input_file {
    std::string path;
    std::string sha256; ///< empty in a build without OpenSSL
};

/// A workload read once and replayed by several policies.
struct loaded_input {
    simulation_input input;
    std::vector<input_file> files;
};

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

} // namespace vgpusim
