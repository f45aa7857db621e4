// The nvidia dialect.
#include "vgpualloc/dialect/nvidia.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "counted_resources.hpp"
#include "listed_dialect.hpp"
#include "text.hpp"
#include "vgpualloc/dialect/cce.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "vgpualloc/dialect/gpushare.hpp"
#include "vgpualloc/dialect/hami.hpp"
#include "vgpualloc/dialect/volcano_vgpu.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::dialects::nvidia {

namespace {

using kubernetes::value_of;

constexpr std::string_view domain = "nvidia.com/";
constexpr std::string_view mig_prefix = "nvidia.com/mig-";
constexpr const char* shared_gpu_resource = "nvidia.com/gpu.shared";
constexpr const char* time_slicing_label = "time-slicing";

/// A resource of which one unit is one device of the node, or one of the replicas of a device.
bool counts_devices(std::string_view resource) {
    return resource == gpu_resource || resource == shared_gpu_resource || resource.starts_with(mig_prefix);
}

/// Whether a node has beside NVIDIA's plugin another system that says what its GPUs are.
bool is_served_by_another(const kubernetes::node& node) {
    constexpr std::array annotations{hami::register_annotation, volcano_vgpu::register_annotation,
                                     cce::register_annotation};
    static const std::array resources{volcano_vgpu::options{}.count_name, gpushare::options{}.number_name,
                                      gpushare::options{}.memory_name, cce::options{}.memory_name};
    return std::ranges::any_of(annotations, [&](const char* key) { return node.annotations.contains(key); }) ||
           std::ranges::any_of(resources, [&](const std::string& name) { return text::offers(node, name); });
}

std::string_view family_of(std::string_view resource) { return resource == gpu_resource ? gpu_family : resource; }

/// What feature discovery labels the devices of a resource with: "nvidia.com/gpu.memory",
/// "nvidia.com/mig-1g.5gb.memory".
const std::string& label_of(const kubernetes::node& node, const std::string& resource, const char* word) {
    const std::string stem = resource == shared_gpu_resource ? gpu_resource : resource;
    return value_of(node.labels, stem + "." + word);
}

/// Reads the devices of one node.
class node_reader {
public:
    node_reader(const kubernetes::node& node, const mig_catalog& catalog) : node_{&node}, catalog_{&catalog} {}

    [[nodiscard]] node_reading take() { return std::move(reading_); }

    void read(const std::string& resource) {
        const auto healthy = amount(resource, node_->allocatable, "allocatable ");
        if (!healthy) return;
        const auto all = node_->capacity.contains(resource) ? amount(resource, node_->capacity, "capacity ") : healthy;
        if (!all) return;
        const std::string& product = label_of(*node_, resource, "product");
        const std::int64_t replicas = replicas_of(resource, *healthy, *all);
        for (std::int64_t i = 0; i < std::max(*healthy, *all) / replicas; ++i) {
            device_registration device;
            device.uuid = node_->name + "/" + resource.substr(domain.size()) + "/" + std::to_string(i);
            device.model = product.empty() && resource != gpu_resource ? resource.substr(domain.size()) : product;
            device.family = family_of(resource);
            device.mode = replicas > 1 ? time_slicing_mode_name : mode_name;
            device.slots = replicas;
            device.memory = memory_of(resource);
            device.healthy = i < *healthy / replicas;
            reading_.devices.push_back(std::move(device));
            reading_.indices.push_back(i);
        }
        if (*healthy > 0 && replicas == 1) warn_of_sharing(resource);
    }

private:
    /// None, and a problem, for an amount that no node has.
    std::optional<std::int64_t> amount(const std::string& resource, const kubernetes::text_map& amounts,
                                       const char* field) {
        const std::string& written = value_of(amounts, resource);
        const auto units = written.empty() ? std::optional<std::int64_t>{0} : text::quantity(written);
        if (units && *units <= devices_per_node_max) return units;
        reading_.problems.push_back({.code = units ? error_code::out_of_range : error_code::malformed,
                                     .where = "node " + node_->name,
                                     .field = field + resource,
                                     .value = written,
                                     .expected = "a whole number up to " + std::to_string(devices_per_node_max)});
        return std::nullopt;
    }

