// vgpusim generate: a synthetic cluster and workload as files, from a JSON model and a seed.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands.hpp"
#include "options.hpp"
#include "vgpuformats/files.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuformats/json.hpp"
#include "vgputraces/generator.hpp"
#include "vgputraces/workload_model.hpp"

namespace vgpusim::cli {

namespace {

using vgputraces::drawn_trace;

struct generate_options {
    std::string model_path;
    std::string folder;
    vgputraces::generate_options draw;
    bool json = false;
};

struct generate_totals {
    std::int64_t gpus = 0;
    std::int64_t classes = 0;
    std::int64_t classes_drawn = 0;
    double requested_ratio = 0; ///< of all GPUs; 0 if the cluster has none
};

[[nodiscard]] generate_totals totals_of(const drawn_trace& trace) {
    generate_totals sum;
    for (const auto& node : trace.nodes) sum.gpus += node.gpu_count;
    sum.classes = std::ssize(trace.pods_per_class);
    for (const auto pods : trace.pods_per_class) sum.classes_drawn += pods > 0 ? 1 : 0;
    const auto capacity = static_cast<double>(trace.capacity.count());
    if (capacity > 0) sum.requested_ratio = static_cast<double>(trace.requested.count()) / capacity;
    return sum;
}

void print_summary(const drawn_trace& trace, const generate_options& chosen) {
    const generate_totals sum = totals_of(trace);
    fmt::print("nodes           {}\n", trace.nodes.size());
    fmt::print("GPUs            {}\n", sum.gpus);
    fmt::print("pods            {}\n", trace.pods.size());
    // What is asked for is no load where pods leave: how long they stay is not in it.
    fmt::print("requests        {:.4f} times all GPUs, if all pods stayed\n", sum.requested_ratio);
    if (trace.offered_load) {
        fmt::print("offered load    {:.4f} of all GPUs: arrival rate x duration x GPUs requested\n",
                   *trace.offered_load);
    }
    fmt::print("classes         {} drawn of {}\n", sum.classes_drawn, sum.classes);
    fmt::print("last arrival    {} s\n", trace.pods.back().created_s);
    fmt::print("seed            {}\n", trace.effective.seed);
    fmt::print("written         {}/{{nodes.csv,pods.csv,model.json}}\n", printable(chosen.folder));
}

void print_json(const drawn_trace& trace, const generate_options& chosen) {
    const generate_totals sum = totals_of(trace);
    document root;
    root["nodes"] = trace.nodes.size();
    root["gpus"] = sum.gpus;
    root["pods"] = trace.pods.size();
    root["capacity_milli"] = trace.capacity.count();
    root["requested_milli"] = trace.requested.count();
    root["requested_ratio"] = sum.requested_ratio;
    if (trace.offered_load) root["offered_load"] = *trace.offered_load;
    root["classes"] = sum.classes;
    root["classes_drawn"] = sum.classes_drawn;
    root["last_arrival_s"] = trace.pods.back().created_s;
    root["seed"] = trace.effective.seed;
    root["out"] = chosen.folder;
    // A path may hold bytes that are no UTF-8; a summary is no reason to stop at them.
    fmt::print("{}\n", vgpuformats::print_json(root, 2));
}

constexpr const char* workload_files[] = {"nodes.json", "classes.yaml", "arrivals.csv", "model.json"};

void print_workload(const vgputraces::generated_workload& workload, const generate_options& chosen) {
    const auto drawn = std::ranges::count_if(workload.rows_per_class, [](std::int64_t rows) { return rows > 0; });
    const std::int64_t last_s = workload.last_arrival.count() / ticks_per_second.count();
    if (!chosen.json) {
        fmt::print("nodes           {}\ndevices         {}\npods            {}\nclasses         {} drawn of {}\n",
                   workload.node_count, workload.device_count, workload.pod_rows, drawn,
                   workload.rows_per_class.size());
        fmt::print("last arrival    {} s\nseed            {}\n", last_s, workload.seed);
        fmt::print("written         {}/{{{}}}\n", printable(chosen.folder), fmt::join(workload_files, ","));
        return;
    }
    document root;
    root["nodes"] = workload.node_count;
    root["devices"] = workload.device_count;
    root["pods"] = workload.pod_rows;
    root["classes"] = workload.rows_per_class.size();
    root["classes_drawn"] = drawn;
    root["last_arrival_s"] = last_s;
    root["seed"] = workload.seed;
    root["out"] = chosen.folder;
    fmt::print("{}\n", vgpuformats::print_json(root, 2));
}

/// A workload of Kubernetes objects.
void run_workload(const generate_options& chosen, std::string_view model) {
    or_end(vgpuformats::keep_inputs(chosen.folder, {std::begin(workload_files), std::end(workload_files)},
                                    {chosen.model_path}));
    const auto streamed = or_end(vgputraces::stream_workload(model, chosen.model_path, chosen.draw));
    const vgputraces::generated_workload& workload = streamed.texts;
    or_end(vgpuformats::write_files(chosen.folder, {{workload_files[0], workload.nodes},
                                                    {workload_files[1], workload.classes},
                                                    {workload_files[2], {}, streamed.arrivals},
                                                    {workload_files[3], workload.model}}));
    print_workload(workload, chosen);
}

void run(const generate_options& chosen) {
    const auto input = or_end(vgpuformats::read_input(chosen.model_path));
    if (vgputraces::is_workload_model(input.text)) return run_workload(chosen, input.text);
    const auto model = or_end(vgputraces::parse_trace_model(input.text, chosen.model_path));
    or_end(vgpuformats::keep_inputs(chosen.folder, {"nodes.csv", "pods.csv", "model.json"}, {chosen.model_path}));
    const auto trace = or_end(vgputraces::draw_trace(model, chosen.draw));

    const std::string nodes = vgputraces::write_openb_nodes(trace.nodes);
    const std::string used_model = vgputraces::write_trace_model(trace.effective);
    or_end(vgpuformats::write_files(
        chosen.folder,
        {{"nodes.csv", nodes}, {"pods.csv", {}, vgputraces::openb_pods_in_pieces(trace)}, {"model.json", used_model}}));

    chosen.json ? print_json(trace, chosen) : print_summary(trace, chosen);
}

} // namespace

void add_generate(CLI::App& app) {
    auto chosen = std::make_shared<generate_options>();
    CLI::App* command = app.add_subcommand(
        "generate",
        "Make a synthetic cluster and workload: openb lists, or Kubernetes objects and a table of arrivals");
    command->add_option("MODEL", chosen->model_path, "The model, a JSON file (docs/trace-model.md)")
        ->type_name("FILE")
        ->required();
    command
        ->add_option("--out", chosen->folder,
                     "Folder for the files: nodes.csv, pods.csv and model.json, or nodes.json, classes.yaml, "
                     "arrivals.csv and model.json")
        ->type_name("FOLDER")
        ->required();
    add_seed(*command, "Of the random numbers; default: the model's",
             [chosen](std::uint64_t seed) { chosen->draw.seed = seed; });
    command->add_option("--nodes", chosen->draw.nodes, "Number of nodes; the model's kinds are scaled to it")
        ->type_name("NUMBER");
    command->add_option("--pods", chosen->draw.pods, "Number of pods, in place of the model's count or load")
        ->type_name("NUMBER");
    command
        ->add_option("--load", chosen->draw.load,
                     "Stop when the requests reach this multiple of all GPUs; where pods leave this is no load, see "
                     "--offered-load")
        ->type_name("NUMBER");
    command
        ->add_option(
            "--offered-load", chosen->draw.offered_load,
            "Set the interval between arrivals so that arrival rate x duration x GPUs requested is this multiple "
            "of all GPUs")
        ->type_name("NUMBER");
    command->add_flag("--json", chosen->json, "Print the summary as JSON");
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
