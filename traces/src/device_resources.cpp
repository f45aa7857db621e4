#include "device_resources.hpp"

#include <algorithm>
#include <array>

namespace vgputraces {

namespace {

struct known_resource {
    std::string_view name;
    bool is_counted;
};

constexpr std::array<known_resource, 14> known_resources{{{"nvidia.com/gpu", true},
                                                          {"nvidia.com/gpu.shared", true},
                                                          {"nvidia.com/gpumem", false},
                                                          {"nvidia.com/gpumem-percentage", false},
                                                          {"nvidia.com/gpucores", false},
                                                          {"volcano.sh/vgpu-number", true},
                                                          {"volcano.sh/vgpu-memory", false},
                                                          {"volcano.sh/vgpu-memory-percentage", false},
                                                          {"volcano.sh/vgpu-cores", false},
                                                          {"volcano.sh/gpu-number", true},
                                                          {"volcano.sh/gpu-memory", false},
                                                          {"volcano.sh/gpu-mem.128Mi", false},
                                                          {"volcano.sh/gpu-core.percentage", false},
                                                          {"huawei.com/npu-core", false}}};

// Profiles and types are too many to list.
constexpr std::string_view mig_instances = "nvidia.com/mig-";
constexpr std::string_view ascend_chips = "huawei.com/Ascend";

std::string label_of(std::string_view resource) {
    std::string label{resource};
    for (char& letter : label) {
        const bool is_taken =
            (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9');
        if (!is_taken) letter = '_';
    }
    return label;
}

/// "huawei.com/Ascend910B3-memory" and "-core", which HAMi adds to the chip.
bool is_amount_of_chip(std::string_view resource) {
    return resource.ends_with("-memory") || resource.ends_with("-core");
}

} // namespace

bool is_device_resource(std::string_view resource) {
    return resource.starts_with(mig_instances) || resource.starts_with(ascend_chips) ||
           std::ranges::find(known_resources, resource, &known_resource::name) != known_resources.end();
}

bool counts_as_gpus(std::string_view resource) {
    if (resource.starts_with(mig_instances)) return true;
    if (resource.starts_with(ascend_chips)) return !is_amount_of_chip(resource);
    const auto known = std::ranges::find(known_resources, resource, &known_resource::name);
    return known != known_resources.end() && known->is_counted;
}

std::optional<std::string> device_resource_of_label(std::string_view label) {
    for (const known_resource& known : known_resources) {
        if (label_of(known.name) == label) return std::string{known.name};
    }
    for (const std::string_view family : {mig_instances, ascend_chips}) {
        if (!label.starts_with(label_of(family)) || label.size() == family.size()) continue;
        // Of "1g.10gb" and "910-4c.3cpu" the first '_' after a chip's name is a dash, all others are points.
        std::string rest{label.substr(family.size())};
        if (const std::size_t dash = rest.find('_'); family == ascend_chips && dash != std::string::npos) {
            rest[dash] = '-';
        }
        std::ranges::replace(rest, '_', '.');
        return std::string{family} + rest;
    }
    return std::nullopt;
}

} // namespace vgputraces
