// Shared flags and the progress display.
#include "run_flags.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "vgpualloc/core/config.hpp"
#include "vgpuformats/files.hpp"

namespace vgpusim::cli {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;

void add_run_flags(CLI::App& command, const std::shared_ptr<run_flags>& flags) {
    const auto add_keyed = [&command, flags](const std::string& flag, const std::string& key, const std::string& help) {
        command.add_option_function<std::string>(
            flag, [flags, key](const std::string& value) { flags->keyed.emplace_back(key, value); }, help);
    };
    command.add_option("SCENARIO", flags->scenario, "A scenario file (JSON); flags override it");
    add_keyed("--format", "format", "Format of the node and pod lists: openb");
    add_keyed("--nodes", "nodes", "Node list; a bare name is looked for in $VGPUALLOC_TRACES first");
    add_keyed("--pods", "pods", "Pod list, likewise");
    add_keyed("--device-policy", "device_policy",
              "Policy for the choice of devices on a node; default: the same policy");
    add_keyed("--mode", "mode", "How every GPU is shared (vgpusim modes)");
    add_keyed("--tune", "tune", "Copy or drop pods until they ask for this multiple of all GPUs; 0 = leave as is");
    add_keyed("--seed", "seed", "Of the shuffle, the tuning, the node order and drawn policies; default 42");
    add_keyed("--sample-interval-s", "sample_interval_s", "Seconds between rows of timeseries.csv; 0 = every event");
    add_keyed("--out", "out", "Folder for the output files");
    command.add_flag_callback(
        "--departures", [flags] { flags->keyed.emplace_back("departures", "true"); },
        "Use the trace's creation and deletion times");
    command.add_option("--set", flags->settings, "Set a configuration key, KEY=VALUE; may be repeated")
        ->allow_extra_args(false)
        ->take_all();
    command.add_flag("--json", flags->json, "Print the summary as JSON");
}

expected<run_config> config_from(const run_flags& flags) {
    run_config config;
    if (!flags.scenario.empty()) {
        auto read = read_scenario(flags.scenario);
        if (!read) return read;
        config = std::move(*read);
    }
    for (const std::string& setting : flags.settings) {
        const std::size_t equals = setting.find('=');
        if (equals == std::string::npos) {
            return unexpected(error{.code = error_code::malformed,
                                    .where = "",
                                    .field = "--set",
                                    .value = setting,
                                    .expected = "KEY=VALUE"});
        }
        const std::string_view text = setting;
        if (auto taken = set_key(config, text.substr(0, equals), text.substr(equals + 1)); !taken) {
            return unexpected(std::move(taken.error()));
        }
    }
    for (const auto& [key, value] : flags.keyed) {
        if (auto taken = set_key(config, key, value); !taken) return unexpected(std::move(taken.error()));
    }
    return config;
}

expected<void> keep_inputs(const run_flags& flags, const run_config& config, const loaded_input& loaded,
                           const std::vector<std::string>& outputs) {
    std::vector<std::string> inputs;
    for (const input_file& file : loaded.files) inputs.push_back(file.path);
    if (!flags.scenario.empty()) inputs.push_back(flags.scenario);
    return vgpuformats::keep_inputs(config.out, outputs, inputs);
}

expected<void> write_texts(const std::string& folder, const named_texts& files) {
    std::vector<vgpuformats::output_file> outputs;
    for (const auto& [name, text] : files) outputs.push_back({.name = name, .content = text});
    return vgpuformats::write_files(folder, outputs);
}

const std::string& text_of(const named_texts& files, std::string_view name) {
    const auto file = std::ranges::find(files, name, [](const auto& named) { return std::string_view{named.first}; });
    VGA_ASSERT(file != files.end(), "a file that is asked for by name is among those written");
    return file->second;
}

simulation::progress progress_bar(std::string label, std::size_t total) {
    if (isatty(STDERR_FILENO) == 0 || total == 0) return {};
    const auto begin = std::chrono::steady_clock::now();
    return [label = std::move(label), total, begin](std::size_t done) {
        constexpr std::size_t width = 30;
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        const double rate = seconds > 0.0 ? static_cast<double>(done) / seconds : 0.0;
        const double left = rate > 0.0 ? static_cast<double>(total - done) / rate : 0.0;
        const std::size_t filled = width * done / total;
        fmt::print(stderr, "\r{} [{:#<{}}{:.<{}}] {:3}%  {:.0f} pods/s  {:.0f} s left \x1b[K", label, "", filled, "",
                   width - filled, 100 * done / total, rate, left);
        std::fflush(stderr);
    };
}

void end_progress() {
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
}

} // namespace vgpusim::cli
