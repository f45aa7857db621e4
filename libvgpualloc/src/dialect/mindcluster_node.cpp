// The mindcluster dialect: the chips of a node.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "../catalog/json_reader.hpp"
#include "hami_annotation.hpp"
#include "mindcluster_parts.hpp"
#include "text.hpp"
#include "vgpualloc/dialect/mindcluster.hpp"

namespace vgpualloc::dialect::mindcluster {

namespace {

using hami_text::place;
using kubernetes::value_of;

constexpr const char* chip_name_label = "node.kubernetes.io/npu.chip.name";
constexpr const char* server_label = "servertype";
constexpr const char* infos_annotation = "baseDeviceInfos";
constexpr std::int64_t ai_cpus = 7;
constexpr std::int64_t cores_max = 1'000'000;

/// What the labels and the capacity say of the node's chips.
struct chip_facts {
    std::string model;
    std::int64_t cores = 0;
};

/// The first check that the node fails is the error.
expected<chip_facts> read_facts(const kubernetes::node& of) {
    const auto bad = [&of](std::string_view kind, std::string_view name, const std::string& value,
                           std::string expected_text) {
        return unexpected(error{.code = value.empty() ? error_code::missing : error_code::malformed,
                                .where = place(of, kind, name),
                                .field = "",
                                .value = value,
                                .expected = std::move(expected_text)});
    };
    const std::string& written = value_of(of.capacity, core_resource);
    const auto capacity = text::whole_number(written, cores_max);
    if (capacity.value_or(0) == 0) return bad("capacity", core_resource, written, "a whole number of AI cores above 0");
    const std::string& offered = value_of(of.allocatable, core_resource);
    if (!text::whole_number(offered, cores_max)) {
        return bad("allocatable", core_resource, offered, "a whole number of AI cores");
    }
    const std::string& accelerator = value_of(of.labels, "accelerator");
    const auto words = text::split(accelerator, '-');
    if (words.size() < 2 || words[1] != family) {
        return bad("label", "accelerator", accelerator, "<vendor>-" + std::string{family});
    }
    const std::string& server = value_of(of.labels, server_label);
    const auto cores = cores_per_chip(of);
    if (!cores) {
        return bad("label", server_label, server, "Ascend310P-<AI cores per chip, 8 or 10>");
    }
    const std::string& chip = value_of(of.labels, chip_name_label);
    if (chip.empty()) return bad("label", chip_name_label, chip, "the chip's name, like 310P3");
    if (*capacity % *cores != 0) {
        return bad("capacity", core_resource, written,
                   "a multiple of " + std::to_string(*cores) + ", as servertype says");
    }
    return chip_facts{.model = chip, .cores = *cores};
}

/// The number in a chip's name; none for names of virtual NPUs and of other things.
std::optional<std::int64_t> chip_number(std::string_view name) {
    if (!name.starts_with(uuid_prefix)) return std::nullopt;
    return text::whole_number(name.substr(uuid_prefix.size()), chip_number_max);
}

using chip_health = std::map<std::int64_t, bool>; ///< by number; whether it may be given out

void add(std::string_view name, bool healthy, const std::string& where, chip_health& chips,
         std::vector<error>& problems) {
    const auto number = chip_number(name);
    if (!number) {
        problems.push_back({.code = error_code::malformed,
                            .where = where,
                            .field = "",
                            .value = std::string{name},
                            .expected = std::string{uuid_prefix} + "<number>"});
        return;
    }
    const auto [at, added] = chips.try_emplace(*number, healthy);
    if (!added) at->second = at->second && healthy;
}

/// The chips that the device plugin lists on the Node object. False: there is no list, and the node is not valid.
bool read_infos(const kubernetes::node& of, chip_health& chips, std::vector<error>& problems) {
    const std::string where = place(of, "annotation", infos_annotation);
    const auto found = of.annotations.find(infos_annotation);
    if (found == of.annotations.end()) {
        problems.push_back({.code = error_code::missing,
                            .where = where,
                            .field = "",
                            .value = "",
                            .expected = "a JSON object by chip"});
        return false;
    }
    const auto infos = detail::parse_json(found->second, where);
    if (!infos || !infos->is_object()) {
        problems.push_back(infos ? error{.code = error_code::malformed,
                                         .where = where,
                                         .field = "",
                                         .value = "",
                                         .expected = "a JSON object by chip"}
                                 : infos.error());
        return false;
    }
    for (const auto& [name, info] : infos->items()) {
        if (text::split(name, '-').size() <= 2) add(name, true, where, chips, problems); // more parts: a virtual NPU
    }
    return true;
}

/// Chips that the ConfigMap names under `key`.
void read_list(const device_info& info, const std::string& key, bool healthy, chip_health& chips,
               std::vector<error>& problems) {
    for (const std::string& name : text::items(value_of(info.device_list, key))) {
        add(name, healthy, "device list, " + key, chips, problems);
    }
}

/// Chips in use. One that is not listed has to be there to count the use, but is nothing to give out. While the device
/// plugin has not said which virtual NPU a pod really got, its chip is not settled and takes no other.
void add_used(std::span<const kubernetes::pod* const> on_node, chip_health& chips) {
    for (const kubernetes::pod* each : on_node) {
        const bool settled = !value_of(each->annotations, "huawei.com/AscendReal").empty();
        for (const std::string_view entry : text::split(value_of(each->annotations, core_resource), ';')) {
            for (const std::string_view piece : text::split(entry, ',')) {
                const auto number = text::whole_number(text::split(piece, '-').front(), chip_number_max);
                if (!number) continue;
                const auto [at, added] = chips.try_emplace(*number, false);
                if (!added) at->second = at->second && settled;
            }
        }
    }
}

device_registration registration(std::int64_t number, bool healthy, const chip_facts& facts, const options& with) {
    device_registration made;
    made.uuid = std::string{uuid_prefix} + std::to_string(number);
    made.model = facts.model;
    made.family = family;
    made.mode = mode_name;
    made.memory = with.memory;
    made.cores = core_percent{facts.cores};
    made.slots = with.slots;
    made.healthy = healthy;
    made.npu.name = family;
    made.npu.memory_allocatable = with.memory;
    made.npu.memory_capacity = with.memory;
    made.npu.ai_core = facts.cores;
    made.npu.ai_cpu = ai_cpus;
    for (const mindcluster_310p_template& each : mindcluster_310p_templates) {
        made.npu.templates.push_back(
            {.name = std::string{each.name}, .memory = mib{0}, .ai_core = each.ai_core, .ai_cpu = each.ai_cpu});
    }
    return made;
}

} // namespace

std::optional<std::int64_t> cores_per_chip(const kubernetes::node& of) {
    if (!of.capacity.contains(core_resource)) return std::nullopt;
    const auto parts = text::split(value_of(of.labels, server_label), '-');
    const auto cores = parts.size() < 2 ? std::nullopt : text::whole_number(parts[1], cores_max);
    return cores == 8 || cores == 10 ? cores : std::nullopt;
}

node_reading read_node(const kubernetes::node& of, const device_info& info,
                       std::span<const kubernetes::pod* const> on_node, const options& with) {
    node_reading result;
    const auto facts = read_facts(of);
    if (!facts) {
        result.problems.push_back(facts.error());
        return result;
    }
    if (!info.device_list.contains(list_key)) {
        result.problems.push_back({.code = error_code::missing,
                                   .where = place(of, "device list", list_key),
                                   .field = "",
                                   .value = "",
                                   .expected = "the list of chips (ConfigMap mindx-dl-deviceinfo-" + of.name + ")"});
        return result;
    }
    chip_health chips;
    if (with.self_maintain) {
        if (!read_infos(of, chips, result.problems)) return result;
    } else {
        read_list(info, list_key, true, chips, result.problems);
    }
    read_list(info, list_key + "-Unhealthy", false, chips, result.problems);
    read_list(info, list_key + "-Recovering", false, chips, result.problems);
    add_used(on_node, chips);
    const bool separating = info.noded_status == "PreSeparate";
    if (separating) {
        result.problems.push_back({.code = error_code::unsupported,
                                   .where = place(of, "NodeD status", ""),
                                   .field = "",
                                   .value = info.noded_status,
                                   .expected = "no status: the node takes no new pods"});
    }
    for (const auto& [number, healthy] : chips) {
        result.indices.push_back(number);
        result.devices.push_back(registration(number, healthy && !separating, *facts, with));
    }
    return result;
}

void write_node(std::span<const device_registration> devices, const options& with, kubernetes::node& to,
                device_info& info) {
    auto infos = nlohmann::ordered_json::object();
    std::string healthy;
    std::string unhealthy;
    std::int64_t cores = 0;
    for (const device_registration& each : devices) {
        if (each.family != family || each.mode != mode_name) continue;
        infos[each.uuid] = nlohmann::ordered_json::object();
        std::string& list = each.healthy ? healthy : unhealthy;
        list += (list.empty() ? "" : ",") + each.uuid;
        cores += each.cores.count();
        to.labels[server_label] = std::string{uuid_prefix} + std::to_string(each.cores.count());
        to.labels[chip_name_label] = each.model;
    }
    if (infos.empty()) return;
    to.labels["accelerator"] = "huawei-" + std::string{family};
    to.capacity[core_resource] = std::to_string(cores);
    to.allocatable[core_resource] = std::to_string(cores);
    if (with.self_maintain) {
        to.annotations[infos_annotation] = infos.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    }
    info.device_list[list_key] = healthy;
    info.device_list[list_key + "-Unhealthy"] = unhealthy;
}

} // namespace vgpualloc::dialect::mindcluster
