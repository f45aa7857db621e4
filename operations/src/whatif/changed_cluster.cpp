#include "vgpuops/whatif/changed_cluster.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "vgpuops/whatif/catalog_kinds.hpp"
#include "vgpuops/whatif/cut_nodes.hpp"

namespace vgpuops::whatif {

expected<extendable_cluster> with_kinds(const std::vector<kube::manifest>& objects,
                                        const vgpualloc::dialect_set& dialects,
                                        const vgpualloc::hardware_catalog& catalog,
                                        const std::vector<std::string>& kinds, const std::string& option,
                                        stop_signal stop) {
    for (auto kind = kinds.begin(); kind != kinds.end(); ++kind) {
        if (std::find(kinds.begin(), kind, *kind) == kind) continue;
        return unexpected(bad_value(error_code::duplicate, "", *kind, "every kind once").at(option));
    }
    std::vector<std::string> names = kinds; // of nodes that stand for the kinds
    auto state = kube::make_snapshot(objects, dialects, stop);
    if (state && std::ranges::any_of(kinds, is_described)) {
        catalog_kinds described{objects, *state, catalog};
        for (std::string& name : names) {
            if (!is_described(name)) continue;
            auto node_name = described.node_for(name, option);
            if (!node_name) return unexpected(std::move(node_name).error());
            name = *std::move(node_name);
        }
        std::vector<kube::manifest> with_templates = objects;
        std::ranges::move(std::move(described).take_objects(), std::back_inserter(with_templates));
        auto larger = kube::make_snapshot(with_templates, dialects, stop);
        if (!larger) return unexpected(std::move(larger).error());
        *state = *std::move(larger);
    }
    if (!state) return unexpected(std::move(state).error());
    extendable_cluster result{.state = *std::move(state), .kinds = {}};
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        const auto where = find_node(result.state, names[i], option);
        if (!where) return unexpected(where.error());
        result.kinds.push_back(is_described(kinds[i]) ? take_template(result.state, *where)
                                                      : kind_of(result.state, *where));
    }
    return result;
}

expected<kube::snapshot> changed_cluster(const std::vector<kube::manifest>& objects,
                                         const vgpualloc::dialect_set& dialects, const changes& wanted,
                                         stop_signal stop) {
    auto state = kube::make_snapshot(objects, dialects, stop);
    if (!state) return state;
    auto cut = by_node(wanted.modes, objects, *state);
    if (!cut) return unexpected(std::move(cut).error());
    named_kinds kinds;
    if (!cut->objects.empty()) {
        std::vector<kube::manifest> with_templates = objects;
        std::ranges::copy(cut->objects, std::back_inserter(with_templates));
        auto larger = kube::make_snapshot(with_templates, dialects, stop);
        if (!larger) return larger;
        *state = *std::move(larger);
        auto taken = take_templates(*state, cut->objects, "--set-mode");
        if (!taken) return unexpected(std::move(taken).error());
        kinds = *std::move(taken);
    }
    const auto evicted = apply(*state,
                               {.uncordoned = wanted.uncordoned,
                                .drained = wanted.drained,
                                .failed = wanted.failed,
                                .modes = std::move(cut->modes)},
                               objects, {}, kinds);
    if (!evicted) return unexpected(evicted.error());
    return state;
}

} // namespace vgpuops::whatif
