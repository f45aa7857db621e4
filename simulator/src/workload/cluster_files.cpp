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

std::string version_of(const std::vector<std::string>& files, const input_reader& from) {
    if (from.source().kept() == nullptr || from.keeps_records()) return {};
    std::string version;
    for (const std::string& path : files) {
        const std::string own = from.source().version_of(path);
        if (own.empty()) return {};
        version += path + " " + own + "\n";
    }
    return version;
}

expected<shared_objects> load_shared_objects(const std::vector<std::string>& files, input_reader& from) {
    using list = std::vector<vgpualloc::kube::manifest>;
    auto* const values = from.source().kept();
    const std::string version = version_of(files, from);
    const std::string key = "objects " + vgpuformats::joined(files);
    if (!version.empty()) {
        if (auto objects = values->find<list>(key, version)) return objects;
    }
    auto objects = load_objects(files, from);
    if (!objects) return unexpected(std::move(objects).error());
    shared_objects shared = std::make_shared<const list>(*std::move(objects));
    if (!version.empty()) values->keep(key, version, shared);
    return shared;
}

expected<void> check_nodes(const std::vector<vgpualloc::kube::manifest>& objects,
                           const std::vector<std::string>& files) {
    const auto may_be_node = [](const auto& object) { return object.node || !object.problems.empty(); };
    if (std::ranges::any_of(objects, may_be_node)) return {};
    return unexpected(bad_input(error_code::missing, "no nodes in " + vgpuformats::joined(files),
                                "kubectl get nodes,pods -A -o json gives both"));
}

} // namespace vgpusim
