// Reading the files that describe a cluster.
#include "vgpusim/workload/cluster_files.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "vgpualloc/kube/device_config.hpp"
#include "vgpualloc/kube/unread_members.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/some_names.hpp"

namespace vgpusim {

expected<vgpualloc::hardware_catalog> load_catalog(const std::vector<std::string>& files, input_reader& from) {
    auto catalog = vgpualloc::built_in_catalog();
    for (const std::string& path : files) {
        const auto input = from.read(path);
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
                                                  const std::vector<std::string>& configurations, input_reader& from) {
    auto config = vgpualloc::make_dialect_config(catalog);
    for (const std::string& path : configurations) {
        const auto input = from.read(path);
        if (!input) return unexpected(input.error());
        auto sum = vgpualloc::kube::read_device_config(std::move(config), input->text, path);
        if (!sum) return sum;
        config = *std::move(sum);
    }
    return config;
}

expected<vgpualloc::dialect_config> load_dialects(const dialect_files& files, input_reader& from) {
    const auto catalog = load_catalog(files.catalog, from);
    if (!catalog) return unexpected(catalog.error());
    return load_dialects(*catalog, files.config, from);
}

expected<std::vector<vgpualloc::kube::manifest>> load_objects(const std::vector<std::string>& files,
                                                              input_reader& from) {
    std::vector<vgpualloc::kube::manifest> all;
    for (const std::string& path : files) {
        const auto input = from.read(path);
        if (!input) return unexpected(vgpualloc::kube::with_export_advice(input.error()));
        auto objects = vgpualloc::kube::read_manifests(input->text, path, from.stop());
        if (!objects) return objects;
        all.insert(all.end(), std::make_move_iterator(objects->begin()), std::make_move_iterator(objects->end()));
    }
    return all;
}

expected<void> check_nodes(const std::vector<vgpualloc::kube::manifest>& objects,
                           const std::vector<std::string>& files) {
    const auto may_be_node = [](const auto& object) { return object.node || !object.problems.empty(); };
    if (std::ranges::any_of(objects, may_be_node)) return {};
    return unexpected(bad_input(error_code::missing, "no nodes in " + vgpuformats::joined(files),
                                "kubectl get nodes,pods -A -o json gives both"));
}

} // namespace vgpusim
