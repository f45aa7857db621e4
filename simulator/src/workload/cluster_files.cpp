// Reading the files that describe a cluster.
#include "vgpusim/workload/cluster_files.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "vgpualloc/kube/device_config.hpp"
#include "vgpualloc/kube/unread_members.hpp"
#include "vgpuformats/json.hpp"

namespace vgpusim {

using vgpualloc::expected;
using vgpualloc::unexpected;

expected<vgpuformats::input_text> read_recorded(const std::string& path, std::vector<input_file>* records,
                                                std::size_t bytes_max) {
    auto input = vgpuformats::read_input(path, {.bytes_max = bytes_max, .hashed = records != nullptr});
    if (input && records != nullptr) records->push_back({.path = input->name, .sha256 = input->sha256});
    return input;
}

expected<vgpualloc::hardware_catalog> load_catalog(const std::vector<std::string>& files,
                                                   std::vector<input_file>* records) {
    auto catalog = vgpualloc::built_in_catalog();
    for (const std::string& path : files) {
        const auto input = read_recorded(path, records);
        if (!input) return unexpected(input.error());
        const auto file = vgpuformats::parse_json(input->text, path);
        if (!file) return unexpected(file.error());
        auto merged = vgpualloc::merge_file(catalog, *file, path);
        if (!merged) return merged;
        catalog = *std::move(merged);
    }
    return catalog;
}

expected<vgpualloc::dialect_config> load_dialects(const vgpualloc::hardware_catalog& catalog,
                                                  const std::vector<std::string>& configurations,
                                                  std::vector<input_file>* records) {
    auto config = vgpualloc::make_dialect_config(catalog);
    for (const std::string& path : configurations) {
        const auto input = read_recorded(path, records);
        if (!input) return unexpected(input.error());
        auto sum = vgpualloc::kube::read_device_config(std::move(config), input->text, path);
        if (!sum) return sum;
        config = *std::move(sum);
    }
    return config;
}

expected<vgpualloc::dialect_config> load_dialects(const dialect_files& from, std::vector<input_file>* records) {
    const auto catalog = load_catalog(from.catalog, records);
    if (!catalog) return unexpected(catalog.error());
    return load_dialects(*catalog, from.config, records);
}

expected<std::vector<vgpualloc::kube::manifest>> load_objects(const std::vector<std::string>& files,
                                                              std::vector<input_file>* records) {
    std::vector<vgpualloc::kube::manifest> all;
    for (const std::string& path : files) {
        const auto input = read_recorded(path, records);
        if (!input) return unexpected(vgpualloc::kube::with_export_advice(input.error()));
        auto objects = vgpualloc::kube::read_manifests(input->text, path);
        if (!objects) return objects;
        all.insert(all.end(), std::make_move_iterator(objects->begin()), std::make_move_iterator(objects->end()));
    }
    return all;
}

} // namespace vgpusim
