// Reading recorded cases.
#include <stdexcept>
#include <utility>

#include "recording.hpp"
#include "vgpualloc/compat/volcano/gpushare.hpp"

namespace vgpuconformance {

namespace {

template <class Value>
Value get(const json& object, const char* key, Value otherwise = {}) {
    const auto member = object.find(key);
    return member == object.end() || member->is_null() ? std::move(otherwise) : member->get<Value>();
}

std::vector<json> list(const json& object, const char* key) { return get<std::vector<json>>(object, key); }

/// One that has to be there.
const json::array_t& list_in(const json& recorded_case, const char* key) {
    const json& member = recorded_case.at(key);
    if (!member.is_array()) throw std::invalid_argument{std::string{"/"} + key + ": got no list, expected one"};
    return member.get_ref<const json::array_t&>();
}

volcano::mig_geometry geometry_from(const json& recorded) {
    volcano::mig_geometry geometry;
    geometry.models = get<std::vector<std::string>>(recorded, "models");
    for (const json& group : list(recorded, "geometries")) {
        volcano::mig_group& instances_group = geometry.groups.emplace_back();
        instances_group.name = get<std::string>(group, "group");
        for (const json& instance : list(group, "instances")) {
            instances_group.instances.push_back({.name = get<std::string>(instance, "name"),
                                                 .memory = get<std::int64_t>(instance, "memory"),
                                                 .count = get<std::int64_t>(instance, "count")});
        }
    }
    return geometry;
}

volcano::vnpu_kind vnpu_from(const json& recorded) {
    volcano::vnpu_kind kind{.common_word = get<std::string>(recorded, "common_word"),
                            .chip_name = get<std::string>(recorded, "chip_name"),
                            .resource_name = get<std::string>(recorded, "resource_name"),
                            .resource_memory_name = get<std::string>(recorded, "resource_memory_name"),
                            .memory_allocatable = get<std::int64_t>(recorded, "memory_allocatable"),
                            .memory_capacity = get<std::int64_t>(recorded, "memory_capacity"),
                            .ai_core = get<std::int64_t>(recorded, "ai_core"),
                            .ai_cpu = get<std::int64_t>(recorded, "ai_cpu"),
                            .templates = {}};
    for (const json& cut : list(recorded, "templates")) {
        kind.templates.push_back({.name = get<std::string>(cut, "name"),
                                  .memory = get<std::int64_t>(cut, "memory"),
                                  .ai_core = get<std::int64_t>(cut, "ai_core"),
                                  .ai_cpu = get<std::int64_t>(cut, "ai_cpu")});
    }
    return kind;
}

std::vector<vgpualloc::kubernetes::container> containers_from(const json& recorded, const char* key) {
    std::vector<vgpualloc::kubernetes::container> containers;
    for (const json& recorded_container : list(recorded, key)) {
        auto& container = containers.emplace_back();
        container.name = get<std::string>(recorded_container, "name");
        container.limits = get<vgpualloc::kubernetes::amount_map>(recorded_container, "limits");
        container.requests = container.limits; // the recordings' requests always equal the limits
    }
    return containers;
}

/// The model builds every card of a gpushare node, and a file may name any number.
void check_cards(const json::array_t& nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto cards = volcano::gpushare_cards(node_from(nodes[i]));
        if (cards.value_or(0) <= volcano::gpushare_cards_max) continue;
        throw std::invalid_argument{"/nodes/" + std::to_string(i) + "/capacity/volcano.sh~1gpu-number: got '" +
                                    std::to_string(*cards) + "', expected at most " +
                                    std::to_string(volcano::gpushare_cards_max) + " cards"};
    }
}

} // namespace

volcano::device_config config_from(const json& recorded_case) {
    volcano::device_config config;
    const auto recorded = recorded_case.find("config");
    if (recorded == recorded_case.end()) return config;
    config.count_name = get<std::string>(*recorded, "count_name");
    config.memory_name = get<std::string>(*recorded, "memory_name");
    config.core_name = get<std::string>(*recorded, "core_name");
    config.percent_name = get<std::string>(*recorded, "percent_name");
    config.gpu_memory_factor = get<std::int64_t>(*recorded, "gpu_memory_factor");
    config.hami_vnpu_core = get<bool>(*recorded, "hami_vnpu_core");
    for (const json& geometry : list(*recorded, "mig_geometries")) {
        config.mig_geometries.push_back(geometry_from(geometry));
    }
    for (const json& kind : list(*recorded, "vnpus")) config.vnpus.push_back(vnpu_from(kind));
    return config;
}

