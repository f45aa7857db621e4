// vgpusim policies, modes, dialects: the names one can use, one per line, with a sentence.
#include <memory>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands.hpp"
#include "vgpufacade/listings.hpp"
#include "vgpufacade/option_table.hpp"
#include "vgpuformats/json.hpp"

namespace vgpusim::cli {

namespace {

void print(std::string_view what, bool json) {
    const auto list = vgpufacade::listing_of(what);
    if (json) {
        document entries = document::list();
        for (const auto& [name, summary] : *list) {
            entries.push_back(document::map({{"name", name}, {"summary", summary}}));
        }
        fmt::print("{}\n", vgpuformats::print_json(entries, 2));
        return;
    }
    for (const auto& [name, summary] : *list) fmt::print("{:<22} {}\n", name, summary);
}

void add(CLI::App& app, const char* name, const char* help) {
    auto json = std::make_shared<bool>(false);
    CLI::App* command = app.add_subcommand(name, help);
    command->add_flag("--json", *json, "As JSON");
    command->callback([json, name] { print(name, *json); });
}

} // namespace

void add_listings(CLI::App& app) {
    add(app, "policies", "List the policies");
    add(app, "modes", "List the sharing modes");
    add(app, "dialects", "List the dialects");
    auto json = std::make_shared<bool>(false);
    CLI::App* options = app.add_subcommand("options", "List the options of a run: key, type, default, meaning");
    options->add_flag("--json", *json, "As JSON, also with the values that each may have, and its flag");
    options->callback(
        [json] { fmt::print("{}", *json ? vgpufacade::option_table_json() : vgpufacade::option_table_text()); });
}

} // namespace vgpusim::cli
