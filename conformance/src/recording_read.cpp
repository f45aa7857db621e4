// Reading recorded cases.
#include "recording.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "vgpualloc/compat/volcano/gpushare.hpp"
#include "vgpuformats/json.hpp"

namespace vgpuconformance {

using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::kubernetes::text_map;
using vgpuformats::cursor;

namespace {

constexpr vgpuformats::number_range any_integer{.least = std::numeric_limits<std::int64_t>::min(),
                                                .most = std::numeric_limits<std::int64_t>::max()};

// Members that may be absent: recordings leave out what is zero, empty or false.

std::int64_t integer(const cursor& object, std::string_view key, std::int64_t otherwise = 0) {
    return object.maybe_integer(key, any_integer).value_or(otherwise);
}

bool flag(const cursor& object, std::string_view key) { return object.has(key) && object.at(key).flag(); }

std::string text(const cursor& object, std::string_view key) {
    return object.has(key) ? object.at(key).any_text() : std::string{};
}

std::vector<cursor> list(const cursor& object, std::string_view key) {
    return object.has(key) ? object.at(key).items(0) : std::vector<cursor>{};
}

std::vector<std::string> text_list(const cursor& object, std::string_view key) {
    std::vector<std::string> texts;
    for (const cursor& item : list(object, key)) texts.push_back(item.any_text());
    return texts;
}

text_map text_entries(const cursor& object) {
    text_map texts;
    for (const auto& [key, value] : object.entries()) texts.emplace(key, value.any_text());
    return texts;
}

text_map texts(const cursor& object, std::string_view key) {
    return object.has(key) ? text_entries(object.at(key)) : text_map{};
}

// What a case asks.

volcano::mig_geometry geometry_from(const cursor& recorded) {
    volcano::mig_geometry geometry;
    geometry.models = text_list(recorded, "models");
    for (const cursor& group : list(recorded, "geometries")) {
        volcano::mig_group& instances_group = geometry.groups.emplace_back();
        instances_group.name = text(group, "group");
        for (const cursor& instance : list(group, "instances")) {
            instances_group.instances.push_back({.name = text(instance, "name"),
                                                 .memory = integer(instance, "memory"),
                                                 .count = integer(instance, "count")});
        }
    }
    return geometry;
}

volcano::vnpu_kind vnpu_from(const cursor& recorded) {
    volcano::vnpu_kind kind{.common_word = text(recorded, "common_word"),
                            .chip_name = text(recorded, "chip_name"),
                            .resource_name = text(recorded, "resource_name"),
                            .resource_memory_name = text(recorded, "resource_memory_name"),
                            .memory_allocatable = integer(recorded, "memory_allocatable"),
                            .memory_capacity = integer(recorded, "memory_capacity"),
                            .ai_core = integer(recorded, "ai_core"),
                            .ai_cpu = integer(recorded, "ai_cpu"),
                            .templates = {}};
    for (const cursor& cut : list(recorded, "templates")) {
        kind.templates.push_back({.name = text(cut, "name"),
                                  .memory = integer(cut, "memory"),
                                  .ai_core = integer(cut, "ai_core"),
                                  .ai_cpu = integer(cut, "ai_cpu")});
    }
    return kind;
}

volcano::device_config config_from(const cursor& root) {
    volcano::device_config config;
    if (!root.has("config")) return config;
    const cursor recorded = root.at("config");
    config.count_name = text(recorded, "count_name");
    config.memory_name = text(recorded, "memory_name");
    config.core_name = text(recorded, "core_name");
    config.percent_name = text(recorded, "percent_name");
    config.gpu_memory_factor = integer(recorded, "gpu_memory_factor");
    config.hami_vnpu_core = flag(recorded, "hami_vnpu_core");
    for (const cursor& geometry : list(recorded, "mig_geometries")) {
        config.mig_geometries.push_back(geometry_from(geometry));
    }
    for (const cursor& kind : list(recorded, "vnpus")) config.vnpus.push_back(vnpu_from(kind));
    return config;
}

volcano::plugin_options options_from(const cursor& root, std::string_view family) {
    volcano::plugin_options options;
    options.policy = text(root, "policy");
    options.weight = integer(root, "weight");
    for (const cursor& rule : list(root, "exclusive_rules")) options.exclusive_rules.push_back(text_entries(rule));
    if (family == "gpushare") {
        options.gpushare_number = text(root, "gpushare_mode") == "number";
        options.gpushare_memory = !options.gpushare_number;
    } else if (family == "ascend-hami") {
        options.ascend_hami = true;
    } else if (family == "ascend-mindcluster-310p") {
        options.ascend_mindcluster = true;
    } else {
        options.vgpu = true;
    }
    return options;
}

recorded_node node_from(const cursor& recorded) {
    recorded_node result;
    result.node = {.name = text(recorded, "name"),
                   .labels = texts(recorded, "labels"),
                   .annotations = texts(recorded, "annotations"),
                   .allocatable = texts(recorded, "allocatable"),
                   .capacity = texts(recorded, "capacity")};
    result.npu = {.device_list = texts(recorded, "device_list"),
                  .device_list_update_time = integer(recorded, "device_list_update_time"),
                  .noded_status = text(recorded, "noded_status")};
    if (recorded.has("loaded")) result.loaded = recorded.at("loaded").value();
    return result;
}

/// The model builds every card of a gpushare node, and a file may name any number.
void check_cards(const cursor& recorded, const volcano::node& node) {
    if (volcano::gpushare_cards(node).value_or(0) <= volcano::gpushare_cards_max) return;
    recorded.at("capacity")
        .at("volcano.sh/gpu-number")
        .fail(error_code::out_of_range, "at most " + std::to_string(volcano::gpushare_cards_max) + " cards");
}

std::vector<vgpualloc::kubernetes::container> containers_from(const cursor& recorded, std::string_view key) {
    std::vector<vgpualloc::kubernetes::container> containers;
    for (const cursor& recorded_container : list(recorded, key)) {
        auto& container = containers.emplace_back();
        container.name = text(recorded_container, "name");
        if (recorded_container.has("limits")) {
            for (const auto& [resource, amount] : recorded_container.at("limits").entries()) {
                container.limits.emplace(resource, amount.integer(any_integer));
            }
        }
        container.requests = container.limits; // the recordings' requests always equal the limits
    }
    return containers;
}

volcano::pod pod_from(const cursor& recorded) {
    return {.name = text(recorded, "name"),
            .ns = text(recorded, "namespace"),
            .uid = text(recorded, "uid"),
            .labels = texts(recorded, "labels"),
            .annotations = texts(recorded, "annotations"),
            .containers = containers_from(recorded, "containers"),
            .init_containers = containers_from(recorded, "init_containers")};
}

// What was decided.

volcano::picked_card card_from(const cursor& recorded) {
    volcano::picked_card card;
    card.index = integer(recorded, "index");
    card.type = text(recorded, "type");
    card.memory = integer(recorded, "mem");
    card.cores = integer(recorded, "cores");
    if (!recorded.has("mig")) return card;
    const cursor mig = recorded.at("mig");
    card.mig.emplace();
    card.mig->group = text(mig, "group");
    card.mig->position = integer(mig, "position");
    return card;
}

volcano::allocate_answer allocation_from(const cursor& recorded) {
    volcano::allocate_answer allocated;
    allocated.ok = flag(recorded, "ok");
    allocated.annotations = texts(recorded, "annotations");
    allocated.template_name = text(recorded, "template");
    for (const cursor& container : list(recorded, "containers")) {
        auto& cards = allocated.containers.emplace_back();
        for (const cursor& card : container.items(0)) cards.push_back(card_from(card));
    }
    for (const cursor& chip : list(recorded, "chips")) allocated.chips.push_back(chip.integer(any_integer));
    return allocated;
}

volcano::ledger_state state_from(const cursor& recorded) {
    volcano::ledger_state state;
    state.mode = text(recorded, "mode");
    for (const cursor& device : list(recorded, "devices")) {
        volcano::card_state& card = state.devices.emplace_back();
        card.index = integer(device, "i");
        card.used_num = integer(device, "used_num");
        card.used_mem = integer(device, "used_mem");
        card.used_core = integer(device, "used_core");
        if (!device.has("used")) continue;
        const cursor used = device.at("used");
        card.npu_used.emplace();
        card.npu_used->core = integer(used, "core");
        card.npu_used->cpu = integer(used, "cpu");
    }
    return state;
}

event_result result_from(const cursor& out, event_kind kind, const recorded_case& owner) {
    event_result result;
    const auto node_count = static_cast<std::int64_t>(owner.nodes.size());
    result.chosen = integer(out, "chosen", -1);
    if (result.chosen < -1 || result.chosen >= node_count) {
        out.at("chosen").fail(error_code::out_of_range, "a node of the case, or -1");
    }
    if (kind == event_kind::add) {
        for (const cursor& node : list(out, "nodes")) result.fits.push_back(flag(node, "fit"));
    }
    if (out.has("alloc")) {
        result.allocated = allocation_from(out.at("alloc"));
        if (result.allocated->ok && owner.family == "ascend-hami") {
            if (auto templates = templates_of(*result.allocated)) {
                result.templates = *std::move(templates);
            } else {
                out.at("alloc").fail_key(error_code::malformed, "annotations", templates.error().message());
            }
        }
    }
    if (out.has("session_state")) result.session = state_from(out.at("session_state"));
    if (out.has("cache_state")) result.cache = state_from(out.at("cache_state"));
    // What happens outside a session has always left some state of the cache: one without any device may be left out.
    if (kind != event_kind::add && result.chosen >= 0 && !result.cache) result.cache.emplace();
    return result;
}

std::size_t node_of(const cursor& event, const recorded_case& owner) {
    const cursor node = event.at("node");
    const auto number = static_cast<std::uint64_t>(node.integer(any_integer));
    if (number >= owner.nodes.size()) node.fail(error_code::out_of_range, "a node of the case");
    return static_cast<std::size_t>(number);
}

recorded_event event_from(const cursor& recorded, const recorded_case& owner, recorded_parts parts) {
    recorded_event event;
    event.kind = static_cast<event_kind>(recorded.at("op").one_of(event_words));
    switch (event.kind) {
    case event_kind::add:
        event.pod = pod_from(recorded.at("pod"));
        event.new_session = flag(recorded, "new_session");
        event.roll_back = flag(recorded, "rollback");
        event.bind_annotations = texts(recorded, "bind_annotations");
        break;
    case event_kind::restore:
        event.pod = pod_from(recorded.at("pod"));
        event.node = node_of(recorded, owner);
        break;
    case event_kind::remove:
        event.pod_uid = recorded.at("pod_uid").any_text();
        break;
    case event_kind::node_update:
        event.node = node_of(recorded, owner);
        break;
    }
    if (parts == recorded_parts::decisions) {
        event.out = recorded.at("out").value();
        event.result = result_from(recorded.at("out"), event.kind, owner);
    }
    return event;
}

} // namespace

volcano::pod recorded_event::bound_pod() const {
    volcano::pod bound = pod;
    const auto add = [&bound](const text_map& annotations) {
        for (const auto& [key, value] : annotations) bound.annotations[key] = value;
    };
    if (result.allocated) add(result.allocated->annotations);
    add(bind_annotations);
    return bound;
}

expected<std::vector<std::string>> templates_of(const volcano::allocate_answer& allocated) {
    std::vector<std::string> names;
    const auto has_cards = [](const auto& container) { return !container.empty(); };
    const auto container = std::ranges::find_if(allocated.containers, has_cards);
    if (container == allocated.containers.end()) return names;
    const std::string key = "huawei.com/" + container->front().type;
    const auto annotation = allocated.annotations.find(key);
    if (annotation == allocated.annotations.end()) return names;
    const auto cards = vgpuformats::parse_json(annotation->second, key);
    if (!cards) return vgpualloc::unexpected(cards.error());
    std::optional<vgpualloc::error> failure;
    for (const cursor& card : cursor{*cards, key, failure}.items(0)) names.push_back(text(card, "temp"));
    if (failure) return vgpualloc::unexpected(*std::move(failure));
    return names;
}

expected<recorded_case> read_case(const document& line, std::string_view path, recorded_parts parts) {
    static constexpr std::array<std::string_view, 7> families{
        "hamicore", "mig", "mixed", "hamicore-exclusive", "gpushare", "ascend-hami", "ascend-mindcluster-310p"};
    std::optional<vgpualloc::error> failure;
    const cursor root{line, path, failure, vgpuformats::place_style::line};
    const cursor schema = root.at("schema");
    if (schema.value() != nullptr && schema.value()->integer() != 1) schema.fail(error_code::unsupported, "1");
    recorded_case result;
    result.id = text(root, "id");
    result.family = families[root.at("family").one_of(families)];
    result.config = config_from(root);
    result.options = options_from(root, result.family);
    for (const cursor& node : root.at("nodes").items(0)) {
        result.nodes.push_back(node_from(node));
        if (result.family == "gpushare") check_cards(node, result.nodes.back().node);
    }
    for (const cursor& event : root.at("events").items(0)) result.events.push_back(event_from(event, result, parts));
    if (failure) return vgpualloc::unexpected(*std::move(failure));
    return result;
}

} // namespace vgpuconformance