    /// How many containers take turns on each GPU; 1 where no label says so, or the amounts are not those of whole
    /// GPUs.
    [[nodiscard]] std::int64_t replicas_of(const std::string& resource, std::int64_t healthy, std::int64_t all) const {
        const bool is_gpu = resource == gpu_resource || resource == shared_gpu_resource;
        if (!is_gpu || label_of(*node_, resource, "sharing-strategy") != time_slicing_label) return 1;
        const std::int64_t replicas =
            text::whole_number(label_of(*node_, resource, "replicas"), devices_per_node_max).value_or(1);
        return replicas > 0 && healthy % replicas == 0 && all % replicas == 0 ? replicas : 1;
    }

    /// By the label, or else the catalog: whole GPUs only.
    [[nodiscard]] mib memory_of(const std::string& resource) const {
        constexpr mib unknown{1};
        const auto labelled = text::whole_number(label_of(*node_, resource, "memory"), device_memory_max.count());
        if (labelled.value_or(0) > 0) return mib{*labelled};
        const std::string& product = label_of(*node_, resource, "product");
        if (resource != gpu_resource || product.find("-MIG-") != std::string::npos) return unknown;
        const auto model = find_model(*catalog_, product);
        return model ? (*model)->memory.value_or(unknown) : unknown;
    }

    void warn(const std::string& resource, const std::string& value, std::string expected) {
        reading_.warnings.push_back({.code = error_code::mismatch,
                                     .where = "node " + node_->name,
                                     .field = resource,
                                     .value = value,
                                     .expected = std::move(expected)});
    }

    /// Says of units that are no GPU of their own what they are.
    void warn_of_sharing(const std::string& resource) {
        const std::string& units = value_of(node_->allocatable, resource);
        const std::string& replicas = label_of(*node_, resource, "replicas");
        const std::string& product = label_of(*node_, resource, "product");
        const bool shared = text::whole_number(replicas, devices_per_node_max).value_or(1) > 1 ||
                            product.ends_with("-SHARED") || resource.ends_with(".shared");
        if (shared) {
            const std::string& strategy = label_of(*node_, resource, "sharing-strategy");
            warn(resource, units,
                 "units that are a device of their own; these are shared" +
                     (strategy.empty() ? std::string{} : " by " + strategy) +
                     (replicas.empty() ? std::string{} : ", " + replicas + " containers on each") +
                     ", and no memory is set apart for any of them");
        }
        if (resource == gpu_resource && value_of(node_->labels, "nvidia.com/mig.strategy") == "single" &&
            product.find("-MIG-") != std::string::npos) {
            warn(resource, units,
                 "whole GPUs; these are MIG instances (nvidia.com/mig.strategy is single), each " + product);
        }
    }

    const kubernetes::node* node_;
    const mig_catalog* catalog_;
    node_reading reading_;
};

class nvidia_dialect final : public listed_dialect<list_entry, options> {
public:
    using listed_dialect::listed_dialect;

    [[nodiscard]] std::vector<std::string> resources() const override {
        return options_.reads_gpu ? std::vector<std::string>{gpu_resource, shared_gpu_resource}
                                  : std::vector<std::string>{shared_gpu_resource};
    }
    [[nodiscard]] bool reads_resource(std::string_view resource) const override { return reads(resource); }
    [[nodiscard]] bool assigned_by_kubelet() const noexcept override { return true; }
    [[nodiscard]] bool counts_init_apart(const kubernetes::pod& /*pod*/) const override { return true; }

    [[nodiscard]] bool reads_init_containers() const noexcept override { return true; }

    [[nodiscard]] bool requests(const kubernetes::pod& pod) const override {
        return std::ranges::any_of(text::all_containers(pod), [this](const kubernetes::container* container) {
            return std::ranges::any_of(container->requests, [this](const auto& entry) { return reads(entry.first); });
        });
    }

