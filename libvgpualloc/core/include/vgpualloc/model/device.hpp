// A device, what is used of it, and the interface of a sharing mode (how it may be cut).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/hash.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/partition.hpp"
#include "vgpualloc/model/placed_parts.hpp"
#include "vgpualloc/model/rejection.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/model/requested_share.hpp"

namespace vgpualloc {

class sharing_mode;

/// Whether a device takes anything new. What runs on it stays counted whatever it is.
enum class service_state : std::uint8_t {
    in_service,
    draining,      ///< keeps what it has
    failed,        ///< broken, or registered as not healthy, or no longer registered at all
    reconfiguring, ///< its layout is being changed
};

/// Why a device in that state takes nothing new; none for one in service.
[[nodiscard]] constexpr rejection_code why_closed(service_state service) noexcept {
    switch (service) {
    case service_state::in_service:
        break;
    case service_state::draining:
        return rejection_code::device_draining;
    case service_state::failed:
        return rejection_code::device_unhealthy;
    case service_state::reconfiguring:
        return rejection_code::device_reconfiguring;
    }
    return rejection_code::none;
}

/// What a device is, apart from what is used of it and whether it is in service.
struct device_spec {
    std::string model;
    std::string family{}; ///< as resource names say ("NVIDIA", "Ascend910B4"); a request may ask for one
    mib memory;
    core_percent cores = whole_compute;
    std::int64_t slots = 1;             ///< split count: how many containers may share it
    const sharing_mode* mode = nullptr; ///< not null; immutable: from mode/all.hpp, or kept alive by cluster::modes

    bool operator==(const device_spec&) const = default;
};

/// What is used of a device. The same set of partitions always gives the same value, whatever the order of placement.
struct device_state {
    mib memory;
    core_percent cores;
    std::int64_t slots = 0;   ///< containers on it
    std::uint64_t layout = 0; ///< the mode's own word (whole device taken, MIG occupancy, …); 0 = empty

    auto operator<=>(const device_state&) const = default;
};

[[nodiscard]] constexpr std::uint64_t hash_value(const device_state& state) noexcept {
    std::uint64_t h =
        hash_combine(static_cast<std::uint64_t>(state.memory.count()), static_cast<std::uint64_t>(state.cores.count()));
    h = hash_combine(h, static_cast<std::uint64_t>(state.slots));
    return hash_combine(h, state.layout);
}

/// What is used of a device as a mode counts it: the amounts of device_state, and what a mode counts besides.
struct use_vector {
    mib memory;
    core_percent compute;
    std::int64_t slots = 0;
    std::int64_t ai_cpus = 0; ///< of NPUs, which run the operators that AI cores cannot

    bool operator==(const use_vector&) const = default;
};

/// A part in its mode's own names and amounts, for those who print or compare it.
struct part_description {
    std::string name;   ///< of the profile or template; empty where there is none, as of a slice or a whole device
    std::string group;  ///< of the geometry groups of MIG, the one that it belongs to
    mib memory;         ///< that a container gets with it
    core_percent cores; ///< likewise; AI cores where a device counts its compute in these

    bool operator==(const part_description&) const = default;
};

/// Which device of a node gives the next unit, where a device plugin offers devices as units of a resource (replicas,
/// MPS clients, MIG instances that exist) and the kubelet, not the scheduler, chooses among them. Source: NVIDIA's
/// k8s-device-plugin 0.20, sharedDevicesAllocationPolicy.
enum class unit_order : std::uint8_t {
    none,        ///< not offered as units: the scheduler chooses
    distributed, ///< the one with the fewest units given out
    packed,      ///< the one with the most
};

/// How a device plugin offers a device as units.
struct unit_rules {
    unit_order order = unit_order::none;
    bool one_per_container = false; ///< it turns away a container that asks for more

    [[nodiscard]] constexpr bool in_units() const noexcept { return order != unit_order::none; }
    bool operator==(const unit_rules&) const = default;
};

/// What the numbers of a refusal count.
enum class amount_unit : std::uint8_t { none, memory_mib, percent, ai_cores, replicas };

/// How one device may be cut. Stateless: all state is in device_state. Implementations are in mode/, one header each.
class sharing_mode {
public:
    virtual ~sharing_mode() = default;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0;

