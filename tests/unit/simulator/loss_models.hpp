// Small workload models for tests of loss systems.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "../temporary_folder.hpp"

namespace vgpusim_test {

/// GPUs of kind A100-40GB, one a node, and a class for each profile, all with the same weight and a mean lifetime of
/// 100 s.
inline std::string mig_model(int gpus, const std::vector<std::string>& profiles, int arrivals,
                             const std::string& more_of_pods = R"("warm_up_lifetimes": 12, )") {
    std::string classes;
    for (const std::string& profile : profiles) {
        std::string name = profile;
        name[name.find('.')] = '-';
        classes += (classes.empty() ? "" : ", ") + std::string{R"({"name": ")"} + name +
                   R"(", "weight": 1, "request": {"profile": ")" + profile + R"("}})";
    }
    return R"({"format": "kubernetes", "nodes": {"kinds": [{"count": )" + std::to_string(gpus) +
           R"(, "kind": "A100-40GB", "mode": "mig", "devices": 1, "cpu_milli": 1000, "memory_mib": 1000,
               "profiles": ["1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"]}]},
            "pods": {)" +
           more_of_pods + R"("count": )" + std::to_string(arrivals) + R"(, "classes": [)" + classes +
           R"(]}, "arrivals": {"process": "poisson", "load": 1.0}, "mean_duration_s": 100})";
}

/// A model in a file, as long as a test needs it.
class model_file {
public:
    explicit model_file(const std::string& model) { std::ofstream{path()} << model; }
    [[nodiscard]] std::string path() const { return folder_ / "model.json"; }

private:
    vga_test::temporary_folder folder_;
};

} // namespace vgpusim_test
