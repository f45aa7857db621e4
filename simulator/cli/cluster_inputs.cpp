// Inputs that several commands take.
#include "cluster_inputs.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <CLI/CLI.hpp>

#include "vgpualloc/kube/device_config.hpp"
#include "vgpuformats/input.hpp"

namespace vgpusim::cli {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;

void add_catalog_files(CLI::App& command, std::vector<std::string>& to) {
    command
        .add_option("--file", to,
                    "Catalog file that adds or replaces models (docs/catalog.md); repeatable; - is standard input")
        ->type_name("FILE")
        ->allow_extra_args(false);
}

void add_dialect_files(CLI::App& command, dialect_files& to) {
    command
        .add_option("--config", to.config,
                    "Device configuration (device-config.yaml, or its ConfigMap): resource names, NPUs, geometries; "
                    "repeatable, each adds")
        ->type_name("FILE")
        ->allow_extra_args(false);
    add_catalog_files(command, to.catalog);
}

expected<void> read_stdin_once(const std::vector<named_input>& inputs) {
    const named_input* reader = nullptr;
    for (const named_input& input : inputs) {
        if (input.path != vgpuformats::standard_input) continue;
        if (reader != nullptr) {
            return unexpected(
                error{.code = error_code::duplicate,
                      .where = input.option,
                      .field = "",
                      .value = input.path,
                      .expected = "a file: standard input can be read once, and is by " + reader->option});
        }
        reader = &input;
    }
    return {};
}

void add_inputs(std::vector<named_input>& to, const std::string& option, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) to.push_back({option, path});
}

void add_inputs(std::vector<named_input>& to, const dialect_files& files) {
    add_inputs(to, "--file", files.catalog);
    add_inputs(to, "--config", files.config);
}

expected<vgpualloc::hardware_catalog> load_catalog(const std::vector<std::string>& files) {
    auto catalog = vgpualloc::built_in_catalog();
    for (const std::string& path : files) {
        const auto input = vgpuformats::read_input(path);
        if (!input) return unexpected(input.error());
        auto merged = vgpualloc::merge_file(catalog, input->text, path);
        if (!merged) return merged;
        catalog = *std::move(merged);
    }
    return catalog;
}

expected<vgpualloc::dialect_config> load_dialects(const dialect_files& files) {
    const auto catalog = load_catalog(files.catalog);
    if (!catalog) return unexpected(catalog.error());
    auto config = vgpualloc::make_dialect_config(*catalog);
    for (const std::string& path : files.config) {
        const auto input = vgpuformats::read_input(path);
        if (!input) return unexpected(input.error());
        auto sum = vgpualloc::kube::read_device_config(std::move(config), input->text, path);
        if (!sum) return sum;
        config = *std::move(sum);
    }
    return config;
}

expected<std::vector<vgpualloc::kube::manifest>> load_objects(const std::vector<std::string>& files) {
    std::vector<vgpualloc::kube::manifest> all;
    for (const std::string& path : files) {
        const auto input = vgpuformats::read_input(path);
        if (!input) return unexpected(input.error());
        auto objects = vgpualloc::kube::read_manifests(input->text, path);
        if (!objects) return objects;
        std::ranges::move(*objects, std::back_inserter(all));
    }
    return all;
}

} // namespace vgpusim::cli
