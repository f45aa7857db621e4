#include "question_templates.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "vgpuops/whatif/catalog_kinds.hpp"

namespace vgpuops::whatif {

expected<void> check_templates(const std::vector<kube::manifest>& objects, const question& asked) {
    std::vector<std::string> names;
    for (const kube::manifest& object : objects) {
        if (object.node) names.push_back(object.name);
    }
    std::int64_t templates = 0;
    for (const kube::manifest& object : asked.templates) {
        if (!object.node) continue;
        ++templates;
        if (std::ranges::find(names, object.name) != names.end()) {
            return unexpected(bad_value(error_code::duplicate, "metadata.name", object.name,
                                        "a template with a name that no node and no other template has")
                                  .at(object.place));
        }
        names.push_back(object.name);
    }
    if (asked.templates.empty() || templates > 0) return {};
    return unexpected(bad_value(error_code::missing, "", "", "an object of kind Node").at("--node-template"));
}

expected<question> with_more_templates(const std::vector<kube::manifest>& objects,
                                       const vgpualloc::dialect_set& dialects, question asked,
                                       std::vector<layout_change>& layouts) {
    const auto is_described_node = [](const node_addition& entry) { return is_described(entry.kind); };
    const bool has_described =
        is_described(asked.find_kind) || std::ranges::any_of(asked.wanted.added_nodes, is_described_node);
    if (!has_described && asked.wanted.modes.empty()) return asked;
    if (!asked.start) {
        auto start = read_start(objects, dialects, asked.stop);
        if (!start) return unexpected(std::move(start).error());
        asked.start = *std::move(start);
    }
    auto cut = by_node(asked.wanted.modes, objects, *asked.start);
    if (!cut) return unexpected(cut.error());
    asked.wanted.modes = std::move(cut->modes);
    layouts = std::move(cut->layouts);
    std::ranges::move(cut->objects, std::back_inserter(asked.templates));
    if (!has_described) return asked;
    std::vector<kube::manifest> named = objects;
    std::ranges::copy(asked.templates, std::back_inserter(named));
    if (!asked.catalog) asked.catalog = vgpualloc::built_in_catalog();
    catalog_kinds kinds{named, *asked.start, *asked.catalog};
    for (node_addition& entry : asked.wanted.added_nodes) {
        if (!is_described(entry.kind)) continue;
        auto name = kinds.node_for(entry.kind, "--add-nodes");
        if (!name) return unexpected(std::move(name.error()));
        entry.kind = *std::move(name);
    }
    if (is_described(asked.find_kind)) {
        auto name = kinds.node_for(asked.find_kind, "--find-nodes");
        if (!name) return unexpected(std::move(name.error()));
        asked.find_kind = *std::move(name);
    }
    std::ranges::move(std::move(kinds).take_objects(), std::back_inserter(asked.templates));
    return asked;
}

} // namespace vgpuops::whatif
