// What pods have of GPUs.
#include "vgpuops/show/pod_use.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "vgpualloc/metrics/round_to_total.hpp"
#include "vgpualloc/model/device.hpp"
#include "vgpualloc/model/host_rules.hpp"
#include "vgpualloc/model/requested_amount.hpp"

namespace vgpuops::show {

namespace {

/// A part of one device, and the pod that has it.
struct pod_part {
    std::size_t device = 0;
    std::size_t pod = 0;
    std::int64_t alone = 0; ///< milli-GPU, if the pod had nothing else on the device and nobody did

    auto operator<=>(const pod_part&) const = default;
};

/// The parts that pods have on a node, by device, then pod.
std::vector<pod_part> parts_on(const kube::snapshot& state, node_index where) {
    std::vector<pod_part> parts;
    for (const std::uint32_t slot : state.book->live_on(where)) {
        const vgpualloc::booking& booking = state.book->bookings()[slot];
        for (const vgpualloc::device_share& share : booking.where.shares) {
            const vgpualloc::device_spec& spec = state.nodes().spec_of(where, share.device);
            const auto alone = spec.mode->used(spec, spec.mode->with(spec, {}, share.part)).count();
            parts.push_back({.device = share.device.at(), .pod = booking.owner.at(), .alone = alone});
        }
    }
    std::ranges::sort(parts);
    return parts;
}

/// `used`, divided in proportion to what the parts are alone.
std::vector<std::int64_t> divided(std::int64_t used, std::span<const pod_part> parts) {
    std::int64_t whole = 0;
    for (const pod_part& part : parts) whole += part.alone;
    std::vector<std::int64_t> numerators; // of fractions with the denominator `whole`
    for (const pod_part& part : parts) numerators.push_back(used * (whole > 0 ? part.alone : 1));
    if (whole == 0) whole = static_cast<std::int64_t>(parts.size());
    std::vector<std::int64_t> result(numerators.size());
    vgpualloc::round_to_total(std::span<const std::int64_t>{numerators}, whole, used * whole, result);
    for (std::int64_t& share : result) share /= whole;
    return result;
}

/// Whether a device is given out in things that are counted: units of a plugin, or itself.
bool is_counted(const vgpualloc::device_spec& spec) {
    return spec.mode->units().in_units() || spec.mode->name() == "exclusive";
}

/// The least that one device's worth of a request uses of an empty device of some of these kinds, or the most of one
/// that is asked for by number alone; none: no kind serves it.
std::optional<std::int64_t> use_of_empty(const vgpualloc::cluster& nodes, const std::set<std::uint32_t>& kinds,
                                         const vgpualloc::device_request& request) {
    const bool takes_most = vgpualloc::is_of_units_alone(request);
    std::optional<std::int64_t> result;
    std::vector<vgpualloc::partition> parts;
    for (const std::uint32_t kind : kinds) {
        const vgpualloc::device_spec& spec = nodes.kinds[kind];
        if (vgpualloc::why_never(spec, request) != rejection_code::none) continue;
        parts.clear();
        spec.mode->candidates(spec, {}, request, parts);
        if (parts.empty()) continue;
        const auto used = spec.mode->used(spec, spec.mode->with(spec, {}, parts.front())).count();
        if (!result || (takes_most ? used > *result : used < *result)) result = used;
    }
    return result;
}

/// How many of the devices an empty node could give one by one, at most as many as are asked for.
std::int64_t served_when_empty(const vgpualloc::cluster& nodes, const vgpualloc::node& node,
                               const vgpualloc::device_request& container) {
    std::int64_t served = 0;
    for (const vgpualloc::device& device : node.devices) {
        const vgpualloc::device_spec& spec = nodes.kinds[device.kind];
        if (vgpualloc::why_never(spec, container) != rejection_code::none) continue;
        served += spec.mode->further(spec, {}, container, container.count - served);
        if (served >= container.count) break;
    }
    return served;
}

/// The kinds of devices of the nodes that these rules admit; of all of them, or of those that could serve the container
/// if they were empty.
std::set<std::uint32_t> kinds_for(const vgpualloc::cluster& nodes, const vgpualloc::host_rules& rules,
                                  const vgpualloc::device_request& container, bool has_to_serve) {
    std::set<std::uint32_t> kinds;
    for (const vgpualloc::node& node : nodes.nodes) {
        const auto is_known = [&](const vgpualloc::device& device) { return kinds.contains(device.kind); };
        if (std::ranges::all_of(node.devices, is_known)) continue; // or there are none
        if (vgpualloc::why_not_host(rules, node.host, node.name) != rejection_code::none) continue;
        if (has_to_serve && served_when_empty(nodes, node, container) < container.count) continue;
        for (const vgpualloc::device& device : node.devices) kinds.insert(device.kind);
    }
    return kinds;
}

/// The rules of a pod as nodes admit it when they are ready and not cordoned.
vgpualloc::host_rules without_states(vgpualloc::host_rules rules) {
    for (const char* const state : {"unschedulable", "not-ready", "unreachable"}) {
        rules.tolerations.push_back({.key = std::string{"node.kubernetes.io/"} + state, .any_value = true});
    }
    return rules;
}

vgpualloc::host_rules without_taints(vgpualloc::host_rules rules) {
    rules.tolerations = {{.any_value = true}};
    return rules;
}

} // namespace

bool are_alike(vgpualloc::device_request left, const vgpualloc::device_request& right) {
    left.count = right.count;
    left.units = right.units; // 1 + 8 units of one profile, of a container and of one that runs before it, are 9
    return left == right;
}

std::vector<std::int64_t> used_by_pods(const kube::snapshot& state) {
    std::vector<std::int64_t> result(state.bound.size());
    for (std::size_t n = 0; n < state.nodes().nodes.size(); ++n) {
        if (!state.book->is_present(node_index{n})) continue;
        const auto states = state.book->devices(node_index{n});
        const std::vector<pod_part> parts = parts_on(state, node_index{n});
        for (auto first = parts.begin(); first != parts.end();) {
            const auto end =
                std::find_if(first, parts.end(), [&](const auto& part) { return part.device != first->device; });
            const auto& spec = state.nodes().spec_of(node_index{n}, device_index{first->device});
            const std::span<const pod_part> of_device{first, end};
            const auto shares = divided(spec.mode->used(spec, states[first->device]).count(), of_device);
            for (std::size_t i = 0; i < shares.size(); ++i) result[of_device[i].pod] += shares[i];
            first = end;
        }
    }
    return result;
}

std::int64_t asked_by(const kube::snapshot& state, const vgpualloc::pod_request& request) {
    const vgpualloc::cluster& nodes = state.nodes();
    const std::array<vgpualloc::host_rules, 2> nearest_first{without_states(request.rules),
                                                             without_taints(request.rules)};
    std::set<std::uint32_t> all;
    for (std::size_t kind = 0; kind < nodes.kinds.size(); ++kind) all.insert(static_cast<std::uint32_t>(kind));
    std::int64_t sum = 0;
    for (const vgpualloc::device_request& devices : asked_devices(request)) {
        std::optional<std::int64_t> unit_use;
        for (const vgpualloc::host_rules& rules : nearest_first) {
            for (const bool has_to_serve : {true, false}) {
                if (!unit_use) unit_use = use_of_empty(nodes, kinds_for(nodes, rules, devices, has_to_serve), devices);
            }
        }
        if (!unit_use) unit_use = use_of_empty(nodes, all, devices);
        sum += devices.count * unit_use.value_or(vgpualloc::whole_gpu.count());
    }
    return sum;
}

std::vector<vgpualloc::device_request> asked_devices(const vgpualloc::pod_request& request) {
    std::vector<vgpualloc::device_request> result;
    for (const vgpualloc::device_request& container : request.containers) {
        if (container.count == 0) continue;
        const auto known = std::ranges::find_if(result, [&](const auto& other) { return are_alike(other, container); });
        if (known == result.end()) {
            result.push_back(container);
        } else {
            known->count += container.count;
        }
    }
    return result;
}

std::optional<std::int64_t> free_units(const kube::snapshot& state, node_index where,
                                       vgpualloc::device_request request) {
    constexpr std::int64_t endless = std::int64_t{1} << 20U;
    request.count = 1;
    std::optional<std::int64_t> units;
    const auto states = state.book->devices(where);
    const auto services = state.book->services(where);
    for (std::size_t d = 0; d < states.size(); ++d) {
        const vgpualloc::device_spec& spec = state.nodes().spec_of(where, device_index{d});
        if (vgpualloc::why_never(spec, request) != rejection_code::none) continue;
        if (!vgpualloc::accepts_uuid(request, state.nodes().nodes[where.at()].devices[d].uuid)) continue;
        if (!is_counted(spec)) return std::nullopt;
        if (services[d] != vgpualloc::service_state::in_service) continue;
        units = units.value_or(0) + spec.mode->further(spec, states[d], request, endless);
    }
    return units;
}

namespace {

/// What one of each of a pod's devices uses of an empty device of a kind; nothing where the kind cannot serve it.
struct uses_of_kind {
    std::vector<std::optional<std::int64_t>> one;
    std::int64_t all = 0; ///< by all that the pod asks of such devices
};

uses_of_kind uses_of(const vgpualloc::cluster& nodes, std::uint32_t kind,
                     const std::vector<vgpualloc::device_request>& asked) {
    uses_of_kind result;
    for (const vgpualloc::device_request& request : asked) {
        result.one.push_back(use_of_empty(nodes, {kind}, request));
        result.all += result.one.back().value_or(0) * request.count;
    }
    return result;
}

/// What of a device could serve one of a pod's devices, which would use `one_use` of an empty one. Milli-GPU.
std::int64_t idle_for(const vgpualloc::device_spec& spec, const vgpualloc::device_state& now,
                      vgpualloc::device_request request, std::int64_t one_use) {
    constexpr std::int64_t endless = std::int64_t{1} << 20U;
    request.count = 1;
    if (is_counted(spec)) return spec.mode->further(spec, now, request, endless) * one_use;
    const bool has_slot = spec.mode->why_not(spec, now, request).code != rejection_code::insufficient_device_slots;
    return has_slot ? (vgpualloc::whole_gpu - spec.mode->used(spec, now)).count() : 0;
}

/// Whether a node takes pods, and the pod's rules admit it.
bool is_open_to(const kube::snapshot& state, node_index where, const vgpualloc::pod_request& request) {
    const vgpualloc::node& node = state.nodes().nodes[where.at()];
    return state.book->is_present(where) && node.host.ready && !node.host.unschedulable &&
           vgpualloc::why_not_host(request.rules, node.host, node.name) == rejection_code::none;
}

} // namespace

idle_in_sum idle_for_one(const kube::snapshot& state, const vgpualloc::pod_request& request) {
    const vgpualloc::cluster& nodes = state.nodes();
    const std::vector<vgpualloc::device_request> asked = asked_devices(request);
    std::vector<std::optional<uses_of_kind>> uses(nodes.kinds.size());
    std::vector<double> pods(asked.size()); // by device of the pod, how many pods there is enough of it for
    bool has_units = asked.size() == 1;
    std::int64_t units = 0;
    for (std::size_t n = 0; n < nodes.nodes.size(); ++n) {
        if (!is_open_to(state, node_index{n}, request)) continue;
        const auto states = state.book->devices(node_index{n});
        const auto services = state.book->services(node_index{n});
        for (std::size_t d = 0; d < states.size(); ++d) {
            if (services[d] != vgpualloc::service_state::in_service) continue;
            const std::uint32_t kind = nodes.nodes[n].devices[d].kind;
            if (!uses[kind]) uses[kind] = uses_of(nodes, kind, asked);
            const vgpualloc::device_spec& spec = nodes.kinds[kind];
            for (std::size_t i = 0; i < asked.size(); ++i) {
                const std::int64_t one_use = uses[kind]->one[i].value_or(0);
                if (one_use == 0) continue;
                if (!vgpualloc::accepts_uuid(asked[i], nodes.nodes[n].devices[d].uuid)) continue;
                const std::int64_t idle = idle_for(spec, states[d], asked[i], one_use);
                pods[i] += static_cast<double>(idle) / static_cast<double>(uses[kind]->all);
                has_units = has_units && is_counted(spec);
                units += idle / one_use;
            }
        }
    }
    constexpr double rounding = 1e-9;
    const bool is_enough = std::ranges::all_of(pods, [](double number) { return number >= 1 - rounding; });
    return {.is_enough = is_enough, .units = has_units ? std::optional{units} : std::nullopt};
}

} // namespace vgpuops::show