    [[nodiscard]] expected<pod_request> read_pod(const kubernetes::pod& pod) const override {
        pod_request request;
        for (const auto* const list : {&pod.init_containers, &pod.containers}) {
            for (const kubernetes::container& container : *list) {
                const bool ends = list == &pod.init_containers && !container.stays;
                for (const auto& [resource, amount] : container.requests) {
                    if (!reads(resource) || amount == 0) continue;
                    if (amount < 0 || amount > devices_per_node_max) {
                        return unexpected(out_of_range(pod, container, resource));
                    }
                    if (!ends) request.containers.push_back(entry_for(resource, amount));
                }
            }
        }
        const auto counts = [this](const std::string& resource) { return reads(resource); };
        for (const auto& [resource, amount] : needed_at_init(pod, counts)) {
            request.containers.push_back(entry_for(resource, amount));
        }
        return request;
    }

    [[nodiscard]] node_reading read_node(const node_source& source) const override {
        const kubernetes::node& node = source.object;
        node_reader reader{node, *options_.catalog};
        for (const auto& [resource, amount] : node.allocatable) {
            if (!counts_devices(resource) || (resource == gpu_resource && is_served_by_another(node))) continue;
            reader.read(resource);
        }
        return reader.take();
    }

    void write_node(std::span<const device_registration> devices, kubernetes::node& node,
                    kubernetes::text_map& /*config_map*/) const override {
        std::map<std::string, std::pair<std::int64_t, std::int64_t>> units; // healthy, and all
        for (const device_registration& device : devices) {
            const std::string resource = device.family == gpu_family ? gpu_resource : device.family;
            const bool takes_turns = device.mode == time_slicing_mode_name;
            if ((device.mode != mode_name && !takes_turns) || !counts_devices(resource)) continue;
            auto& [healthy, all] = units[resource];
            const std::int64_t replicas = takes_turns ? device.slots : 1;
            healthy += device.healthy ? replicas : 0;
            all += replicas;
            const std::string stem = resource == shared_gpu_resource ? gpu_resource : resource;
            if (takes_turns) {
                node.labels[stem + ".sharing-strategy"] = time_slicing_label;
                node.labels[stem + ".replicas"] = std::to_string(replicas);
            }
            if (!device.model.empty()) node.labels[stem + ".product"] = device.model;
            node.labels[stem + ".memory"] = std::to_string(device.memory.count());
        }
        for (const auto& [resource, amounts] : units) {
            node.allocatable[resource] = std::to_string(amounts.first);
            node.capacity[resource] = std::to_string(amounts.second);
        }
    }

    [[nodiscard]] assignment_reading read_assignment(const kubernetes::pod&,
                                                     std::span<const device_registration>) const override {
        return {};
    }
    [[nodiscard]] kubernetes::text_map write_assignment(const kubernetes::pod&, std::span<const device_registration>,
                                                        const decision&) const override {
        return {};
    }

private:
    static device_request entry_for(const std::string& resource, std::int64_t amount) {
        device_request entry;
        entry.count = amount;
        entry.family = family_of(resource);
        entry.cores = whole_compute;
        return entry;
    }

    static error out_of_range(const kubernetes::pod& pod, const kubernetes::container& container,
                              const std::string& resource) {
        return {.code = error_code::out_of_range,
                .where = "pod " + pod.ns + "/" + pod.name + ", container " + container.name,
                .field = resource,
                .value = kubernetes::written_of(container, resource, container.requests.at(resource)),
                .expected = "a whole number from 0 to " + std::to_string(devices_per_node_max)};
    }

    [[nodiscard]] bool reads(std::string_view resource) const {
        return counts_devices(resource) && (resource != gpu_resource || options_.reads_gpu);
    }
};

} // namespace

std::shared_ptr<const dialect> make(options configured) {
    return std::make_shared<const nvidia_dialect>(std::move(configured));
}

options options_of(const dialect_config& config) {
    return {.reads_gpu = config.devices.hami && config.devices.hami->count_name != gpu_resource, .catalog = config.mig};
}

} // namespace vgpualloc::dialects::nvidia
