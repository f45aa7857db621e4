// A small workload in memory.
#pragma once

#include <string>

#include "vgpufacade/simulate.hpp"

namespace facade_test {

inline const std::string node_list = "sn,cpu_milli,memory_mib,gpu,model\n"
                                     "alpha,32000,131072,2,T4\n"
                                     "beta,32000,131072,1,T4\n";
inline const std::string pod_list = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n"
                                    "train,4000,16384,1,1000,0,90\n"
                                    "infer-a,1000,4096,1,500,10,40\n"
                                    "infer-b,1000,4096,1,300,10,60\n"
                                    "infer-c,1000,4096,1,500,20,30\n"
                                    "wide,8000,32768,2,1000,25,80\n";

struct small_run {
    vgpuformats::memory_source source;
    vgpufacade::simulate_options options;

    explicit small_run(const std::string& policy = "fgd") {
        source.add("nodes", node_list);
        source.add("pods", pod_list);
        options.config.nodes = "nodes";
        options.config.pods = "pods";
        options.config.policy = policy;
    }
    [[nodiscard]] vgpualloc::expected<vgpufacade::simulation_outcome>
    outcome(const vgpufacade::progress& follow = {}) const {
        return vgpufacade::simulate(source, options, follow);
    }
    /// The outcome's files but for the report, without the times that were measured.
    [[nodiscard]] std::string texts() const {
        std::string text;
        const auto finished = outcome();
        if (!finished) return finished.error().message();
        for (const auto& [name, content] : finished->files()) {
            if (name == "report.html") continue;
            text += name + "\n" + content.substr(0, content.find("\"timing\""));
        }
        return text;
    }
};

} // namespace facade_test
