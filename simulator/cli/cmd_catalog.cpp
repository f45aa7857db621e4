// vgpusim catalog: the GPUs and NPUs that can be cut, into what, and what boards draw.
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "vgpualloc/explain/catalog.hpp"
#include "vgpuformats/some_names.hpp"

namespace vgpusim::cli {

namespace {

namespace explaining = vgpualloc::explaining;

struct catalog_options {
    std::string kind; ///< mig, ascend, power, or empty: all
    std::string name; ///< of a model or chip; empty: all
    std::vector<std::string> files;
    bool json = false;
};

/// Leaves of the catalog what was asked for. Sources are kept: the entries name them.
[[nodiscard]] vgpualloc::hardware_catalog chosen_part(vgpualloc::hardware_catalog catalog,
                                                      const catalog_options& chosen) {
    if (!chosen.kind.empty() && chosen.kind != "mig") catalog.mig = {};
    if (!chosen.kind.empty() && chosen.kind != "ascend") catalog.ascend = {};
    if (!chosen.kind.empty() && chosen.kind != "power") catalog.power = {};
    if (chosen.name.empty()) return catalog;
    if (chosen.kind == "mig") {
        const auto model = or_end(find_model(catalog.mig, chosen.name));
        catalog.mig = {.models = {*model}, .sources = catalog.mig.sources, .left_out = {}};
    } else if (chosen.kind == "ascend") {
        const auto chip = or_end(find_chip(catalog.ascend, chosen.name));
        vgpualloc::ascend_catalog only;
        only.chips.push_back(*chip);
        only.sources = catalog.ascend.sources;
        catalog.ascend = std::move(only);
    } else {
        const vgpualloc::device_power* board = find_power(catalog.power, chosen.name);
        if (board == nullptr) {
            end_with(bad_value(error_code::unknown_name, "board", chosen.name,
                               "one board of " +
                                   vgpuformats::joined(catalog.power.devices, &vgpualloc::device_power::name)));
        }
        catalog.power = {.devices = {*board}, .sources = catalog.power.sources};
    }
    return catalog;
}

void print(const vgpualloc::hardware_catalog& part, const catalog_options& chosen) {
    const bool one = !chosen.name.empty();
    if (chosen.json) {
        fmt::print("{}", explaining::catalog_file(part));
    } else if (one && chosen.kind == "mig") {
        fmt::print("{}", explaining::describe(part.mig.models.front()));
    } else if (one && chosen.kind == "ascend") {
        fmt::print("{}", explaining::describe(part.ascend.chips.front()));
    } else if (one) {
        fmt::print("{}", explaining::describe(part.power.devices.front()));
    } else {
        if (!part.mig.models.empty()) fmt::print("{}", explaining::list_models(part.mig));
        if (chosen.kind.empty()) fmt::print("\n");
        if (!part.ascend.chips.empty()) fmt::print("{}", explaining::list_chips(part.ascend));
        if (chosen.kind == "ascend") fmt::print("\n{}", explaining::describe(part.ascend.mindcluster));
        if (chosen.kind.empty()) fmt::print("\n");
        if (!part.power.devices.empty()) fmt::print("{}", explaining::list_power(part.power));
    }
}

void run(const catalog_options& chosen) {
    std::vector<named_input> inputs;
    add_inputs(inputs, "--file", chosen.files);
    read_stdin_once(inputs);
    input_reader from{files_here()};
    print(chosen_part(or_end(load_catalog(chosen.files, from)), chosen), chosen);
}

} // namespace

void add_catalog(CLI::App& app) {
    auto chosen = std::make_shared<catalog_options>();
    CLI::App* command = app.add_subcommand(
        "catalog", "Show GPUs with MIG and Ascend NPUs: profiles, placements, templates; and what boards draw");
    command->add_option("KIND", chosen->kind, "mig, ascend or power; default: all")
        ->type_name("")
        ->check(CLI::IsMember({"mig", "ascend", "power"}).description(""));
    command->add_option("NAME", chosen->name, "A model or chip by name, card type, PCI id or what the driver prints")
        ->type_name("");
    add_catalog_files(*command, chosen->files);
    command->add_flag("--json", chosen->json, "As a catalog file");
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
