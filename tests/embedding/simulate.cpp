// Two policies on one workload, from texts in memory to columns: no file is read or written.
#include <cstdint>
#include <cstdio>
#include <string>
#include <variant>
#include <vector>

#include <vgpufacade/simulate.hpp>

namespace {

constexpr const char* node_list = "sn,cpu_milli,memory_mib,gpu,model\n"
                                  "alpha,32000,131072,2,T4\n"
                                  "beta,32000,131072,2,T4\n";
constexpr const char* pod_list = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
                                 "train,4000,16384,1,1000\n"
                                 "infer-a,1000,4096,1,500\n"
                                 "infer-b,1000,4096,1,300\n"
                                 "infer-c,1000,4096,1,500\n"
                                 "wide,8000,32768,2,1000\n";

/// The values of a column of whole numbers.
const std::vector<std::int64_t>& whole(const vgpufacade::table& from, const char* name) {
    return std::get<std::vector<std::int64_t>>(from.find(name)->values);
}

int show(const vgpuformats::input_source& source, const std::string& policy) {
    vgpufacade::simulate_options options;
    for (const auto& [name, value] : {std::pair{"nodes", "nodes.csv"}, {"pods", "pods.csv"}}) {
        if (!set_option(options, name, value)) return 1;
    }
    options.config.policy = policy;
    const auto outcome = vgpufacade::simulate(source, options);
    if (!outcome) {
        std::printf("%s\n", outcome.error().message().c_str());
        return 1;
    }
    const auto pods = outcome->pods();
    for (std::size_t row = 0; row < pods->rows(); ++row) {
        std::printf(
            "%-9s %-8s node '%s' gpus '%s' %s\n", policy.c_str(), std::string{pods->find("name")->text(row)}.c_str(),
            std::string{pods->find("node")->text(row)}.c_str(), std::string{pods->find("gpus")->text(row)}.c_str(),
            std::string{pods->find("reason")->text(row)}.c_str());
    }
    const auto series = outcome->timeseries();
    std::printf("%-9s allocated %lld milli-GPU at the end\n", policy.c_str(),
                static_cast<long long>(whole(*series, "allocated_milli").back()));
    return 0;
}

} // namespace

int main() {
    vgpuformats::memory_source source;
    source.add("nodes.csv", node_list);
    source.add("pods.csv", pod_list);
    return show(source, "fgd") + show(source, "spread");
}
