// Units of NVIDIA's device plugin.
#include "nvidia_units.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "nvidia_parts.hpp"
#include "text.hpp"
#include "vgpualloc/dialect/cce.hpp"
#include "vgpualloc/dialect/gpushare.hpp"
#include "vgpualloc/dialect/hami.hpp"
#include "vgpualloc/dialect/volcano_vgpu.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::dialects::nvidia {

using kubernetes::value_of;

std::string stem_of(const std::string& resource) {
    return resource.ends_with(renamed_ending) ? resource.substr(0, resource.size() - renamed_ending.size()) : resource;
}

bool is_served_by_another(const kubernetes::node& node) {
    constexpr std::array annotations{hami::register_annotation, volcano_vgpu::register_annotation,
                                     cce::register_annotation};
    static const std::array resources{volcano_vgpu::options{}.count_name, gpushare::options{}.number_name,
                                      gpushare::options{}.memory_name, cce::options{}.memory_name};
    return std::ranges::any_of(annotations, [&](const char* key) { return node.annotations.contains(key); }) ||
           std::ranges::any_of(resources, [&](const std::string& name) { return text::offers(node, name); });
}

std::map<std::string, unit_counts> unregistered_units(const kubernetes::node& node, const gpu_labels& labels) {
    constexpr const char* deploy_label = "nvidia.com/gpu.deploy.device-plugin"; // of the GPU operator
    constexpr std::string_view count_ending = ".count";
    std::map<std::string, unit_counts> result;
    if (is_served_by_another(node) || value_of(node.labels, deploy_label) == "false") return result;
    const auto is_renamed_by_plugin = [&](const auto& entry) { // nvidia.com/a100, by the plugin's section `resources`
        return entry.first.starts_with("nvidia.com/") && !counts_devices(entry.first) &&
               text::offers(node, entry.first);
    };
    if (std::ranges::any_of(node.allocatable, is_renamed_by_plugin)) return result;
    const auto add = [&](const std::string& resource) {
        const std::int64_t devices = labels.number_of(resource, "count", devices_per_node_max).value_or(0);
        const std::int64_t replicas = labels.number_of(resource, "replicas", devices_per_node_max).value_or(1);
        const std::int64_t units = devices * std::max<std::int64_t>(replicas, 1);
        if (units > 0 && units <= devices_per_node_max)
            result.emplace(resource, unit_counts{.healthy = 0, .all = units});
    };
    if (value_of(node.labels, strategy_label) == "mixed") {
        for (const auto& [label, value] : node.labels) {
            if (label.starts_with(mig_prefix) && label.ends_with(count_ending)) {
                add(label.substr(0, label.size() - count_ending.size()));
            }
        }
    }
    if (!result.empty()) return result;
    const bool is_renamed = node.allocatable.contains(shared_gpu_resource) && !node.allocatable.contains(gpu_resource);
    add(is_renamed ? shared_gpu_resource : gpu_resource);
    return result;
}

namespace {

/// Feature discovery counts all GPUs of a node of strategy mixed, also those that other resources count.
bool is_count_of(const kubernetes::node& node, const std::string& resource) {
    return resource.starts_with(mig_prefix) || value_of(node.labels, strategy_label) != "mixed";
}

/// The replicas that the plugin's configuration makes of a device, if labels do not say how units share it.
std::optional<std::int64_t> replicas_to_expect(const gpu_labels& labels, const configured_sharing& configured,
                                               const std::string& resource) {
    if (labels.says_how_shared(resource)) return std::nullopt;
    const auto entry = std::ranges::find(configured.resources, stem_of(resource), &resource_replicas::resource);
    return entry == configured.resources.end() ? std::nullopt : std::optional{entry->replicas};
}

/// The replicas that the plugin's configuration makes of a device, where nothing else says it and the units are those.
std::optional<std::int64_t> configured_replicas(const kubernetes::node& node, const gpu_labels& labels,
                                                const configured_sharing& configured, const resource_units& counted) {
    const auto replicas = replicas_to_expect(labels, configured, counted.resource);
    if (!replicas || counted.units.all == 0) return std::nullopt;
    const auto devices = labels.number_of(counted.resource, "count", devices_per_node_max);
    const bool are_those = devices && is_count_of(node, counted.resource) ? *devices * *replicas == counted.units.all
                                                                          : counted.units.all % *replicas == 0;
    return are_those ? replicas : std::nullopt;
}

/// Reads what the units of one resource share.
class sharing_reader {
public:
    sharing_reader(const kubernetes::node& node, const gpu_labels& labels, const resource_units& counted,
                   std::vector<error>& warnings)
        : node_{&node}, labels_{&labels}, counted_{&counted}, warnings_{&warnings} {}

