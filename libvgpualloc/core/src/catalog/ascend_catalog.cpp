// The built-in Ascend chips, looking chips up, and merging files into them.
#include <algorithm>
#include <string>
#include <utility>

#include "vgpualloc/catalog/ascend.hpp"

#include "ascend_checks.hpp"
#include "built_in.hpp"
#include "merging.hpp"
#include "vgpualloc/catalog/mig.hpp"

namespace vgpualloc {

namespace detail {

std::optional<clash> clash_of(const ascend_catalog& catalog, const ascend_chip& chip) {
    for (const ascend_chip& other : catalog.chips) {
        const std::string whose = ", this is that of " + other.name;
        if (other.name == chip.name) return clash{"name", chip.name, "every chip once"};
        if (other.chip_name == chip.chip_name || other.name == chip.chip_name) {
            return clash{"chip_name", chip.chip_name, "a name of its own" + whose};
        }
        if (other.chip_name == chip.name) return clash{"name", chip.name, "a name that is no chip name" + whose};
        if (other.resource == chip.resource) return clash{"resource", chip.resource, "a resource of its own" + whose};
    }
    return std::nullopt;
}

} // namespace detail

const ascend_catalog& built_in_ascend_catalog() {
    static const ascend_catalog catalog =
        detail::well_formed(read_ascend_catalog(built_in::ascend_templates(), "data/ascend-templates.json"));
    return catalog;
}

expected<ascend_catalog> merge(const ascend_catalog& base, const ascend_catalog& more) {
    ascend_catalog others = base;
    others.chips = detail::not_replaced(std::move(others.chips), more.chips);
    for (const ascend_chip& chip : more.chips) {
        if (const auto clash = detail::clash_of(others, chip)) {
            return unexpected(bad_value(error_code::duplicate, clash->field, clash->value, clash->expected)
                                  .at("chip '" + chip.name + "'"));
        }
    }
    ascend_catalog result = base;
    detail::put(result.chips, more.chips);
    if (more.soft_core_total > core_percent{0}) {
        result.soft_core_total = more.soft_core_total;
        result.soft_by_default = more.soft_by_default;
        result.annotations = more.annotations;
        result.plugin = more.plugin;
    }
    if (!more.mindcluster.chips.empty()) result.mindcluster = more.mindcluster;
    for (const auto& [code, meaning] : more.sources) result.sources.insert_or_assign(code, meaning);
    return result;
}

expected<const ascend_chip*> find_chip(const ascend_catalog& catalog, std::string_view name) {
    std::string names;
    for (const ascend_chip& chip : catalog.chips) {
        if (chip.name == name || chip.chip_name == name) return &chip;
        names += (names.empty() ? "one of " : ", ") + chip.name;
    }
    return unexpected(bad_value(error_code::unknown_name, "Ascend chip", name, names));
}

expected<const mindcluster_chip*> find_mindcluster_chip(const ascend_catalog& catalog, std::string_view kind) {
    std::string kinds;
    for (const mindcluster_chip& chip : catalog.mindcluster.chips) {
        if (chip.kind == kind) return &chip;
        kinds += (kinds.empty() ? "one of " : ", ") + chip.kind;
    }
    return unexpected(bad_value(error_code::unknown_name, "MindCluster chip", kind, kinds));
}

std::int64_t device_ids_per_card(const ascend_chip& chip) {
    if (chip.templates.empty()) return 1;
    return chip.memory_allocatable.count() / chip.templates.front().memory.count();
}

std::string annotation_key(std::string_view pattern, const ascend_chip& chip) {
    std::string key{pattern};
    const auto at = key.find(detail::name_placeholder);
    if (at != std::string::npos) key.replace(at, detail::name_placeholder.size(), chip.name);
    return key;
}

expected<std::int64_t> require(const std::optional<std::int64_t>& value, const ascend_chip& chip,
                               std::string_view template_name, std::string_view field) {
    if (value) return *value;
    std::string where = "chip '" + chip.name + "'";
    if (!template_name.empty()) where += ": template '" + std::string{template_name} + "'";
    return unexpected(bad_input(error_code::missing, field, "unknown in the catalog").at(where));
}

} // namespace vgpualloc
