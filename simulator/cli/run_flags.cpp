// Shared flags and the progress display.
#include "run_flags.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpuformats/files.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpusim/study/formats.hpp"
#include "vgpusim/study/stale.hpp"

namespace vgpusim::cli {

namespace {

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
    const run_setting* const setting = find_setting(key);
    VGA_ASSERT(setting != nullptr, "flags set keys that there are");
    return setting->get(run_config{});
}

void take_set(run_config& config, const std::string& setting) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) {
        end_with(bad_value(error_code::malformed, "--set", setting, "KEY=VALUE"));
    }
    const std::string_view text = setting;
    or_end(set_key(config, text.substr(0, equals), text.substr(equals + 1)));
}

/// The flag of a setting, as the table has it.
void add_flag_of(CLI::App& command, const std::shared_ptr<run_flags>& flags, const run_setting& setting) {
    const std::string flag{setting.flag};
    const std::string key{setting.name};
    const std::string help = key == "format" ? formats_in_words() : std::string{setting.help};
    if (key == "seed") {
        add_seed(command, help, [flags](std::uint64_t seed) {
            flags->keyed.emplace_back("seed", std::to_string(static_cast<std::int64_t>(seed)));
        })->default_str(default_of("seed"));
    } else if (setting.type == setting_type::truth) {
        command.add_flag_callback(flag, [flags, key] { flags->keyed.emplace_back(key, "true"); }, help);
    } else {
        add_keyed_flag(command, flags, flag, key, std::string{setting.placeholder}, help);
    }
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
    for (const run_setting& setting : all_settings()) {
        if (!setting.flag.empty()) add_flag_of(command, flags, setting);
    }
    command.add_option("--set", flags->settings, "Set a configuration key; may be repeated; flags win over it")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->take_all();
    command.add_flag("--json", flags->json, "Print the summary as JSON");
}

run_plan plan_from(const run_flags& flags) {
    scenario study;
    if (!flags.scenario.empty()) {
        study = or_end(read_scenario(flags.scenario, files_here()));
        if (study.study) {
            end_with(bad_value(error_code::unsupported, "study", "",
                               "a scenario of one run; those of several are for vgpusim study")
                         .at(flags.scenario));
        }
    }
    for (const std::string& setting : flags.settings) take_set(study.config, setting);
    for (const auto& [key, value] : flags.keyed) or_end(set_key(study.config, key, value));
    std::vector<named_input> inputs{{"SCENARIO", flags.scenario}};
    for (const auto& [key, path] : paths_of(study.config)) inputs.push_back({key, path});
    read_stdin_once(inputs);
    run_plan plan{.run = study.config, .baseline = std::nullopt};
    if (study.baseline.empty()) return plan;
    plan.baseline = with_settings(study.config, study.baseline);
    for (const auto& [key, path] : paths_of(plan.run)) {
        if (path != vgpuformats::standard_input) continue;
        end_with(bad_value(error_code::unsupported, "baseline", path,
                           "lists that are files, because a baseline reads them again"));
    }
    return plan;
}

void keep_inputs(const run_flags& flags, const run_config& config, const loaded_input& loaded,
                 const std::vector<std::string>& outputs) {
    std::vector<std::string> inputs;
    for (const input_file& file : loaded.files) inputs.push_back(file.path);
    if (!flags.scenario.empty()) inputs.push_back(flags.scenario);
    or_end(vgpuformats::keep_inputs(config.out, outputs, inputs));
}

void write_texts(const std::string& folder, const named_texts& files) { or_end(write_outputs(folder, files)); }

const std::string& text_of(const named_texts& files, std::string_view name) {
    const auto file = std::ranges::find(files, name, [](const auto& named) { return std::string_view{named.first}; });
    VGA_ASSERT(file != files.end(), "a file that is asked for by name is among those written");
    return file->second;
}

void print_warnings(const loaded_input& loaded) {
    for (const error& warning : loaded.warnings) fmt::print(stderr, "vgpusim: warning: {}\n", warning.message());
    if (const std::int64_t requests = loaded.input.requested.uneven_requests(); requests > 0) {
        fmt::print(stderr,
                   "vgpusim: note: {} of {} different requests may get devices of which the largest has more than 1.5 "
                   "times the mean memory; they count as a share of the largest\n",
                   requests, loaded.input.requested.size());
    }
    if (const std::int64_t requests = loaded.input.requested.requests_for_uneven_units(); requests > 0) {
        fmt::print(stderr,
                   "vgpusim: note: {} of {} different requests may get whole devices or parts of some (replicas, MIG "
                   "instances); each unit is asked for as the largest of these, and served as the smallest\n",
                   requests, loaded.input.requested.size());
    }
}

void print_warnings(const run_record& record) {
    if (!record.result.served_beyond_total) return;
    fmt::print(stderr,
               "vgpusim: warning: under {} pods ran that ask for more than all devices have: what was served counts as "
               "100 % then\n",
               printable(record.config.policy));
}

std::string inputs_in_words(const loaded_input& loaded) {
    return vgpuformats::joined(loaded.files, [](const input_file& file) { return printable(file.path); });
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

std::function<void(std::string_view, std::size_t, std::size_t)> progress_bars() {
    if (isatty(STDERR_FILENO) == 0) return {};
    return [bar = simulation::progress{}, shown = std::string{}](std::string_view label, std::size_t done,
                                                                 std::size_t total) mutable {
        if (label != shown) bar = progress_bar(shown = label, total);
        if (bar) bar(done);
    };
}

void end_progress() {
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
}

} // namespace vgpusim::cli
