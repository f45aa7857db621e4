// The nvidia dialect: a node's labels and amounts, as the device plugin and feature discovery write them.
#include <map>
#include <span>
#include <string>
#include <utility>

#include "nvidia_boards.hpp"
#include "nvidia_parts.hpp"

namespace vgpualloc::dialects::nvidia {

namespace {

/// The amounts of a node by resource, and its labels.
class node_writer {
public:
    explicit node_writer(kubernetes::node& node) : node_{&node} {}

    void write(std::span<const device_registration> devices) {
        for (const device_registration& device : devices) {
            if (device.mode == mig_mode && device.geometry.size() == 1) {
                write_instances(device);
            } else if (device.mode == exclusive_mode || device.mode == time_slicing_mode || device.mode == mps_mode) {
                write_gpu(device);
            }
        }
        if (boards_by_profile_ > 0) { // else those of the instances say it, or the amount
            node_->labels[std::string{gpu_resource} + ".count"] = std::to_string(boards_by_profile_ + whole_gpus_);
        }
        for (const auto& [resource, amounts] : units_) {
            node_->allocatable[resource] = std::to_string(amounts.first);
            node_->capacity[resource] = std::to_string(amounts.second);
        }
    }

private:
    void count(const std::string& resource, std::int64_t units, bool healthy) {
        auto& [healthy_units, all] = units_[resource];
        healthy_units += healthy ? units : 0;
        all += units;
    }

    void label(const std::string& stem, const char* word, std::string value) {
        node_->labels[stem + "." + word] = std::move(value);
    }

    void write_gpu(const device_registration& device) {
        const std::string resource = device.family == gpu_family ? gpu_resource : device.family;
        if (!counts_devices(resource)) return;
        const bool is_shared = device.mode != exclusive_mode;
        const std::string stem = stem_of(resource);
        count(resource, is_shared ? device.slots : 1, device.healthy);
        ++whole_gpus_;
        if (is_shared) {
            label(stem, "sharing-strategy", device.mode == mps_mode ? "mps" : "time-slicing");
            label(stem, "replicas", std::to_string(device.slots));
        }
        if (!device.model.empty()) label(stem, "product", device.model);
        label(stem, "memory", std::to_string(device.memory.count()));
    }

    void write_instances(const device_registration& device) {
        const bool is_single = device.family == gpu_family;
        node_->labels[strategy_label] = is_single ? "single" : "mixed";
        if (!is_single) {
            ++boards_by_profile_;
            if (!device.model.empty()) label(gpu_resource, "product", device.model);
            label(gpu_resource, "memory", std::to_string(device.memory.count()));
        }
        for (const mig_kind& kind : device.geometry.front().kinds) {
            if (kind.count == 0) continue;
            const std::string resource =
                is_single ? gpu_resource : std::string{mig_prefix} + words_of_profile(kind.name);
            count(resource, kind.count, device.healthy);
            const std::string stem = stem_of(resource);
            std::string profile = words_of_profile(kind.name);
            if (profile.ends_with(renamed_ending)) profile.resize(profile.size() - renamed_ending.size());
            label(stem, "product", device.model + std::string{mig_words} + profile);
            label(stem, "memory", std::to_string(kind.memory.count() * kind.replicas));
            label(stem, "count", std::to_string(units_[resource].second / kind.replicas));
            if (kind.replicas == 1) continue;
            label(stem, "sharing-strategy", "time-slicing");
            label(stem, "replicas", std::to_string(kind.replicas));
        }
    }

    kubernetes::node* node_;
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> units_; ///< by resource: healthy, and all
    std::int64_t boards_by_profile_ = 0;
    std::int64_t whole_gpus_ = 0;
};

} // namespace

void write_devices(std::span<const device_registration> devices, kubernetes::node& node) {
    node_writer{node}.write(devices);
}

} // namespace vgpualloc::dialects::nvidia
