// Catalog files of Ascend chips: every value checked.
#include <array>
#include <optional>
#include <string>

#include "vgpualloc/catalog/ascend.hpp"

#include "ascend_checks.hpp"
#include "file_checks.hpp"
#include "vgpuformats/cursor.hpp"

namespace vgpualloc {

namespace {

using detail::memory_range;
using detail::positive_count;
using vgpuformats::cursor;

/// In the order of dvpp_use.
constexpr std::array<std::string_view, 3> dvpp_names{"null", "yes", "no"};
constexpr std::array<std::string_view, 4> dvpp_or_any{"null", "yes", "no", "any"};
constexpr std::array<std::string_view, 3> level_or_any{"low", "high", "any"};

dvpp_use read_dvpp(const cursor& in) { return static_cast<dvpp_use>(in.one_of(dvpp_names)); }

std::optional<dvpp_use> read_dvpp_or_any(const cursor& in) {
    const std::size_t position = in.one_of(dvpp_or_any);
    if (position >= dvpp_names.size()) return std::nullopt;
    return static_cast<dvpp_use>(position);
}

std::optional<vnpu_level> read_level_or_any(const cursor& in) {
    const std::size_t position = in.one_of(level_or_any);
    if (position + 1 >= level_or_any.size()) return std::nullopt;
    return static_cast<vnpu_level>(position);
}

/// Fails at `name` if an entry of `list` has that name already.
template <class Named>
void check_new_name(const cursor& name, const std::vector<Named>& list, const std::string& value) {
    for (const auto& known : list) {
        if (known.name == value) name.fail(error_code::duplicate, "every name once");
    }
}

ascend_template read_template(const cursor& item, const ascend_chip& chip) {
    ascend_template result;
    result.name = item.at("name").filled_text();
    check_new_name(item.at("name"), chip.templates, result.name);
    const cursor in = item.called("template '" + result.name + "'");
    in.only({"name", "memory_mib", "ai_core", "ai_cpu"});
    result.memory = mib{in.at("memory_mib").integer({.least = 1, .most = chip.memory_allocatable.count()})};
    if (!chip.templates.empty() && result.memory <= chip.templates.back().memory) {
        in.at("memory_mib")
            .fail(error_code::malformed, "more than the template before: requests take the first that fits");
    }
    result.ai_core = in.at("ai_core").integer({.least = 1, .most = chip.ai_core});
    result.ai_cpu = in.maybe_integer("ai_cpu", {.least = 1, .most = chip.ai_cpu.value_or(positive_count.most)});
    return result;
}

ascend_chip read_chip(const cursor& item) {
    ascend_chip result;
    result.name = item.at("name").filled_text();
    const cursor in = item.called("chip '" + result.name + "'");
    in.only({"name", "chip_name", "resource", "resource_memory", "resource_core", "memory_allocatable_mib",
             "memory_capacity_mib", "ai_core", "ai_cpu", "super_pod", "built_in_of", "provenance", "templates"});
    result.chip_name = in.at("chip_name").filled_text();
    result.resource = in.at("resource").filled_text();
    result.resource_memory = in.at("resource_memory").filled_text();
    result.resource_core = in.at("resource_core").filled_text();
    result.memory_capacity = mib{in.at("memory_capacity_mib").integer(memory_range)};
    result.memory_allocatable =
        mib{in.at("memory_allocatable_mib").integer({.least = 1, .most = result.memory_capacity.count()})};
    result.ai_core = in.at("ai_core").integer(positive_count);
    result.ai_cpu = in.maybe_integer("ai_cpu", positive_count);
    result.super_pod = in.has("super_pod") && in.at("super_pod").flag();
    result.built_in_of = in.maybe_texts("built_in_of");
    result.from = in.maybe_dictionary("provenance");
    detail::check_provenance(in, result.from,
                             {"name", "chip_name", "resource", "resource_memory", "resource_core",
                              "memory_allocatable_mib", "memory_capacity_mib", "ai_core", "ai_cpu", "super_pod",
                              "built_in_of", "templates"});
    for (const auto& entry : in.at("templates").items(0)) {
        ascend_template read = read_template(entry, result);
        if (in.failed()) break;
        result.templates.push_back(std::move(read));
    }
    return result;
}

ascend_annotation_keys read_annotations(const cursor& in) {
    in.only({"node_register", "node_handshake", "pod_to_allocate", "pod_allocated", "pod_runtime_info", "pod_use_uuid",
             "pod_no_use_uuid"});
    const auto key = [&in](std::string_view name) {
        std::string pattern = in.at(name).filled_text();
        if (!in.failed() && pattern.find(detail::name_placeholder) == std::string::npos) {
            in.at(name).fail(error_code::malformed, "a key with {name} where the chip's name goes");
        }
        return pattern;
    };
    return {.node_register = key("node_register"),
            .node_handshake = key("node_handshake"),
            .pod_to_allocate = key("pod_to_allocate"),
            .pod_allocated = key("pod_allocated"),
            .pod_runtime_info = key("pod_runtime_info"),
            .pod_use_uuid = key("pod_use_uuid"),
            .pod_no_use_uuid = key("pod_no_use_uuid")};
}

ascend_plugin_figures read_plugin(const cursor& in) {
    in.only({"idle_check_interval_s", "register_interval_s", "register_retry_s", "metrics_port"});
    const auto seconds = [&in](std::string_view name) {
        return ticks_per_second * in.at(name).integer(positive_count);
    };
    constexpr std::int64_t port_max = 65535;
    return {.idle_check_interval = seconds("idle_check_interval_s"),
            .register_interval = seconds("register_interval_s"),
            .register_retry = seconds("register_retry_s"),
            .metrics_port = in.at("metrics_port").integer({.least = 1, .most = port_max})};
}

void read_ascend(const cursor& in, ascend_catalog& catalog) {
    in.only({"soft_core_total", "soft_by_default", "annotations", "plugin", "chips"});
    // All or none: a file that only adds chips says nothing of the rest.
    if (in.has("soft_core_total") || in.has("soft_by_default") || in.has("annotations") || in.has("plugin")) {
        catalog.soft_core_total = core_percent{in.at("soft_core_total").integer(positive_count)};
        catalog.soft_by_default = in.at("soft_by_default").flag();
        catalog.annotations = read_annotations(in.at("annotations"));
        catalog.plugin = read_plugin(in.at("plugin"));
    }
    for (const auto& item : in.at("chips").items(1)) {
        ascend_chip chip = read_chip(item);
        if (in.failed()) return;
        if (const auto clash = detail::clash_of(catalog, chip)) {
            item.called("chip '" + chip.name + "'").at(clash->field).fail(error_code::duplicate, clash->expected);
        }
        catalog.chips.push_back(std::move(chip));
    }
}

mindcluster_template read_mindcluster_template(const cursor& item, const mindcluster_chip& chip) {
    mindcluster_template result;
    result.name = item.at("name").filled_text();
    check_new_name(item.at("name"), chip.templates, result.name);
    const cursor in = item.called("template '" + result.name + "'");
    in.only({"name", "ai_core", "ai_cpu", "dvpp"});
    result.ai_core = in.at("ai_core").integer(positive_count);
    result.ai_cpu = in.at("ai_cpu").integer(positive_count);
    result.dvpp = read_dvpp(in.at("dvpp"));
    return result;
}

mindcluster_chip read_mindcluster_chip(const cursor& item, const mindcluster_catalog& others) {
    mindcluster_chip result;
    result.kind = item.at("kind").filled_text();
    for (const auto& other : others.chips) {
        if (other.kind == result.kind) item.at("kind").fail(error_code::duplicate, "every kind once");
    }
    const cursor in = item.called("MindCluster chip '" + result.kind + "'");
    in.only({"kind", "provenance", "totals", "templates"});
    result.from = in.maybe_text("provenance");
    for (const auto& entry : in.at("totals").items(0)) {
        entry.only({"ai_core", "ai_cpu"});
        result.totals.push_back(
            {entry.at("ai_core").integer(positive_count), entry.at("ai_cpu").integer(positive_count)});
    }
    for (const auto& entry : in.at("templates").items(1)) {
        mindcluster_template read = read_mindcluster_template(entry, result);
        if (in.failed()) break;
        result.templates.push_back(std::move(read));
    }
    return result;
}

mindcluster_selection read_selection(const cursor& in, const mindcluster_catalog& catalog) {
    in.only({"chip", "ai_core", "ai_core_multiple_of", "dvpp", "level", "downgrade", "template", "provenance"});
    mindcluster_selection result;
    result.chip = in.at("chip").filled_text();
    result.ai_core = in.maybe_integer("ai_core", positive_count);
    result.ai_core_multiple_of = in.maybe_integer("ai_core_multiple_of", positive_count);
    result.dvpp = read_dvpp_or_any(in.at("dvpp"));
    result.level = read_level_or_any(in.at("level"));
    if (in.has("downgrade")) result.downgrade = in.at("downgrade").flag();
    if (in.has("template")) result.template_name = in.at("template").filled_text();
    result.from = in.maybe_text("provenance");
    if (result.ai_core.has_value() == result.ai_core_multiple_of.has_value()) {
        in.fail(error_code::malformed, "either ai_core or ai_core_multiple_of");
    }
    const mindcluster_chip* chip = nullptr;
    for (const auto& candidate : catalog.chips) chip = candidate.kind == result.chip ? &candidate : chip;
    if (chip == nullptr) in.at("chip").fail(error_code::unknown_name, "the kind of one of the chips");
    if (in.failed() || !result.template_name) return result;
    for (const auto& candidate : chip->templates) {
        if (candidate.name == *result.template_name) return result;
    }
    in.at("template").fail(error_code::unknown_name, "a template of " + result.chip);
    return result;
}

std::vector<dvpp_use> read_dvpp_list(const cursor& in) {
    std::vector<dvpp_use> result;
    for (const auto& item : in.items(1)) result.push_back(read_dvpp(item));
    return result;
}

mindcluster_dvpp_rules read_dvpp_rules(const cursor& in) {
    in.only({"free_at_first", "used_at_first", "free_that_admits", "after"});
    mindcluster_dvpp_rules result;
    result.free_at_first = read_dvpp(in.at("free_at_first"));
    result.used_at_first = read_dvpp(in.at("used_at_first"));
    const cursor admits = in.at("free_that_admits");
    admits.only({"null", "yes", "no"});
    result.free_that_admits_null = read_dvpp_list(admits.at("null"));
    result.free_that_admits_yes = read_dvpp_list(admits.at("yes"));
    result.free_that_admits_no = read_dvpp_list(admits.at("no"));
    for (const auto& entry : in.at("after").items(1)) {
        entry.only({"asked", "if_used", "used", "free"});
        result.after.push_back({.request = read_dvpp(entry.at("asked")),
                                .if_used = read_dvpp_or_any(entry.at("if_used")),
                                .used = read_dvpp(entry.at("used")),
                                .free = read_dvpp(entry.at("free"))});
    }
    return result;
}

void read_mindcluster(const cursor& in, mindcluster_catalog& catalog) {
    in.only({"resource", "chips", "selection", "dvpp", "group_limits"});
    catalog.resource = in.at("resource").filled_text();
    for (const auto& item : in.at("chips").items(1)) {
        mindcluster_chip chip = read_mindcluster_chip(item, catalog);
        if (in.failed()) return;
        catalog.chips.push_back(std::move(chip));
    }
    for (const auto& item : in.at("selection").items(1)) catalog.selection.push_back(read_selection(item, catalog));
    catalog.dvpp = read_dvpp_rules(in.at("dvpp"));
    for (const auto& entry : in.at("group_limits").items(0)) {
        entry.only({"groups", "ai_core_max"});
        catalog.group_limits.push_back({.groups = entry.at("groups").integer(positive_count),
                                        .ai_core_max = entry.at("ai_core_max").integer(positive_count)});
    }
}

} // namespace

expected<ascend_catalog> read_ascend_catalog(const vgpuformats::document& file, std::string_view name) {
    return detail::read_file<ascend_catalog>(file, name, [](const cursor& root, ascend_catalog& catalog) {
        read_ascend(root.at("ascend"), catalog);
        if (root.has("mindcluster")) read_mindcluster(root.at("mindcluster"), catalog.mindcluster);
    });
}

} // namespace vgpualloc
