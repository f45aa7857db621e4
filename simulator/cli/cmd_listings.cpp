// vgpusim policies, modes, dialects: the names one can use, one per line, with a sentence.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/mode/all.hpp"

namespace vgpusim::cli {

namespace {

using listing = std::vector<std::pair<std::string, std::string>>;

listing policies() {
    listing list;
    for (const auto& each : all_policies()) list.emplace_back(each.name, each.summary);
    list.emplace_back("weighted:NAME=WEIGHT,…", "sum of the named policies' scores, each times its weight");
    return list;
}

listing modes() {
    listing list;
    for (const auto* each : vgpualloc::all_modes()) list.emplace_back(each->name(), each->summary());
    return list;
}

listing dialects() {
    return {{"volcano_vgpu", "NVIDIA GPUs as Volcano's vGPU: volcano.sh/vgpu-number, -memory, -cores"},
            {"gpushare", "NVIDIA GPUs as Volcano's older sharing: volcano.sh/gpu-memory, gpu-number"},
            {"hami", "NVIDIA GPUs as HAMi: nvidia.com/gpu, gpumem, gpumem-percentage, gpucores"},
            {"ascend_hami", "Ascend NPUs as HAMi and Volcano's HAMi mode: huawei.com/Ascend910B4, -memory, -core"},
            {"mindcluster", "Ascend 310P chips as MindCluster: huawei.com/npu-core, labels vnpu-dvpp, vnpu-level"},
            {"cce", "Huawei Cloud CCE GPU virtualization: volcano.sh/gpu-mem.128Mi, gpu-core.percentage"},
            {"openb", "node and pod lists of the Alibaba openb trace (cluster-trace-gpu-v2023), CSV"}};
}

void print(const listing& list, bool json) {
    if (json) {
        nlohmann::ordered_json out = nlohmann::ordered_json::array();
        for (const auto& [name, summary] : list) out.push_back({{"name", name}, {"summary", summary}});
        fmt::print("{}\n", out.dump(2));
        return;
    }
    for (const auto& [name, summary] : list) fmt::print("{:<22} {}\n", name, summary);
}

void add(CLI::App& app, const char* name, const char* help, listing (*make)()) {
    auto json = std::make_shared<bool>(false);
    CLI::App* command = app.add_subcommand(name, help);
    command->add_flag("--json", *json, "As JSON");
    command->callback([json, make] { print(make(), *json); });
}

} // namespace

void add_listings(CLI::App& app, int&) {
    add(app, "policies", "List the policies", policies);
    add(app, "modes", "List the sharing modes", modes);
    add(app, "dialects", "List the dialects", dialects);
}

} // namespace vgpusim::cli
