// vgpusim catalog: the GPUs and NPUs that can be cut, and into what.
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "vgpualloc/explain/catalog.hpp"

namespace vgpusim::cli {

namespace {

namespace explaining = vgpualloc::explaining;

struct options {
    std::string kind; ///< mig, ascend, or empty: both
    std::string name; ///< of a model or chip; empty: all
    std::vector<std::string> files;
    bool json = false;
};

/// Leaves of the catalog what was asked for. Sources are kept: the entries name them.
[[nodiscard]] vgpualloc::expected<vgpualloc::hardware_catalog> chosen_part(vgpualloc::hardware_catalog catalog,
                                                                           const options& chosen) {
    if (chosen.kind == "mig") catalog.ascend = {};
    if (chosen.kind == "ascend") catalog.mig = {};
    if (chosen.name.empty()) return catalog;
    if (chosen.kind == "mig") {
        const auto model = find_model(catalog.mig, chosen.name);
        if (!model) return vgpualloc::unexpected(model.error());
        catalog.mig = {.models = {**model}, .sources = catalog.mig.sources, .left_out = {}};
    } else {
        const auto chip = find_chip(catalog.ascend, chosen.name);
        if (!chip) return vgpualloc::unexpected(chip.error());
        vgpualloc::ascend_catalog only;
        only.chips.push_back(**chip);
        only.sources = catalog.ascend.sources;
        catalog.ascend = std::move(only);
    }
    return catalog;
}

void print(const vgpualloc::hardware_catalog& part, const options& chosen) {
    const bool one = !chosen.name.empty();
    if (chosen.json) {
        fmt::print("{}", explaining::catalog_file(part));
    } else if (one && chosen.kind == "mig") {
        fmt::print("{}", explaining::describe(part.mig.models.front()));
    } else if (one) {
        fmt::print("{}", explaining::describe(part.ascend.chips.front()));
    } else if (chosen.kind == "mig") {
        fmt::print("{}", explaining::list_models(part.mig));
    } else if (chosen.kind == "ascend") {
        fmt::print("{}\n{}", explaining::list_chips(part.ascend), explaining::describe(part.ascend.mindcluster));
    } else {
        fmt::print("{}\n{}", explaining::list_models(part.mig), explaining::list_chips(part.ascend));
    }
}

int run(const options& chosen) {
    std::vector<named_input> inputs;
    add_inputs(inputs, "--file", chosen.files);
    if (const auto once = read_stdin_once(inputs); !once) return report_error(once.error());
    auto catalog = load_catalog(chosen.files);
    if (!catalog) return report_error(catalog.error());
    const auto part = chosen_part(*std::move(catalog), chosen);
    if (!part) return report_error(part.error());
    print(*part, chosen);
    return exit_done;
}

} // namespace

void add_catalog(CLI::App& app, int& exit_code) {
    auto chosen = std::make_shared<options>();
    CLI::App* command =
        app.add_subcommand("catalog", "Show GPUs with MIG and Ascend NPUs: profiles, placements, templates");
    command->add_option("KIND", chosen->kind, "mig or ascend; default: both")
        ->type_name("")
        ->check(CLI::IsMember({"mig", "ascend"}).description(""));
    command->add_option("NAME", chosen->name, "A model or chip by name, card type, PCI id or what the driver prints")
        ->type_name("");
    add_catalog_files(*command, chosen->files);
    command->add_flag("--json", chosen->json, "As a catalog file");
    command->callback([chosen, &exit_code] { exit_code = run(*chosen); });
}

} // namespace vgpusim::cli
