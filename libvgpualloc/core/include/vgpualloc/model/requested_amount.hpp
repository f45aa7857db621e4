// What pods ask for of a cluster, whoever decides and wherever they run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/model/requested_share.hpp"

namespace vgpualloc {

/// Whether it asks for devices by number alone (nvidia.com/gpu), which may be whole devices, replicas or MIG instances.
[[nodiscard]] bool is_of_units_alone(const device_request& container);
/// Whether the container says by uuid which devices it takes, or does not.
[[nodiscard]] bool names_uuids(const device_request& container);
/// Whether it takes a device of that uuid.
[[nodiscard]] bool accepts_uuid(const device_request& container, const std::string& uuid);

/// One container's devices: `count` times `share`.
struct requested_devices {
    std::int64_t count = 0;
    requested_share share;
    /// What each takes at the least, where this is less: units that are asked for by number alone may be whole devices
    /// on some nodes and parts of one on others.
    std::optional<requested_share> least{};

    [[nodiscard]] const requested_share& taken() const noexcept { return least ? *least : share; }
    bool operator==(const requested_devices&) const = default;
};

/// What a pod asks for in GPUs: the sums over its containers, of memory and of compute.
struct requested_amount {
    std::vector<requested_devices> devices{}; ///< by container, those without devices left out
    /// Whether every container has devices that could serve it idle, on nodes with all that the pod asks for.
    bool can_be_served = true;
    /// Whether the largest memory among the devices that a container may get is more than 1.5 times their mean: a pod
    /// that could go to any of them counts by the largest.
    bool has_uneven_devices = false;
    /// Whether units that are asked for by number alone may be whole devices and parts of some (replicas, MIG
    /// instances), of which the largest share is more than 1.5 times the smallest.
    bool has_uneven_units = false;

    bool operator==(const requested_amount&) const = default;
};

/// The devices that a request takes at the least, added up: memory and compute, each in GPUs. Rounded, so for
/// comparisons only.
struct gpus_taken {
    double memory = 0.0;
    double compute = 0.0;

    gpus_taken& operator+=(const gpus_taken& other) noexcept {
        memory += other.memory;
        compute += other.compute;
        return *this;
    }
    [[nodiscard]] double larger() const noexcept { return std::max(memory, compute); }
};
[[nodiscard]] inline gpus_taken gpus_of(const requested_amount& amount) noexcept {
    const auto gpus = [](std::int64_t count, const fraction& of_device) {
        return static_cast<double>(count) * static_cast<double>(of_device.part) / static_cast<double>(of_device.whole);
    };
    gpus_taken sum;
    for (const requested_devices& part : amount.devices) {
        sum += {.memory = gpus(part.count, part.taken().memory), .compute = gpus(part.count, part.taken().compute)};
    }
    return sum;
}

/// Works out what pods ask for of one cluster. A request is taken as it is written: what it is rounded up to (a MIG
/// instance, a template, a whole device) is allocation. Memory and compute of a container are each the smallest share
/// (sharing_mode::requested) over the devices that it *admits*, so that no pod counts more than it takes of any device
/// that it may get, and placements change nothing. Of units that are asked for by number alone they are the largest:
/// `nvidia.com/gpu: 8` means 8 GPUs, also where another pool has replicas of the same name. What is served counts the
/// smallest of these too (requested_devices::taken()).
///
/// A container admits a device, in service or not, if node selector, required affinity, tolerations, resources,
/// families, models, types, uuids and mode allow it, and if the device could hold one device's worth when it is empty.
/// If there is no such device, tolerations are left out, then selectors and affinity; if there still is none, each
/// device asked for counts as a whole one. Taints that tell of a node's state, cordons and readiness do not count.
class requested_amounts {
public:
    /// The cluster must outlive this and keep its nodes meanwhile.
    explicit requested_amounts(const cluster& nodes) : nodes_{&nodes} {}

    [[nodiscard]] requested_amount of(const pod_request& request);

private:
    /// Which of a pod's rules are looked at.
    enum class rules_kept : std::uint8_t { all, without_tolerations, resources_only };

    /// By kind, how many devices there are; of nodes that certain rules allow.
    using device_counts = std::vector<std::int64_t>;

    [[nodiscard]] device_counts count_devices(const host_rules& rules, rules_kept kept,
                                              const device_request* container) const;
    [[nodiscard]] device_counts counts_for(const host_rules& rules, const device_request& container, rules_kept kept);
    [[nodiscard]] requested_devices share_of_container(const pod_request& request, const device_request& container,
                                                       requested_amount& result);

    const cluster* nodes_;
    std::map<std::tuple<host_rules, rules_kept>, device_counts> counts_;
};

} // namespace vgpualloc