volcano::plugin_options options_from(const json& recorded_case) {
    volcano::plugin_options options;
    options.policy = get<std::string>(recorded_case, "policy");
    options.weight = get<std::int64_t>(recorded_case, "weight");
    options.exclusive_rules = get<std::vector<vgpualloc::kubernetes::text_map>>(recorded_case, "exclusive_rules");
    const auto family = get<std::string>(recorded_case, "family");
    if (family == "gpushare") {
        const bool by_number = get<std::string>(recorded_case, "gpushare_mode") == "number";
        options.gpushare_number = by_number;
        options.gpushare_memory = !by_number;
    } else if (family == "ascend-hami") {
        options.ascend_hami = true;
    } else if (family == "ascend-mindcluster-310p") {
        options.ascend_mindcluster = true;
    } else if (family == "hamicore" || family == "mig" || family == "mixed" || family == "hamicore-exclusive") {
        options.vgpu = true;
    } else {
        throw std::invalid_argument{"/family: got '" + family +
                                    "', expected one of hamicore, mig, mixed, hamicore-exclusive, gpushare, "
                                    "ascend-hami, ascend-mindcluster-310p"};
    }
    return options;
}

void check_case(const json& recorded_case) {
    if (const auto schema = recorded_case.at("schema").get<int>(); schema != 1) {
        throw std::invalid_argument{"/schema: got '" + std::to_string(schema) + "', expected 1"};
    }
    static_cast<void>(config_from(recorded_case)); // which may throw: also where the one who decides needs less of it
    const volcano::plugin_options options = options_from(recorded_case);
    const json::array_t& all_nodes = list_in(recorded_case, "nodes");
    if (options.gpushare_memory || options.gpushare_number) check_cards(all_nodes);
    const std::size_t nodes = all_nodes.size();
    const json::array_t& events = list_in(recorded_case, "events");
    for (std::size_t i = 0; i < events.size(); ++i) {
        const auto bad = [i](const std::string& what) {
            return std::invalid_argument{"/events/" + std::to_string(i) + ": " + what};
        };
        const auto op = events[i].at("op").get<std::string>();
        if (op != "add" && op != "restore" && op != "delete" && op != "node_update") {
            throw bad("got '" + op + "', expected one of add, restore, delete, node_update");
        }
        if (op == "restore" || op == "node_update") {
            if (events[i].at("node").get<std::size_t>() >= nodes) throw bad("node is no node of the case");
        }
        const auto out = events[i].find("out");
        const auto chosen = out == events[i].end() ? -1 : get<std::int64_t>(*out, "chosen", -1);
        if (chosen < -1 || chosen >= static_cast<std::int64_t>(nodes)) throw bad("chosen is no node of the case");
    }
}

vgpualloc::kubernetes::text_map texts_from(const json& object, const char* key) {
    return get<vgpualloc::kubernetes::text_map>(object, key);
}

volcano::node node_from(const json& recorded) {
    return {.name = get<std::string>(recorded, "name"),
            .labels = texts_from(recorded, "labels"),
            .annotations = texts_from(recorded, "annotations"),
            .allocatable = texts_from(recorded, "allocatable"),
            .capacity = texts_from(recorded, "capacity")};
}

volcano::npu_node_info npu_info_from(const json& recorded) {
    return {.device_list = texts_from(recorded, "device_list"),
            .device_list_update_time = get<std::int64_t>(recorded, "device_list_update_time"),
            .noded_status = get<std::string>(recorded, "noded_status")};
}

volcano::pod pod_from(const json& recorded) {
    return {.name = get<std::string>(recorded, "name"),
            .ns = get<std::string>(recorded, "namespace"),
            .uid = get<std::string>(recorded, "uid"),
            .labels = texts_from(recorded, "labels"),
            .annotations = texts_from(recorded, "annotations"),
            .containers = containers_from(recorded, "containers"),
            .init_containers = containers_from(recorded, "init_containers")};
}

} // namespace vgpuconformance
