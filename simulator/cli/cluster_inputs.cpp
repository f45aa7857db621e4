// Inputs that several commands take.
#include "cluster_inputs.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <CLI/CLI.hpp>

#include "vgpualloc/kube/device_config.hpp"
#include "vgpuformats/files.hpp"

namespace vgpusim::cli {

using vgpualloc::expected;
using vgpualloc::unexpected;

void add_catalog_files(CLI::App& command, std::vector<std::string>& to) {
    command.add_option("--file", to, "Catalog file that adds or replaces models (docs/catalog.md); repeatable")
        ->allow_extra_args(false);
}

void add_dialect_files(CLI::App& command, dialect_files& to) {
    command
        .add_option("--config", to.config,
                    "Device configuration (device-config.yaml, or its ConfigMap): resource names, NPUs, geometries; "
                    "repeatable, each adds")
        ->allow_extra_args(false);
    add_catalog_files(command, to.catalog);
}

expected<vgpualloc::hardware_catalog> load_catalog(const std::vector<std::string>& files) {
    auto catalog = vgpualloc::built_in_catalog();
    for (const std::string& path : files) {
        const auto text = vgpuformats::read_file(path);
        if (!text) return unexpected(text.error());
        auto merged = vgpualloc::merge_file(catalog, *text, path);
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
        const auto text = vgpuformats::read_file(path);
        if (!text) return unexpected(text.error());
        auto sum = vgpualloc::kube::read_device_config(std::move(config), *text, path);
        if (!sum) return sum;
        config = *std::move(sum);
    }
    return config;
}

expected<std::vector<vgpualloc::kube::manifest>> load_objects(const std::vector<std::string>& files) {
    std::vector<vgpualloc::kube::manifest> all;
    for (const std::string& path : files) {
        const auto text = vgpuformats::read_file(path);
        if (!text) return unexpected(text.error());
        auto objects = vgpualloc::kube::read_manifests(*text, path);
        if (!objects) return objects;
        std::ranges::move(*objects, std::back_inserter(all));
    }
    return all;
}

} // namespace vgpusim::cli
