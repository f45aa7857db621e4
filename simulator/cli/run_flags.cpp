// Shared flags and the progress display.
#include "run_flags.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "cluster_inputs.hpp"
#include "seed_option.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/core/printable.hpp"
#include "vgpuformats/files.hpp"
#include "vgpuformats/input.hpp"
#include "vgpusim/study/formats.hpp"
#include "vgpusim/study/stale.hpp"

namespace vgpusim::cli {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;

namespace {

/// A flag that sets a key of the configuration, and how its help shows it.
struct keyed_flag {
    const char* flag;
    const char* key;
    const char* type;
    const char* help;
};

constexpr std::array keyed_flags{
    keyed_flag{"--nodes", "nodes", "FILE",
               "Node list; - is standard input; a bare name that is not here is looked for in $VGPUALLOC_TRACES"},
    keyed_flag{"--pods", "pods", "FILE", "Pod list, or table of arrivals (docs/workload.md), likewise"},
    keyed_flag{"--classes", "classes", "FILE", "With --format kubernetes: manifests of the classes of pods"},
    keyed_flag{"--queues", "queues", "FILE", "Queues and their quotas; for every format but openb"},
    keyed_flag{"--config", "config", "FILE",
               "Device configuration, as explain takes it, for Kubernetes objects: nodes, classes, mappings"},
    keyed_flag{
        "--scheduler-config", "scheduler_config", "FILE",
        "With --format kubernetes: Volcano's volcano-scheduler.conf, for compat:volcano and its exclusive rules"},
    keyed_flag{"--file", "catalog", "FILE",
               "Catalog file: devices that are not built in, and what they draw (docs/catalog.md)"},
    keyed_flag{"--events", "events", "FILE", "What happens to nodes and devices: they fail, drain, leave, join"},
    keyed_flag{"--failures", "failures", "FILE", "Model that draws failures of nodes and devices"},
    keyed_flag{"--autoscaler", "autoscaler", "FILE", "Nodes that are added for pods that wait"},
    keyed_flag{"--device-policy", "device_policy", "POLICY",
               "Policy for the choice of devices on a node; default: the same policy"},
    keyed_flag{
        "--prices", "prices", "FILE",
        "What rests of devices are worth to dual_price: prices.json of an earlier run; without it they are solved "
        "from the pod list (docs/price-policy.md)"},
    keyed_flag{"--mode", "mode", "MODE", "How every GPU is shared: exclusive, hami_core or mps"},
    keyed_flag{"--discipline", "discipline", "NAME",
               "When waiting pods are tried: try_once, fifo, easy, conservative, priority, gang, priority+fifo, "
               "priority+easy (docs/queues.md)"},
    keyed_flag{"--tune", "tune", "NUMBER",
               "Copy or drop pods until they ask for this multiple of all GPUs, 0 = leave as is; where pods leave this "
               "is no load, see --offered-load"},
    keyed_flag{
        "--offered-load", "offered_load", "NUMBER",
        "With --departures: move the arrivals apart or together until arrival rate x duration x GPUs asked for is "
        "this multiple of all GPUs, 0 = leave as is"},
    keyed_flag{"--sample-interval-s", "sample_interval_s", "SECONDS",
               "Seconds between rows of timeseries.csv; 0 = every event"},
    keyed_flag{"--out", "out", "FOLDER", "Folder for the output files; those of an earlier run are replaced"},
};

std::string formats_in_words() {
    std::string text = "Format of the lists:";
    for (const input_format& format : all_formats()) {
        text += (&format == all_formats().data() ? " " : "; ") + std::string{format.name} + " (" +
                std::string{format.summary} + ")";
    }
    return text;
}

/// What the key is where nothing sets it; empty where that is no value.
std::string default_of(const std::string& key) {
    for (const auto& [name, value] : effective(run_config{})) {
        if (name == key) return value;
    }
    return "";
}

expected<void> take_set(run_config& config, const std::string& setting) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) {
        return unexpected(error{
            .code = error_code::malformed, .where = "", .field = "--set", .value = setting, .expected = "KEY=VALUE"});
    }
    const std::string_view text = setting;
    return set_key(config, text.substr(0, equals), text.substr(equals + 1));
}

} // namespace

CLI::Option* add_keyed_flag(CLI::App& command, const std::shared_ptr<run_flags>& flags, const std::string& flag,
                            const std::string& key, const std::string& type, const std::string& help) {
    CLI::Option* option = command.add_option_function<std::string>(
        flag, [flags, key](const std::string& value) { flags->keyed.emplace_back(key, value); }, help);
    option->type_name(type);
    if (const std::string value = default_of(key); !value.empty()) option->default_str(value);
    return option;
}

void add_run_flags(CLI::App& command, const std::shared_ptr<run_flags>& flags) {
    command
        .add_option("SCENARIO", flags->scenario, "A scenario file (JSON), or - for standard input; flags override it")
        ->type_name("FILE");
    add_keyed_flag(command, flags, "--format", "format", "FORMAT", formats_in_words());
    for (const auto& [flag, key, type, help] : keyed_flags) add_keyed_flag(command, flags, flag, key, type, help);
    add_seed(command, "Of the shuffle, the tuning, the node order and policies that draw", [flags](std::uint64_t seed) {
        flags->keyed.emplace_back("seed", std::to_string(static_cast<std::int64_t>(seed)));
    })->default_str(default_of("seed"));
    command.add_flag_callback(
        "--departures", [flags] { flags->keyed.emplace_back("departures", "true"); },
        "Use the trace's creation and deletion times");
    command.add_flag_callback(
        "--skip-bad-rows", [flags] { flags->keyed.emplace_back("skip_bad_rows", "true"); },
        "Count and list rows of the pod list that cannot be read, instead of ending there");
    command.add_flag_callback(
        "--trace", [flags] { flags->keyed.emplace_back("trace", "true"); },
        "Also write trace.json, which Perfetto (https://ui.perfetto.dev) opens");
    command.add_option("--set", flags->settings, "Set a configuration key; may be repeated; flags win over it")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->take_all();
    command.add_flag("--json", flags->json, "Print the summary as JSON");
}

