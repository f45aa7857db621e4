// vgpusim policies, modes, dialects: the names one can use, one per line, with a sentence.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpufacade/option_table.hpp"
#include "vgpuformats/json.hpp"
#include "vgpusim/engine/volcano_placer.hpp"

namespace vgpusim::cli {

namespace {

using listing = std::vector<std::pair<std::string, std::string>>;

listing policies() {
    listing list;
    for (const auto& entry : vgpualloc::all_policies()) {
        std::string summary{entry.summary};
        if (!entry.advice.empty()) summary.append(": ").append(entry.advice);
        list.emplace_back(entry.name, std::move(summary));
    }
    list.emplace_back(vgpusim::volcano_policy, vgpusim::volcano_summary);
    list.emplace_back("weighted:NAME=WEIGHT,…", "sum of the named policies' scores, each times its weight");
    return list;
}

listing modes() {
    listing list;
    for (const auto& entry : vgpualloc::mode_list) list.emplace_back(entry.name, entry.summary);
    return list;
}

listing dialects() {
    listing list;
    for (const auto& entry : vgpualloc::dialect_list) list.emplace_back(entry.name, entry.summary);
    return list;
}

void print(const listing& list, bool json) {
    if (json) {
        document entries = document::list();
        for (const auto& [name, summary] : list) {
            entries.push_back(document::map({{"name", name}, {"summary", summary}}));
        }
        fmt::print("{}\n", vgpuformats::print_json(entries, 2));
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

void add_listings(CLI::App& app) {
    add(app, "policies", "List the policies", policies);
    add(app, "modes", "List the sharing modes", modes);
    add(app, "dialects", "List the dialects", dialects);
    auto json = std::make_shared<bool>(false);
    CLI::App* options = app.add_subcommand("options", "List the options of a run: key, type, default, meaning");
    options->add_flag("--json", *json, "As JSON, also with the values that each may have, and its flag");
    options->callback(
        [json] { fmt::print("{}", *json ? vgpufacade::option_table_json() : vgpufacade::option_table_text()); });
}

} // namespace vgpusim::cli
