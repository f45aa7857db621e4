// vgpusim import: what another system has run, as files that run and compare replay.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
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
#include "vgpuformats/some_names.hpp"
#include "vgpuops/forecast/trend.hpp"
#include "vgputraces/accounting.hpp"
#include "vgputraces/arrivals.hpp"
#include "vgputraces/usage.hpp"

namespace vgpusim::cli {

namespace {

using vgpuops::importing::queue_source;

struct import_options {
    vgpufacade::import_question question;
    std::string source;
    std::string queue;
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

/// A source of records on the command line.
struct record_source {
    const char* name;
    vgputraces::accounting_source source;
    const char* queues; ///< what --queue takes, the default first
    bool takes_several;
};

constexpr std::array<record_source, 4> record_sources{
    {{"sacct", vgputraces::accounting_source::sacct, "partition, account, user, qos or none", false},
     {"prometheus", vgputraces::accounting_source::prometheus, "namespace, owner, queue or none", true},
     {"audit", vgputraces::accounting_source::audit, "namespace, owner, queue or none", true},
     {"kueue", vgputraces::accounting_source::kueue, "namespace, owner, queue or none", true}}};

/// What of its source --queue names.
queue_source queue_named(const std::string& word, const record_source& source) {
    struct queue_word {
        std::string_view word;
        queue_source queue;
        bool is_of_slurm;
    };
    constexpr std::array<queue_word, 7> words{{{"partition", queue_source::queue, true},
                                               {"account", queue_source::owner, true},
                                               {"user", queue_source::user, true},
                                               {"qos", queue_source::qos, true},
                                               {"namespace", queue_source::user, false},
                                               {"owner", queue_source::owner, false},
                                               {"queue", queue_source::queue, false}}};
    if (word == "none") return queue_source::none;
    const bool is_slurm = source.source == vgputraces::accounting_source::sacct;
    if (word.empty()) return is_slurm ? queue_source::queue : queue_source::user;
    for (const queue_word& known : words) {
        if (known.word == word && known.is_of_slurm == is_slurm) return known.queue;
    }
    throw CLI::ValidationError{"--queue", "got '" + printable(word) + "', expected " + source.queues + " with import " +
                                              source.name};
}

const record_source& source_named(const std::string& name) {
    return *std::ranges::find(record_sources, name, &record_source::name); // which the command line has checked
}

void run(import_options chosen) {
    constexpr const char* classes_file = "classes.json";
    constexpr const char* arrivals_file = "arrivals.csv";
    constexpr const char* used_file = "used.csv";
    constexpr const char* summary_file = "import.json";
    const record_source& source = source_named(chosen.source);
    chosen.question.source = source.source;
    chosen.question.options.products = products_in(chosen.products);
    chosen.question.options.queue = queue_named(chosen.queue, source);
    if (!source.takes_several && chosen.question.records.size() > 1) {
        throw CLI::ValidationError{"RECORDS", "got " + std::to_string(chosen.question.records.size()) +
                                                  " files, expected one with import " + source.name};
    }
    if (source.source != vgputraces::accounting_source::sacct && !chosen.products.empty()) {
        throw CLI::ValidationError{"--gpu-type", std::string{"only sacct names types of GPUs; import "} + source.name +
                                                     " has resources"};
    }
    std::vector<named_input> inputs;
    add_inputs(inputs, "RECORDS", chosen.question.records);
    read_stdin_once(inputs);
    or_end(vgpuformats::keep_inputs(chosen.folder, {classes_file, arrivals_file, used_file, summary_file},
                                    chosen.question.records));
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
        "import", "Make of what another system has accounted a workload to replay: classes of pods and a table of "
                  "arrivals");
    std::vector<std::string> names;
    for (const record_source& source : record_sources) names.emplace_back(source.name);
    command->add_option("SOURCE", chosen->source, "Whose records: " + vgpuformats::joined(names))
        ->type_name("")
        ->required()
        ->check(CLI::IsMember{names});
    command
        ->add_option("RECORDS", chosen->question.records,
                     "What sacct -P printed (one file), answers of Prometheus to range queries, audit logs of an API "
                     "server, or Workloads of Kueue; plain or gzip; - is standard input")
        ->type_name("FILE")
        ->required();
    add_filled(*command, "--out", chosen->folder, "FOLDER",
               "Where classes.json, arrivals.csv, used.csv and import.json go")
        ->required();
    add_filled(*command, "--queue", chosen->queue, "WORD",
               "What becomes the queue of a job: partition (default), account, user or qos; of Kubernetes namespace "
               "(default), owner or queue; none");
    add_repeatable(*command, "--gpu-type", chosen->products, "TYPE=PRODUCT",
                   "Jobs with GPUs of this type need nodes with this label nvidia.com/gpu.product; may be repeated");
    command->add_flag("--skip-bad-rows", chosen->question.rows.skip_bad,
                      "Count rows that cannot be read, and go on without them");
    command->add_flag("--json", chosen->json, "Print the summary as JSON");
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
