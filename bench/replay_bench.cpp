// The whole openb replay per policy and pod list: the loop alone, the whole process, and the files alone.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <benchmark/benchmark.h>

#include "child.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpuformats/files.hpp"
#include "vgpureport/report.hpp"
#include "vgpusim/outputs/pods_csv.hpp"
#include "vgpusim/outputs/report.hpp"
#include "vgpusim/outputs/summary_json.hpp"
#include "vgpusim/outputs/timeseries_csv.hpp"
#include "vgpusim/study/run.hpp"
#include "vgputraces/file_source.hpp"
#include "vgputraces/locate.hpp"

namespace {

namespace fs = std::filesystem;

constexpr double tune = 1.3;

fs::path scratch_folder() { return fs::temp_directory_path() / ("vgpualloc-bench-" + std::to_string(getpid())); }

vgpusim::run_config config_for(const std::string& policy, const fs::path& pods) {
    vgpusim::run_config config;
    config.nodes = (pods.parent_path() / "openb_node_list_gpu_node.csv").string();
    config.pods = pods.string();
    config.policy = policy;
    config.tune = tune;
    config.out = scratch_folder().string();
    return config;
}

/// The input of the last pod list asked for: benchmarks are registered list by list.
const vgpusim::loaded_input* input_for(benchmark::State& state, const vgpusim::run_config& config) {
    static std::string path;
    static std::unique_ptr<vgpusim::loaded_input> last;
    if (path == config.pods && last) return last.get();
    auto loaded = vgpusim::load_input(config, vgputraces::file_source{});
    if (!loaded) {
        state.SkipWithError(loaded.error().message().c_str());
        return nullptr;
    }
    last = std::make_unique<vgpusim::loaded_input>(std::move(*loaded));
    path = config.pods;
    return last.get();
}

/// From a loaded input to a finished replay, as `vgpusim run` does it.
void replay(benchmark::State& state, const vgpusim::run_config& config) {
    const auto* loaded = input_for(state, config);
    if (loaded == nullptr) return;
    std::int64_t decisions = 0;
    double loop_cpu_s = 0.0;
    for (auto unused : state) {
        static_cast<void>(unused);
        const auto record = vgpusim::replay(config, *loaded, loaded->input.nodes, {});
        if (!record) return state.SkipWithError(record.error().message().c_str());
        decisions += record->result.decisions;
        loop_cpu_s += record->result.loop_cpu_s;
    }
    state.counters["decisions"] = static_cast<double>(decisions) / static_cast<double>(state.iterations());
    state.counters["decisions/s"] = benchmark::Counter(static_cast<double>(decisions), benchmark::Counter::kIsRate);
    state.counters["loop_decisions/s"] = static_cast<double>(decisions) / loop_cpu_s;
}

/// `vgpusim run` as a process, all files written. The time is the child's CPU time.
void process(benchmark::State& state, const vgpusim::run_config& config) {
    const std::vector<std::string> command{VGA_VGPUSIM, "run",
                                           "--format",  "openb",
                                           "--nodes",   config.nodes,
                                           "--pods",    config.pods,
                                           "--policy",  config.policy,
                                           "--tune",    std::to_string(tune),
                                           "--seed",    std::to_string(config.seed),
                                           "--out",     config.out};
    double wall_s = 0.0;
    double rss_mib = 0.0;
    for (auto unused : state) {
        static_cast<void>(unused);
        const auto use = vgpubench::run_child(command);
        if (use.status != 0) return state.SkipWithError("vgpusim run failed");
        state.SetIterationTime(use.cpu_s);
        wall_s += use.wall_s;
        rss_mib = std::max(rss_mib, use.rss_mib);
    }
    state.counters["wall_ms"] = wall_s * 1e3 / static_cast<double>(state.iterations());
    state.counters["peak_rss_mib"] = rss_mib;
}

/// Reads the two input files and writes the four output files, and does nothing else. The time is CPU time.
void files(benchmark::State& state, const vgpusim::run_config& config) {
    const auto* loaded = input_for(state, config);
    if (loaded == nullptr) return;
    const auto record = vgpusim::replay(config, *loaded, loaded->input.nodes, {});
    if (!record) return state.SkipWithError(record.error().message().c_str());
    const std::string report = vgpureport::render_report({vgpusim::describe(*record, *loaded)});
    const std::string pods = vgpusim::pods_csv(*record, loaded->input);
    const std::string series = vgpusim::timeseries_csv(*record);
    const std::string summary = vgpusim::summary_json(*record, *loaded);
    std::size_t bytes = 0;
    for (auto unused : state) {
        static_cast<void>(unused);
        const std::clock_t begin = std::clock();
        const auto nodes_text = vgpuformats::read_file(config.nodes);
        const auto pods_text = vgpuformats::read_file(config.pods);
        const auto written = vgpuformats::write_files(config.out, {{.name = "pods.csv", .content = pods},
                                                                   {.name = "timeseries.csv", .content = series},
                                                                   {.name = "summary.json", .content = summary},
                                                                   {.name = "report.html", .content = report}});
        if (!nodes_text || !pods_text || !written) return state.SkipWithError("reading or writing failed");
        state.SetIterationTime(static_cast<double>(std::clock() - begin) / static_cast<double>(CLOCKS_PER_SEC));
        bytes = nodes_text->size() + pods_text->size() + pods.size() + series.size() + summary.size() + report.size();
    }
    state.counters["bytes"] = static_cast<double>(bytes);
}

std::vector<fs::path> pod_lists() {
    std::vector<fs::path> result;
    const std::string folder = vgputraces::default_trace_folder();
    std::error_code ignored;
    if (folder.empty() || !fs::exists(fs::path{folder} / "openb_node_list_gpu_node.csv", ignored)) return result;
    for (const auto& entry : fs::directory_iterator{folder, ignored}) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("openb_pod_list_") && name.ends_with(".csv")) result.push_back(entry.path());
    }
    std::ranges::sort(result);
    return result;
}

using measure = void (*)(benchmark::State&, const vgpusim::run_config&);

void add(const std::string& name, measure what, const fs::path& pods, bool manual_time) {
    const std::string list = pods.stem().string().substr(std::string{"openb_pod_list_"}.size());
    for (const auto& entry : vgpualloc::all_policies()) {
        const std::string policy{entry.name};
        // Files differ little from policy to policy: all of them on one list, two of them on every list.
        if (manual_time && list != "default" && policy != "compat:fgd" && policy != "fgd") continue;
        const auto config = config_for(policy, pods);
        auto* added = benchmark::RegisterBenchmark((name + "/" + policy + "/" + list).c_str(),
                                                   [=](benchmark::State& state) { what(state, config); });
        added->Unit(benchmark::kMillisecond);
        if (manual_time) added->UseManualTime();
    }
}

} // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    const auto lists = pod_lists();
    if (lists.empty()) {
        std::fprintf(stderr, "skipped: the openb trace is not here; `vgpusim fetch openb`, or set VGPUALLOC_TRACES\n");
        return 0;
    }
    // Processes first: a child's peak memory counts from what this process had when it started the child.
    for (const fs::path& list : lists) add("process", process, list, true);
    for (const fs::path& list : lists) {
        add("replay", replay, list, false);
        add("files", files, list, true);
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    std::error_code ignored;
    fs::remove_all(scratch_folder(), ignored);
    return 0;
}