expected<run_plan> plan_from(const run_flags& flags) {
    scenario study;
    if (!flags.scenario.empty()) {
        auto read = read_scenario(flags.scenario);
        if (!read) return unexpected(std::move(read.error()));
        study = std::move(*read);
        if (study.study) {
            return unexpected(error{.code = error_code::unsupported,
                                    .where = flags.scenario,
                                    .field = "study",
                                    .value = "",
                                    .expected = "a scenario of one run; those of several are for vgpusim study"});
        }
    }
    for (const std::string& setting : flags.settings) {
        if (auto taken = take_set(study.config, setting); !taken) return unexpected(std::move(taken.error()));
    }
    for (const auto& [key, value] : flags.keyed) {
        if (auto taken = set_key(study.config, key, value); !taken) return unexpected(std::move(taken.error()));
    }
    std::vector<named_input> inputs{{"SCENARIO", flags.scenario}};
    for (const auto& [key, path] : paths_of(study.config)) inputs.push_back({key, path});
    if (auto once = read_stdin_once(inputs); !once) return unexpected(once.error());
    run_plan plan{.run = study.config, .baseline = std::nullopt};
    if (study.baseline.empty()) return plan;
    plan.baseline = with_settings(study.config, study.baseline);
    for (const auto& [key, path] : paths_of(plan.run)) {
        if (path != vgpuformats::standard_input) continue;
        return unexpected(error{.code = error_code::unsupported,
                                .where = "",
                                .field = "baseline",
                                .value = path,
                                .expected = "lists that are files, because a baseline reads them again"});
    }
    return plan;
}

expected<void> keep_inputs(const run_flags& flags, const run_config& config, const loaded_input& loaded,
                           const std::vector<std::string>& outputs) {
    std::vector<std::string> inputs;
    for (const input_file& file : loaded.files) inputs.push_back(file.path);
    if (!flags.scenario.empty()) inputs.push_back(flags.scenario);
    return vgpuformats::keep_inputs(config.out, outputs, inputs);
}

tl::expected<void, vgpuformats::write_failure> write_texts(const std::string& folder, const named_texts& files) {
    std::vector<vgpuformats::output_file> outputs;
    std::vector<std::string> names;
    for (const auto& [name, text] : files) {
        outputs.push_back({.name = name, .content = text});
        names.push_back(name);
    }
    const auto stale = stale_outputs(folder, names); // while what was written before still says what it wrote
    if (auto written = vgpuformats::write_files(folder, outputs); !written) return written;
    return vgpuformats::remove_files(folder, stale);
}

const std::string& text_of(const named_texts& files, std::string_view name) {
    const auto file = std::ranges::find(files, name, [](const auto& named) { return std::string_view{named.first}; });
    VGA_ASSERT(file != files.end(), "a file that is asked for by name is among those written");
    return file->second;
}

void print_offered_load(const run_record& record) {
    if (!record.offered_load) return;
    const auto span = (record.last_arrival - record.first_arrival).count() / vgpualloc::ticks_per_second.count();
    fmt::print("offered load   {:.4f} of all GPUs in the {} s of arrivals: arrival rate x duration x GPUs asked for\n",
               *record.offered_load, span);
    if (record.config.tune > 0.0) {
        fmt::print("tune           {} times all GPUs are asked for, which is no load where pods leave\n",
                   record.config.tune);
    }
}

void print_warnings(const loaded_input& loaded) {
    for (const error& warning : loaded.warnings) fmt::print(stderr, "vgpusim: warning: {}\n", warning.message());
    if (const std::int64_t requests = loaded.input.requested.uneven_requests(); requests > 0) {
        fmt::print(stderr,
                   "vgpusim: note: {} of {} different requests may get devices of which the largest has more than 1.5 "
                   "times the mean memory; what they ask for counts by the largest\n",
                   requests, loaded.input.requested.size());
    }
}

void print_warnings(const run_record& record) {
    if (!record.result.served_beyond_total) return;
    fmt::print(stderr,
               "vgpusim: warning: under {} pods ran that ask for more than all devices have: what was served counts as "
               "100 % then\n",
               vgpualloc::printable(record.config.policy));
}

std::string inputs_in_words(const loaded_input& loaded) {
    std::string text;
    for (const input_file& file : loaded.files) text += (text.empty() ? "" : ", ") + vgpualloc::printable(file.path);
    return text;
}

simulation::progress progress_bar(std::string label, std::size_t total, const char* units) {
    if (isatty(STDERR_FILENO) == 0 || total == 0) return {};
    const auto begin = std::chrono::steady_clock::now();
    return [label = std::move(label), total, units, begin](std::size_t done) {
        constexpr std::size_t width = 30;
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        const double rate = seconds > 0.0 ? static_cast<double>(done) / seconds : 0.0;
        const double left = rate > 0.0 ? static_cast<double>(total - done) / rate : 0.0;
        const std::size_t filled = width * done / total;
        fmt::print(stderr, "\r{} [{:#<{}}{:.<{}}] {:3}%  {:.0f} {}/s  {:.0f} s left \x1b[K", label, "", filled, "",
                   width - filled, 100 * done / total, rate, units, left);
        std::fflush(stderr);
    };
}

void end_progress() {
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
}

} // namespace vgpusim::cli