    /// Whether a fatal fault of one container takes others of the device with it: all of them, or as fault_reaches()
    /// says.
    [[nodiscard]] virtual bool shares_faults() const noexcept { return false; }
    /// Whether a fatal fault of the container with one part of a device ends the one with the other part.
    [[nodiscard]] virtual bool fault_reaches(const partition& /*faulty*/, const partition& /*other*/) const {
        return shares_faults();
    }
    /// Whether it goes on to the other devices of everybody whom it ends.
    [[nodiscard]] virtual bool faults_follow_clients() const noexcept { return false; }
    /// How many containers of the device one fault ends at most.
    [[nodiscard]] virtual std::int64_t fault_domain_size(const device_state& state) const {
        return shares_faults() ? state.slots : std::min<std::int64_t>(state.slots, 1);
    }

    /// Whether the first container of a device decides which others may join it (CCE: how they are isolated), so that a
    /// device may refuse a request that it has enough for.
    [[nodiscard]] virtual bool first_tenant_decides() const noexcept { return false; }

    /// The spec with what the mode's hardware fixes: memory, compute, slots.
    [[nodiscard]] virtual device_spec adapted(device_spec spec) const { return spec; }

    /// How the device plugin offers devices of this mode as units; order none where the scheduler chooses.
    [[nodiscard]] virtual unit_rules units() const noexcept { return {}; }
    /// How many units of the kind of `part` are given out of the device.
    [[nodiscard]] virtual std::int64_t units_given(const device_state& state, const partition& /*part*/) const {
        return state.slots;
    }

    /// Appends every way in which `device` could serve one device's worth of `request`, best first if the mode has an
    /// order of its own. Appends nothing exactly when why_not() gives a code other than none. The caller has checked
    /// model, wanted mode and service already.
    virtual void candidates(const device_spec& device, const device_state& state, const device_request& request,
                            std::vector<partition>& out) const = 0;

    /// Appends parts that could serve the request as well, which candidates() leaves out because it has better ones;
    /// best first. A pod whose containers do not fit otherwise may get one. Only of a device that has candidates.
    virtual void further_candidates(const device_spec& /*device*/, const device_state& /*state*/,
                                    const device_request& /*request*/, std::vector<partition>& /*out*/) const {}

    /// The first check that fails, with its numbers; code none when the request fits.
    [[nodiscard]] virtual rejection_detail why_not(const device_spec& device, const device_state& state,
                                                   const device_request& request) const = 0;

    /// Why adding `part` would exceed a budget of the device; code none when it stays within all of them. Depends on
    /// sums only, so any order of the same parts gives the same answer; rules about who may join are the request's.
    [[nodiscard]] virtual rejection_detail why_not(const device_spec& device, const device_state& state,
                                                   const partition& part) const = 0;

    /// How far `part` falls short of what was asked for; 0 = as asked. A pod gets the smallest that any device of the
    /// node offers, before any score counts.
    [[nodiscard]] virtual int compromise(const device_spec& /*device*/, const device_request& /*request*/,
                                         const partition& /*part*/) const {
        return 0;
    }

    /// Whether compromise() may be other than 0 for some part of some device. A pod of which this holds is decided by
    /// asking every device, since nodes and devices that fall short come after all that do not.
    [[nodiscard]] virtual bool may_compromise(const device_request& /*request*/) const { return false; }

    /// The state with `part` added, or taken away again. The caller guarantees that it fits, or that it is there; only
    /// adopting what runs already (ledger::adopt) adds what does not fit.
    [[nodiscard]] virtual device_state with(const device_spec& device, const device_state& state,
                                            const partition& part) const = 0;
    [[nodiscard]] virtual device_state without(const device_spec& device, const device_state& state,
                                               const partition& part) const = 0;

