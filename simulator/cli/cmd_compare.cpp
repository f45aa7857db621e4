// vgpusim compare: the same workload under several policies, side by side.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "run_flags.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpuformats/files.hpp"
#include "vgpureport/report.hpp"

namespace vgpusim::cli {

namespace {

/// A policy's spelling as a folder name.
std::string folder_of(std::string policy) {
    for (char& c : policy) {
        const bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
        if (!plain) c = '-';
    }
    return policy;
}

double allocation_pct(const run_record& record) {
    return record.total_milli == 0
               ? 0.0
               : 100.0 * static_cast<double>(record.last.allocated_milli) / static_cast<double>(record.total_milli);
}

/// With arrivals only, the state at the end says it; where pods leave, the mean over time does.
double compared_pct(const run_record& record, bool over_time) {
    if (!over_time || record.result.samples.size() < 2) return allocation_pct(record);
    const auto& samples = record.result.samples;
    double area = 0.0;
    for (std::size_t i = 1; i < samples.size(); ++i) {
        area += static_cast<double>(samples[i - 1].allocated_milli) *
                static_cast<double>((samples[i].time - samples[i - 1].time).count());
    }
    const auto span = static_cast<double>((samples.back().time - samples.front().time).count());
    return span > 0.0 && record.total_milli > 0 ? 100.0 * area / span / static_cast<double>(record.total_milli)
                                                : allocation_pct(record);
}

void print_table(const std::vector<run_record>& records, const std::string& out) {
    const bool over_time = std::ranges::any_of(records, [](const run_record& r) { return r.result.finished > 0; });
    const char* measure = over_time ? "mean alloc %" : "allocation %";
    fmt::print("{:<28} {:>12} {:>16} {:>10} {:>10} {:>14}\n", "policy", measure, "unusable GPUs", "placed", "failed",
               "decisions/s");
    for (const run_record& each : records) {
        fmt::print("{:<28} {:>12.2f} {:>16.2f} {:>10} {:>10} {:>14.0f}\n", each.config.policy,
                   compared_pct(each, over_time), static_cast<double>(each.last.unusable_micro) / 1e9,
                   each.result.placed, each.result.failed, each.result.decisions_per_s());
    }
    std::vector<const run_record*> ranked;
    for (const run_record& each : records) ranked.push_back(&each);
    std::ranges::stable_sort(ranked, std::greater{},
                             [over_time](const run_record* r) { return compared_pct(*r, over_time); });
    const double lead = compared_pct(*ranked[0], over_time) - compared_pct(*ranked[1], over_time);
    const char* what = over_time ? "of all GPU time" : "of all GPUs";
    constexpr double lead_shown_min = 0.005; // below that it would read 0.00
    if (lead < lead_shown_min) {
        fmt::print("\n{} and {} allocate the same share {}.\n", ranked[0]->config.policy, ranked[1]->config.policy,
                   what);
    } else {
        fmt::print("\n{} wins: it allocates {:.2f} percentage points {} more than {} ({:.1f} GPUs).\n",
                   ranked[0]->config.policy, lead, what, ranked[1]->config.policy,
                   lead / 100.0 * static_cast<double>(ranked[0]->gpus));
    }
    fmt::print("report: {}/report.html\n", out);
}

vgpualloc::expected<void> check_policies(const std::vector<std::string>& policies) {
    std::set<std::string> folders;
    const auto refuse = [](const std::string& value, const char* text) {
        return vgpualloc::unexpected(vgpualloc::error{.code = vgpualloc::error_code::malformed,
                                                      .where = "",
                                                      .field = "--policy",
                                                      .value = value,
                                                      .expected = text});
    };
    if (policies.size() < 2) return refuse("", "two policies or more to compare, each with its own --policy");
    for (const std::string& each : policies) {
        if (!folders.insert(folder_of(each)).second) return refuse(each, "policies that differ");
    }
    return {};
}

/// What can be refused at once is refused before the first replay, which may take long.
vgpualloc::expected<void> check_before_replays(const run_flags& flags, const run_config& config,
                                               const loaded_input& loaded, const std::vector<std::string>& policies) {
    std::vector<std::string> names{"compare.json", "report.html"};
    for (const std::string& policy : policies) {
        if (const auto made = vgpualloc::make_policy(policy, {.target = {}, .seed = 0}); !made) {
            return vgpualloc::unexpected(made.error());
        }
        for (const char* file : {"/pods.csv", "/timeseries.csv", "/summary.json"})
            names.push_back(folder_of(policy) + file);
    }
    return keep_inputs(flags, config, loaded, names);
}

int compare(const run_flags& flags, const std::vector<std::string>& policies) {
    if (const auto checked = check_policies(policies); !checked) return report_error(checked.error());
    const auto config = config_from(flags);
    if (!config) return report_error(config.error());
    const auto loaded = load_input(*config);
    if (!loaded) return report_error(loaded.error());
    if (const auto checked = check_before_replays(flags, *config, *loaded, policies); !checked) {
        return report_error(checked.error());
    }
    std::vector<run_record> records;
    std::vector<vgpureport::report_run> shown;
    for (const std::string& policy : policies) {
        run_config one = *config;
        one.policy = policy;
        auto record = replay(one, *loaded, progress_bar(policy, loaded->input.pods.size()));
        end_progress();
        if (!record) return report_error(record.error());
        shown.push_back(describe(*record, *loaded));
        records.push_back(std::move(*record));
    }
    std::vector<std::pair<std::string, std::string>> texts;
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const run_record& each : records) {
        const std::string folder = folder_of(each.config.policy) + "/";
        std::string summary = summary_json(each, *loaded);
        all.push_back(nlohmann::ordered_json::parse(summary));
        texts.emplace_back(folder + "pods.csv", pods_csv(each, loaded->input));
        texts.emplace_back(folder + "timeseries.csv", timeseries_csv(each));
        texts.emplace_back(folder + "summary.json", std::move(summary));
    }
    texts.emplace_back("compare.json", all.dump(2) + "\n");
    texts.emplace_back("report.html", vgpureport::render_report(shown));
    std::vector<vgputraces::output_file> files;
    for (const auto& [name, text] : texts) files.push_back({.name = name, .content = text});
    if (const auto written = vgputraces::write_files(config->out, files); !written)
        return report_error(written.error());
    if (flags.json) {
        fmt::print("{}\n", all.dump(2));
    } else {
        print_table(records, config->out);
    }
    return exit_done;
}

} // namespace

void add_compare(CLI::App& app, int& exit_code) {
    auto flags = std::make_shared<run_flags>();
    auto policies = std::make_shared<std::vector<std::string>>();
    CLI::App* command = app.add_subcommand("compare", "Replay the same workload under several policies, side by side");
    add_run_flags(*command, flags);
    command->add_option("--policy", *policies, "A policy; repeat for each")->expected(1)->take_all();
    command->callback([flags, policies, &exit_code] { exit_code = compare(*flags, *policies); });
}

} // namespace vgpusim::cli