    [[nodiscard]] sharing read(const configured_sharing& configured) {
        const std::string& resource = counted_->resource;
        const std::int64_t units = counted_->units.all;
        const std::string& strategy = labels_->of(resource, "sharing-strategy");
        const auto labelled = number_of("replicas");
        check_labels(strategy, labelled);
        if (const auto replicas = configured_replicas(*node_, *labels_, configured, *counted_)) {
            return {.replicas = *replicas, .by_mps = configured.by_mps, .one_per_container = configured.by_mps};
        }
        const bool is_said_to_share = labels_->says_shared(resource);
        const std::optional<std::int64_t> devices = number_of("count");
        std::int64_t replicas = labelled.value_or(0);
        if (replicas == 0 && is_said_to_share && devices.value_or(0) > 0) replicas = units / *devices;
        if (replicas <= 1 && !is_said_to_share) {
            if (profile_of(labels_->of(resource, "product")).empty()) check_count(configured);
            return {};
        }
        const bool fits = replicas > 0 && units % replicas == 0;
        if (!fits || strategy == "none") {
            if (counted_->units.healthy > 0) warn_of_sharing(strategy, labelled);
            return {};
        }
        if (is_count_of(*node_, resource) && devices && *devices != units / replicas) {
            warn(labels_->name_of(resource, "count"), std::to_string(*devices),
                 std::to_string(units / replicas) + ", as many as the units and replicas make; counted so");
        }
        const bool by_mps = strategy == "mps";
        // GKE's plugin gives a container several clients of MPS where the node has one GPU.
        const bool is_one = labels_->is_of_gke() ? !by_mps || units / replicas > 1 : by_mps;
        return {.replicas = replicas, .by_mps = by_mps, .one_per_container = is_one};
    }

private:
    [[nodiscard]] std::optional<std::int64_t> number_of(std::string_view word) const {
        return labels_->number_of(counted_->resource, word, devices_per_node_max);
    }

    void warn(const std::string& field, const std::string& value, std::string expected) {
        warnings_->push_back(
            bad_value(error_code::mismatch, field, value, std::move(expected)).at("node " + node_->name));
    }

    /// Warns where labels count other GPUs than the units are. Feature discovery counts those that are cut as well, and
    /// says how many replicas there are of each; a cloud does not.
    void check_count(const configured_sharing& configured) {
        const std::string& resource = counted_->resource;
        const std::int64_t units = counted_->units.all;
        if (resource.starts_with(mig_prefix) || !is_count_of(*node_, resource) || units == 0) return;
        const auto devices = number_of("count");
        const std::string label = labels_->name_of(resource, "count");
        if (!devices) {
            const auto replicas = replicas_to_expect(*labels_, configured, resource);
            if (!replicas || *replicas == 1) return;
            warn(resource, std::to_string(units),
                 "a multiple of the " + std::to_string(*replicas) +
                     " replicas that the plugin's configuration makes of a GPU; counted as whole GPUs");
            return;
        }
        if (*devices == units) return;
        const bool may_be_replicas = units > *devices && !labels_->says_how_shared(resource);
        warn(label, std::to_string(*devices),
             std::to_string(units) + ", as many as the node has units; counted so" +
                 (may_be_replicas ? ". If units are replicas, the plugin's configuration (--config) says it" : ""));
    }

    void check_labels(const std::string& strategy, const std::optional<std::int64_t>& replicas) {
        constexpr std::array<std::string_view, 4> strategies{"", "none", "mps", "time-slicing"};
        const std::string& resource = counted_->resource;
        if (std::ranges::find(strategies, strategy) == strategies.end()) {
            warn(labels_->name_of(resource, "sharing-strategy"), strategy,
                 "mps, time-slicing or none; read as time-slicing");
        }
        const std::string& written = labels_->of(resource, "replicas");
        if (!written.empty() && !replicas) {
            warn(labels_->name_of(resource, "replicas"), written,
                 "a whole number up to " + std::to_string(devices_per_node_max) + "; not read");
        }
    }

    /// Says of units that are no device of their own what they are.
    void warn_of_sharing(const std::string& strategy, const std::optional<std::int64_t>& replicas) {
        warn(counted_->resource, value_of(node_->allocatable, counted_->resource),
             "units that are a device of their own; these are shared" +
                 (strategy.empty() ? std::string{} : " by " + strategy) +
                 (replicas ? ", " + std::to_string(*replicas) + " containers on each" : std::string{}) +
                 ", and no memory is set apart for any of them");
    }

    const kubernetes::node* node_;
    const gpu_labels* labels_;
    const resource_units* counted_;
    std::vector<error>* warnings_;
};

} // namespace

sharing read_sharing(const kubernetes::node& node, const gpu_labels& labels, const configured_sharing& configured,
                     const resource_units& counted, std::vector<error>& warnings) {
    return sharing_reader{node, labels, counted, warnings}.read(configured);
}

bool offers_gpus_in_units(const kubernetes::node& node, const configured_sharing& configured) {
    if (is_served_by_another(node)) return false;
    const gpu_labels labels{node, built_in_mig_catalog()};
    resource_units counted{.resource = gpu_resource};
    if (text::offers(node, gpu_resource)) {
        counted.units.all = text::quantity(value_of(node.allocatable, gpu_resource)).value_or(0);
        const auto capacity = text::quantity(value_of(node.capacity, gpu_resource));
        counted.units.all = std::max(counted.units.all, capacity.value_or(0));
    } else if (!unregistered_units(node, labels).contains(gpu_resource)) {
        return false;
    }
    return labels.number_of(gpu_resource, "replicas", devices_per_node_max).value_or(1) > 1 ||
           labels.says_shared(gpu_resource) || !profile_of(labels.of(gpu_resource, "product")).empty() ||
           configured_replicas(node, labels, configured, counted).value_or(1) > 1;
}

} // namespace vgpualloc::dialects::nvidia
