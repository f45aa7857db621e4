// Tiny clusters and pod lists for the simulator's tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/metrics/fragmentation.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpusim/study/run.hpp"
#include "vgpusim/workload/openb.hpp"
#include "vgputraces/openb.hpp"

namespace vgpusim_test {

inline vgputraces::openb_node gpu_node(std::string name, int gpus, std::string model = "G") {
    return {.name = std::move(name),
            .cpu = vgpualloc::milli_cpu{64000},
            .memory = vgpualloc::mib{262144},
            .gpu_count = gpus,
            .model = std::move(model)};
}

inline vgputraces::openb_node cpu_node(std::string name) { return gpu_node(std::move(name), 0, ""); }

inline vgputraces::openb_pod pod(std::string name, int gpus, std::int64_t milli) {
    return {.name = std::move(name),
            .cpu = vgpualloc::milli_cpu{1000},
            .memory = vgpualloc::mib{1024},
            .num_gpu = gpus,
            .gpu_milli = vgpualloc::milli_gpu{milli},
            .gpu_spec = "",
            .creation_time = {},
            .deletion_time = {}};
}

inline vgputraces::openb_pod share(std::string name, std::int64_t milli) { return pod(std::move(name), 1, milli); }
inline vgputraces::openb_pod whole(std::string name, int gpus) { return pod(std::move(name), gpus, 1000); }
inline vgputraces::openb_pod cpu_only(std::string name) { return pod(std::move(name), 0, 0); }

/// The pod with its times in seconds; it stays if it is never deleted.
inline vgputraces::openb_pod at(vgputraces::openb_pod pod, std::int64_t creation, std::int64_t deletion = -1) {
    pod.creation_time = creation * vgpualloc::ticks_per_second;
    if (deletion >= 0) pod.deletion_time = deletion * vgpualloc::ticks_per_second;
    return pod;
}

inline const vgpualloc::sharing_mode* shared_mode() { return vgpualloc::find_mode("hami_core").value(); }

/// A workload that is expected to be well formed.
inline vgpusim::simulation_input built(const std::vector<vgputraces::openb_node>& nodes,
                                       std::vector<vgputraces::openb_pod> pods, double tune = 0.0,
                                       bool departures = false, std::int64_t seed = 42) {
    return vgpusim::build_openb_workload(nodes, std::move(pods),
                                         {.tune = tune, .seed = seed, .departures = departures, .mode = shared_mode()})
        .value();
}

/// A whole run of these pods on one node with so many GPUs.
inline vgpusim::run_record run_of(int gpus, std::vector<vgputraces::openb_pod> pods,
                                  const vgpusim::run_config& config) {
    auto input = vgpusim::build_openb_workload({gpu_node("n", gpus)}, std::move(pods),
                                               {.tune = config.tune,
                                                .seed = config.seed,
                                                .departures = config.departures,
                                                .mode = vgpualloc::find_mode(config.mode).value()});
    const vgpusim::loaded_input loaded{.input = std::move(input).value(), .files = {}};
    return vgpusim::replay(config, loaded, loaded.input.nodes, {}).value();
}

/// A policy that exists, and the fragmentation measure it may share with the loop.
inline std::unique_ptr<vgpualloc::policy> policy_for(const vgpusim::simulation_input& input, const std::string& name) {
    vgpualloc::policy_parameters parameters;
    parameters.target = input.typical;
    parameters.seed = 1;
    return vgpualloc::make_policy(name, parameters).value();
}

inline std::shared_ptr<vgpualloc::fragmentation_model> measure_for(const vgpusim::simulation_input& input) {
    return std::make_shared<vgpualloc::fragmentation_model>(input.typical);
}

} // namespace vgpusim_test
