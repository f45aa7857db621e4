// vgpusim import: what another system has run, as files that run and compare replay.
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "vgpufacade/import.hpp"
#include "vgpuformats/files.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuops/forecast/trend.hpp"
#include "vgputraces/arrivals.hpp"
#include "vgputraces/usage.hpp"

namespace vgpusim::cli {

namespace {

using vgpuops::importing::queue_source;

struct import_options {
    vgpufacade::import_question question;
    std::string source;
    std::vector<std::string> products;
    std::string folder;
    bool json = false;
};

/// TYPE=PRODUCT, each type once.
std::map<std::string, std::string> products_in(const std::vector<std::string>& flags) {
    std::map<std::string, std::string> products;
    for (const std::string& flag : flags) {
        const std::size_t equals = flag.find('=');
        const bool is_pair = equals != std::string::npos && equals > 0 && equals + 1 < flag.size();
        if (!is_pair || !products.emplace(flag.substr(0, equals), flag.substr(equals + 1)).second) {
            throw CLI::ValidationError{"--gpu-type", "got '" + printable(flag) +
                                                         "', expected TYPE=PRODUCT, each type once, as "
                                                         "a100=NVIDIA-A100-SXM4-80GB"};
        }
    }
    return products;
}

void run(import_options chosen) {
    constexpr const char* classes_file = "classes.json";
    constexpr const char* arrivals_file = "arrivals.csv";
    constexpr const char* used_file = "used.csv";
    constexpr const char* summary_file = "import.json";
    chosen.question.options.products = products_in(chosen.products);
    read_stdin_once({{"RECORDS", chosen.question.records}});
    or_end(vgpuformats::keep_inputs(chosen.folder, {classes_file, arrivals_file, used_file, summary_file},
                                    {chosen.question.records}));
    const auto workload = or_end(vgpufacade::import_records(chosen.question, files_here()));
    const std::string summary = vgpuformats::print_json(vgpuops::importing::summary_json(workload), 2) + "\n";
    or_end(vgpuformats::write_files(chosen.folder, {{classes_file, vgpuops::importing::manifests_of(workload)},
                                                    {arrivals_file, vgputraces::write_arrivals(workload.arrivals)},
                                                    {used_file, vgputraces::write_usage(workload.used)},
                                                    {summary_file, summary}}));
    if (chosen.json) {
        fmt::print("{}", summary);
        return;
    }
    fmt::print("{}", vgpuops::importing::summary_text(workload));
    const std::string folder = printable(chosen.folder);
    fmt::print("written: {0}/{{{1},{2},{3},{4}}}\n"
               "replay: vgpusim run --format kubernetes --nodes NODES --classes {0}/{1} --pods {0}/{2} "
               "--discipline easy --out {0}/run\n",
               folder, classes_file, arrivals_file, used_file, summary_file);
    if (std::ssize(workload.used) >= vgpuops::forecast::points_min) {
        fmt::print("when full: vgpusim forecast CLUSTER --history {}/{}\n", folder, used_file);
    }
}

} // namespace

void add_import(CLI::App& app) {
    auto chosen = std::make_shared<import_options>();
    CLI::App* command = app.add_subcommand(
        "import", "Make of what Slurm has accounted a workload to replay: classes of pods and a table of arrivals");
    command->add_option("SOURCE", chosen->source, "Whose records: sacct")
        ->type_name("")
        ->required()
        ->check(CLI::IsMember{{"sacct"}});
    add_filled(*command, "RECORDS", chosen->question.records, "FILE",
               "What sacct -P printed, plain or gzip; - is standard input")
        ->required();
    add_filled(*command, "--out", chosen->folder, "FOLDER",
               "Where classes.json, arrivals.csv, used.csv and import.json go")
        ->required();
    const std::map<std::string, queue_source> sources{{"partition", queue_source::partition},
                                                      {"account", queue_source::account},
                                                      {"user", queue_source::user},
                                                      {"qos", queue_source::qos},
                                                      {"none", queue_source::none}};
    command->add_option("--queue", chosen->question.options.queue, "What becomes the queue of a job")
        ->type_name("partition|account|user|qos|none")
        ->transform(CLI::CheckedTransformer(sources).description(""))
        ->default_str("partition");
    add_repeatable(*command, "--gpu-type", chosen->products, "TYPE=PRODUCT",
                   "Jobs with GPUs of this type need nodes with this label nvidia.com/gpu.product; may be repeated");
    command->add_flag("--skip-bad-rows", chosen->question.rows.skip_bad,
                      "Count rows that cannot be read, and go on without them");
    command->add_flag("--json", chosen->json, "Print the summary as JSON");
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
