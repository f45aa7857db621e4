// Cutting the GPUs of a node by the name of a layout.
#include "vgpualloc/dialect/nvidia_layouts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "nvidia_boards.hpp"
#include "nvidia_parts.hpp"

namespace vgpualloc::dialects::nvidia {

namespace {

/// As many instances of a profile as a GPU has room for.
std::int64_t most_of(const mig_model& model, std::size_t profile) {
    std::int64_t count = model.profiles[profile].max_instances;
    while (count > 0 && !places_on_board(model, std::vector(static_cast<std::size_t>(count), profile))) --count;
    return count;
}

/// One 3g where the model has it, one 2g and two 1g.
std::optional<layout> balanced(const mig_model& model) {
    layout result{.name = "all-balanced"};
    std::vector<std::size_t> instances;
    for (const auto& [slices, count] : std::array<std::pair<std::int64_t, std::int64_t>, 3>{{{3, 1}, {2, 1}, {1, 2}}}) {
        const auto profile = std::ranges::find_if(model.profiles, [slices](const mig_profile& entry) {
            return entry.kind == mig_profile_kind::core && entry.compute_slices == mig_compute{slices};
        });
        if (profile == model.profiles.end()) {
            if (slices == 3) continue;
            return std::nullopt;
        }
        result.parts.push_back({.profile = profile->name, .instances = count});
        instances.insert(instances.end(), static_cast<std::size_t>(count),
                         static_cast<std::size_t>(profile - model.profiles.begin()));
    }
    return places_on_board(model, instances) ? std::optional{result} : std::nullopt;
}

error at_node(error problem, const kubernetes::node& node) {
    problem.where = "node " + node.name;
    return problem;
}

bool has_same_parts(std::vector<layout_part> left, std::vector<layout_part> right) {
    std::ranges::sort(left, {}, &layout_part::profile);
    std::ranges::sort(right, {}, &layout_part::profile);
    return left == right;
}

/// The name of the layout that all devices are cut by.
std::string name_of_layout(const kubernetes::node& node, const std::vector<device_registration>& devices,
                           const mig_model& model) {
    const std::vector<layout_part> parts = parts_of(devices.front());
    const auto differs = [&](const device_registration& device) { return !has_same_parts(parts_of(device), parts); };
    if (std::ranges::any_of(devices, differs)) return {};
    std::string by_parts;
    for (const layout& entry : layouts_of(model)) {
        if (!has_same_parts(entry.parts, parts)) continue;
        if (entry.name == kubernetes::value_of(node.labels, layout_label)) return entry.name;
        if (by_parts.empty()) by_parts = entry.name;
    }
    return by_parts;
}

/// What is read of a node before it is cut.
struct read_gpus {
    node_gpus gpus;
    std::vector<device_registration> devices;
};

expected<read_gpus> read_gpus_of(const kubernetes::node& node, const options& configured) {
    std::vector<device_registration> devices = read_devices(node, configured).devices;
    std::erase_if(devices, [](const device_registration& device) {
        return device.family != gpu_family && device.family != mig_family;
    });
    if (devices.empty()) {
        return unexpected(at_node(
            bad_value(error_code::unsupported, "", node.name, "a node with GPUs of NVIDIA's own device plugin"), node));
    }
    const std::string& name = devices.front().model;
    const auto model = find_model(*configured.catalog, name);
    if (!model) {
        const std::string expected_text = "a GPU that the catalog has MIG profiles of";
        error unknown_gpu =
            name.empty() ? bad_input(error_code::unknown_name, "", "no label says which GPUs it has", expected_text)
                         : bad_value(error_code::unknown_name, "", name, expected_text);
        return unexpected(at_node(std::move(unknown_gpu), node));
    }
    for (const device_registration& device : devices) {
        const bool is_shared =
            (device.mode != exclusive_mode && device.mode != mig_mode) ||
            std::ranges::any_of(device.geometry, [](const mig_group& group) {
                return std::ranges::any_of(group.kinds, [](const mig_kind& kind) { return kind.replicas > 1; });
            });
        if (!is_shared) continue;
        return unexpected(at_node(bad_value(error_code::unsupported, "", device.mode,
                                            "GPUs that are whole, or instances without replicas, to be cut anew"),
                                  node));
    }
    std::string layout = name_of_layout(node, devices, **model);
    const std::int64_t gpus = std::ssize(devices);
    return read_gpus{.gpus = {.model = *model, .gpus = gpus, .layout = std::move(layout)},
                     .devices = std::move(devices)};
}

/// Takes away what the plugin and feature discovery say of the GPUs of a node.
void forget_gpus(kubernetes::node& node) {
    const auto is_counted = [](const auto& entry) { return counts_devices(entry.first); };
    std::erase_if(node.allocatable, is_counted);
    std::erase_if(node.capacity, is_counted);
    constexpr std::array words{"product", "memory", "count", "replicas", "sharing-strategy"};
    for (const char* const word : words) node.labels.erase(std::string{gpu_resource} + "." + word);
    std::erase_if(node.labels, [](const auto& entry) { return entry.first.starts_with(mig_prefix); });
}

} // namespace

std::vector<layout> layouts_of(const mig_model& model) {
    std::vector<layout> result{{.name = whole_layout}};
    for (std::size_t p = 0; p < model.profiles.size(); ++p) {
        const std::string& profile = model.profiles[p].name;
        result.push_back({.name = "all-" + words_of_profile(profile),
                          .parts = {{.profile = profile, .instances = most_of(model, p)}}});
    }
    if (auto entry = balanced(model)) result.push_back(*std::move(entry));
    return result;
}

std::vector<layout_part> parts_of(const device_registration& device) {
    std::vector<layout_part> parts;
    for (const mig_group& group : device.geometry) {
        for (const mig_kind& kind : group.kinds) {
            if (kind.count > 0) parts.push_back({.profile = kind.name, .instances = kind.count});
        }
    }
    return parts;
}

std::optional<mig_layout> places_of(const mig_model& model, const std::vector<layout_part>& parts) {
    std::vector<std::size_t> instances;
    for (const layout_part& part : parts) {
        const auto profile = std::ranges::find(model.profiles, part.profile, &mig_profile::name);
        if (profile == model.profiles.end()) return std::nullopt;
        instances.insert(instances.end(), static_cast<std::size_t>(part.instances),
                         static_cast<std::size_t>(profile - model.profiles.begin()));
    }
    std::ranges::stable_sort(instances, std::ranges::greater{},
                             [&model](std::size_t p) { return model.profiles[p].size; });
    return places_on_board(model, instances);
}

expected<node_gpus> gpus_of(const kubernetes::node& node, const options& configured) {
    auto read = read_gpus_of(node, configured);
    if (!read) return unexpected(std::move(read).error());
    return read->gpus;
}

expected<void> cut_node(kubernetes::node& node, std::string_view name, const options& configured) {
    auto read = read_gpus_of(node, configured);
    if (!read) return unexpected(std::move(read).error());
    const mig_model& model = *read->gpus.model;
    const std::vector<layout> layouts = layouts_of(model);
    const auto wanted = std::ranges::find(layouts, name, &layout::name);
    if (wanted == layouts.end()) {
        std::string names;
        for (const layout& entry : layouts) names += (names.empty() ? "" : ", ") + entry.name;
        const bool is_named = !name.empty();
        return unexpected(
            at_node(bad_value(is_named ? error_code::unknown_name : error_code::missing, "",
                              is_named ? std::string{name} : "mig",
                              (is_named ? "a layout of " : "mig:LAYOUT with a layout of ") + model.name + ": " + names),
                    node));
    }
    const bool is_single = kubernetes::value_of(node.labels, strategy_label) == "single";
    if (is_single && wanted->parts.size() > 1) {
        return unexpected(at_node(bad_value(error_code::unsupported, "", std::string{name},
                                            "a layout of one profile, as the node's MIG strategy is single"),
                                  node));
    }
    const std::string strategy = kubernetes::value_of(node.labels, strategy_label);
    forget_gpus(node);
    mib whole = model.memory.value_or(mib{1});
    for (device_registration& device : read->devices) {
        if (device.mode == exclusive_mode) whole = device.memory;
    }
    for (device_registration& device : read->devices) {
        device.mode = wanted->parts.empty() ? exclusive_mode : mig_mode;
        device.family = wanted->parts.empty() || is_single ? gpu_family : mig_family;
        device.memory = whole;
        device.slots = 1;
        device.geometry.clear();
        if (wanted->parts.empty()) continue;
        mig_group group;
        for (const layout_part& part : wanted->parts) {
            group.kinds.push_back({.name = part.profile,
                                   .memory = charged_memory(model, **find_profile(model, part.profile), whole),
                                   .count = part.instances,
                                   .replicas = 1});
        }
        device.geometry.push_back(std::move(group));
    }
    write_devices(read->devices, node);
    if (!strategy.empty()) node.labels[strategy_label] = strategy;
    if (wanted->parts.empty()) node.labels[std::string{gpu_resource} + ".count"] = std::to_string(read->gpus.gpus);
    node.labels[layout_label] = wanted->name;
    return {};
}

} // namespace vgpualloc::dialects::nvidia
