// The mindcluster dialect: the chips of a node.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hami_annotation.hpp"
#include "mindcluster_parts.hpp"
#include "text.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::dialects::mindcluster {

namespace {

using hami_text::place;
using kubernetes::value_of;
using vgpuformats::document;

constexpr const char* chip_name_label = "node.kubernetes.io/npu.chip.name";
constexpr const char* server_label = "servertype";
constexpr const char* infos_annotation = "baseDeviceInfos";
constexpr const char* info_key = "DeviceInfoCfg"; // of the ConfigMap
constexpr std::int64_t ai_cpus = 7;
constexpr std::int64_t cores_max = 1'000'000;

/// What the labels and the capacity say of the node's chips.
struct chip_facts {
    std::string model;
    std::int64_t cores = 0;
};

/// The first check that the node fails is the error.
expected<chip_facts> read_facts(const kubernetes::node& node) {
    const auto bad = [&node](std::string_view kind, std::string_view name, const std::string& value,
                             std::string expected_text) {
        const error_code code = value.empty() ? error_code::missing : error_code::malformed;
        return unexpected(text::bad_or_missing(code, "", value, std::move(expected_text)).at(place(node, kind, name)));
    };
    const std::string& written = value_of(node.capacity, core_resource);
    const auto capacity = text::whole_number(written, cores_max);
    if (capacity.value_or(0) == 0) return bad("capacity", core_resource, written, "a whole number of AI cores above 0");
    const std::string& offered = value_of(node.allocatable, core_resource);
    if (!text::whole_number(offered, cores_max)) {
        return bad("allocatable", core_resource, offered, "a whole number of AI cores");
    }
    const std::string& accelerator = value_of(node.labels, "accelerator");
    const auto words = text::split(accelerator, '-');
    if (words.size() < 2 || words[1] != family) {
        return bad("label", "accelerator", accelerator, "<vendor>-" + std::string{family});
    }
    const std::string& server = value_of(node.labels, server_label);
    const auto cores = cores_per_chip(node);
    if (!cores) {
        return bad("label", server_label, server, "Ascend310P-<AI cores per chip, 8 or 10>");
    }
    const std::string& chip = value_of(node.labels, chip_name_label);
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
        problems.push_back(bad_value(error_code::malformed, "", name, std::string{uuid_prefix} + "<number>").at(where));
        return;
    }
    const auto [at, added] = chips.try_emplace(*number, healthy);
    if (!added) at->second = at->second && healthy;
}