    /// The used part as a scalar: 1000 x the larger of memory share and compute share, rounded up; 0 to 1000.
    [[nodiscard]] virtual milli_gpu used(const device_spec& device, const device_state& state) const = 0;

    /// The used part by amounts.
    [[nodiscard]] virtual use_vector use(const device_spec& /*device*/, const device_state& state) const {
        return {.memory = state.memory, .compute = state.cores, .slots = state.slots};
    }

    /// The used part of the compute alone, 0 to 1000.
    [[nodiscard]] virtual milli_gpu used_compute(const device_spec& device, const device_state& state) const;

    /// What one device's worth of `request`, which `device` can hold, asks for of it as it is written; what the mode
    /// rounds that up to is allocation. By default an amount of memory is counted against the registered memory, no
    /// amount is all of it, and cores are counted against the registered ones; no cores are no compute.
    [[nodiscard]] virtual requested_share requested(const device_spec& device, const device_request& request) const;

    /// `part`, one that the mode gives out, in its names. By default a slice or a whole device.
    [[nodiscard]] virtual part_description describe(const device_spec& device, const partition& part) const;

    /// How many times in a row the device could serve one device's worth of `request`, each time with the mode's first
    /// choice, until it refuses; at most `most`. Model, wanted mode and service are not looked at.
    [[nodiscard]] virtual std::int64_t further(const device_spec& device, const device_state& state,
                                               const device_request& request, std::int64_t most) const;

    /// How parts lie at places of the device, so that free capacity can be of no use to some of them; null for modes
    /// whose parts lie nowhere. Lives as long as the mode.
    [[nodiscard]] virtual const placed_parts* placed() const noexcept { return nullptr; }

    /// What `wanted` and `available` of a refusal with this code count, where they are memory or compute of the device
    /// or an amount that can never be served (insufficient_device_memory, no_free_instance, instance_memory_unknown,
    /// insufficient_device_cores, request_not_valid).
    [[nodiscard]] virtual amount_unit unit_of(rejection_code code, const device_request& /*request*/) const {
        return code == rejection_code::insufficient_device_cores ? amount_unit::percent : amount_unit::memory_mib;
    }
};

/// Whether `part` occurs in `text`, whatever the case of ASCII letters.
[[nodiscard]] bool contains_ignoring_case(std::string_view text, std::string_view part) noexcept;

/// Family, model, type and wanted mode: the checks that do not depend on the device's state. A container that wants
/// no device (count 0) still belongs where devices of its family and mode are.
[[nodiscard]] rejection_code why_never(const device_spec& device, const device_request& request);

/// Every check of one device against one device's worth of `request`.
[[nodiscard]] inline rejection_detail why_not(const device_spec& device, const device_state& state,
                                              service_state service, const device_request& request) {
    if (const auto code = why_never(device, request); code != rejection_code::none) return {.code = code};
    if (const auto code = why_closed(service); code != rejection_code::none) return {.code = code};
    return device.mode->why_not(device, state, request);
}

/// A rank of the device among those of its node that can give `part`: the device plugin gives it of the lowest. 0 where
/// the scheduler chooses.
[[nodiscard]] inline std::int64_t unit_rank(const sharing_mode& mode, const device_state& state,
                                            const partition& part) {
    const unit_order order = mode.units().order;
    if (order == unit_order::none) return 0;
    const std::int64_t units = mode.units_given(state, part);
    return order == unit_order::distributed ? units : -units;
}

/// Whether a request names no amount of memory and so asks for all of it.
[[nodiscard]] constexpr bool wants_all_memory(const device_request& request) noexcept {
    return !request.memory_percent && request.memory <= mib{0};
}

/// Device memory in MiB that a request takes of `device`: its percentage of the device (rounded down, as HAMi and
/// Volcano do), or its own amount, or all of it.
[[nodiscard]] constexpr mib memory_wanted(const device_spec& device, const device_request& request) noexcept {
    if (request.memory_percent) return mib{device.memory.count() * *request.memory_percent / 100};
    if (request.memory > mib{0}) return request.memory;
    return device.memory;
}

} // namespace vgpualloc