/// The chips that the device plugin lists on the Node object. False: there is no list, and the node is not valid.
bool read_infos(const kubernetes::node& node, chip_health& chips, std::vector<error>& problems) {
    const std::string where = place(node, "annotation", infos_annotation);
    const auto annotation = node.annotations.find(infos_annotation);
    if (annotation == node.annotations.end()) {
        problems.push_back(bad_input(error_code::missing, "", "missing", "a JSON object by chip").at(where));
        return false;
    }
    const auto infos = vgpuformats::parse_json(annotation->second, where);
    if (!infos || !infos->is_map()) {
        problems.push_back(infos ? bad_input(error_code::malformed, "", "no object", "a JSON object by chip").at(where)
                                 : infos.error());
        return false;
    }
    for (const auto& [name, info] : infos->members) {
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
/// plugin has not said which virtual NPU a pod really got, its chip is not settled and takes no other; a warning says
/// so.
void add_used(std::span<const kubernetes::pod* const> pods, chip_health& chips, std::vector<error>& warnings) {
    for (const kubernetes::pod* pod : pods) {
        const bool settled = !value_of(pod->annotations, "huawei.com/AscendReal").empty();
        for (const std::string_view entry : text::split(value_of(pod->annotations, core_resource), ';')) {
            for (const std::string_view piece : text::split(entry, ',')) {
                const auto number = text::whole_number(text::split(piece, '-').front(), chip_number_max);
                if (!number) continue;
                const auto [at, added] = chips.try_emplace(*number, false);
                if (!added && at->second && !settled) {
                    warnings.push_back(bad_input(error_code::missing, "", "missing",
                                                 "the virtual NPU that it got: until the device plugin writes it, "
                                                 "chip " +
                                                     std::string{uuid_prefix} + std::to_string(*number) +
                                                     " waits, takes no other pod, and is told as unhealthy")
                                           .at(place(*pod, "annotation", "huawei.com/AscendReal")));
                }
                if (!added) at->second = at->second && settled;
            }
        }
    }
}

device_registration registration(std::int64_t number, bool healthy, const chip_facts& facts,
                                 const options& configured) {
    device_registration chip;
    chip.uuid = std::string{uuid_prefix} + std::to_string(number);
    chip.model = facts.model;
    chip.family = family;
    chip.mode = mode_name;
    chip.memory = configured.memory;
    chip.cores = core_percent{facts.cores};
    chip.slots = configured.slots;
    chip.healthy = healthy;
    chip.npu.name = family;
    chip.npu.memory_allocatable = configured.memory;
    chip.npu.memory_capacity = configured.memory;
    chip.npu.ai_core = facts.cores;
    chip.npu.ai_cpu = ai_cpus;
    for (const mindcluster_310p_template& row : mindcluster_310p_templates) {
        chip.npu.templates.push_back(
            {.name = std::string{row.name}, .memory = mib{0}, .ai_core = row.ai_core, .ai_cpu = row.ai_cpu});
    }
    return chip;
}

} // namespace

std::optional<std::int64_t> cores_per_chip(const kubernetes::node& node) {
    if (!node.capacity.contains(core_resource)) return std::nullopt;
    const auto parts = text::split(value_of(node.labels, server_label), '-');
    const auto cores = parts.size() < 2 ? std::nullopt : text::whole_number(parts[1], cores_max);
    return cores == 8 || cores == 10 ? cores : std::nullopt;
}

std::optional<device_info> read_device_info(const kubernetes::text_map& config_map) {
    const auto written = config_map.find(info_key);
    if (written == config_map.end()) return std::nullopt;
    const auto config = vgpuformats::parse_json(written->second, info_key);
    const document* const outer = config ? config->find("DeviceInfo") : nullptr;
    const document* const list = outer == nullptr ? nullptr : outer->find("DeviceList");
    if (list == nullptr || !list->is_map()) return std::nullopt;
    device_info info;
    for (const auto& [key, chips] : list->members) {
        if (!chips.is_text()) return std::nullopt;
        info.device_list[key] = chips.text;
    }
    return info;
}

node_reading read_node(const kubernetes::node& node, const device_info& info,
                       std::span<const kubernetes::pod* const> pods, const options& configured) {
    node_reading result;
    const auto facts = read_facts(node);
    if (!facts) {
        result.problems.push_back(facts.error());
        return result;
    }
    if (!info.device_list.contains(list_key)) {
        result.problems.push_back(bad_input(error_code::missing, "", "missing",
                                            "the list of chips (ConfigMap mindx-dl-deviceinfo-" + node.name + ")")
                                      .at(place(node, "device list", list_key)));
        return result;
    }
    chip_health chips;
    if (configured.self_maintain) {
        if (!read_infos(node, chips, result.problems)) return result;
    } else {
        read_list(info, list_key, true, chips, result.problems);
    }
    read_list(info, list_key + "-Unhealthy", false, chips, result.problems);
    read_list(info, list_key + "-Recovering", false, chips, result.problems);
    add_used(pods, chips, result.warnings);
    const bool separating = info.noded_status == "PreSeparate";
    if (separating) {
        result.problems.push_back(
            bad_value(error_code::unsupported, "", info.noded_status, "no status: the node takes no new pods")
                .at(place(node, "NodeD status", "")));
    }
    for (const auto& [number, healthy] : chips) {
        result.indices.push_back(number);
        result.devices.push_back(registration(number, healthy && !separating, *facts, configured));
    }
    return result;
}

node_reading chip_dialect::read_node(const node_source& source) const {
    // Nodes without such chips are none of its business; a chip's node says so in its capacity.
    if (!source.object.capacity.contains(core_resource)) return {};
    auto info = source.config_map == nullptr ? std::nullopt : read_device_info(*source.config_map);
    return mindcluster::read_node(source.object, std::move(info).value_or(device_info{}), source.pods, options_);
}

std::string chip_dialect::trait_of(const kubernetes::node& node) const {
    const auto cores = cores_per_chip(node);
    return cores ? std::to_string(*cores) : std::string{};
}

std::shared_ptr<const dialect> chip_dialect::for_traits(const std::set<std::string>& traits) const {
    std::set<std::int64_t> sizes;
    for (const std::string& trait : traits) {
        if (const auto cores = text::whole_number(trait, cores_max)) sizes.insert(*cores);
    }
    if (sizes.empty()) return nullptr;
    options adapted = options_;
    adapted.chip_cores.assign(sizes.begin(), sizes.end());
    adapted.usual_chips = false;
    return make(std::move(adapted));
}

std::int64_t chip_dialect::extended_of(const kubernetes::node& node) const {
    return text::whole_number(value_of(node.allocatable, core_resource), cores_max).value_or(0);
}

void chip_dialect::write_node(std::span<const device_registration> devices, kubernetes::node& node,
                              kubernetes::text_map& config_map) const {
    document infos = document::map();
    std::string healthy;
    std::string unhealthy;
    std::int64_t cores = 0;
    for (const device_registration& chip : devices) {
        if (chip.family != family || chip.mode != mode_name) continue;
        infos[chip.uuid] = document::map();
        std::string& list = chip.healthy ? healthy : unhealthy;
        list += (list.empty() ? "" : ",") + chip.uuid;
        cores += chip.cores.count();
        node.labels[server_label] = std::string{uuid_prefix} + std::to_string(chip.cores.count());
        node.labels[chip_name_label] = chip.model;
    }
    if (infos.size() == 0) return;
    node.labels["accelerator"] = "huawei-" + std::string{family};
    node.capacity[core_resource] = std::to_string(cores);
    node.allocatable[core_resource] = std::to_string(cores);
    if (options_.self_maintain) {
        node.annotations[infos_annotation] = vgpuformats::print_json(infos);
    }
    const document list = document::map({{list_key, healthy}, {list_key + "-Unhealthy", unhealthy}});
    const document info = document::map({{"DeviceInfo", document::map({{"DeviceList", list}})}});
    config_map[info_key] = vgpuformats::print_json(info);
}

} // namespace vgpualloc::dialects::mindcluster
