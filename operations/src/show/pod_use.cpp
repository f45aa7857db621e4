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

/// The least that one device's worth of a request uses of an empty device of some of these kinds; none: no kind serves
/// it.
std::optional<std::int64_t> least_use(const vgpualloc::cluster& nodes, const std::set<std::uint32_t>& kinds,
                                      const vgpualloc::device_request& request) {
    std::optional<std::int64_t> least;
    std::vector<vgpualloc::partition> parts;
    for (const std::uint32_t kind : kinds) {
        const vgpualloc::device_spec& spec = nodes.kinds[kind];
        if (vgpualloc::why_never(spec, request) != rejection_code::none) continue;
        parts.clear();
        spec.mode->candidates(spec, {}, request, parts);
        if (parts.empty()) continue;
        const auto used = spec.mode->used(spec, spec.mode->with(spec, {}, parts.front())).count();
        if (!least || used < *least) least = used;
    }
    return least;
}

/// The kinds of devices of the nodes that these rules admit.
std::set<std::uint32_t> admitted_kinds(const vgpualloc::cluster& nodes, const vgpualloc::host_rules& rules) {
    std::set<std::uint32_t> kinds;
    for (const vgpualloc::node& node : nodes.nodes) {
        if (node.devices.empty()) continue;
        if (vgpualloc::why_not_host(rules, node.host, node.name) != rejection_code::none) continue;
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
    std::set<std::uint32_t> all;
    for (std::size_t kind = 0; kind < state.nodes().kinds.size(); ++kind) all.insert(static_cast<std::uint32_t>(kind));
    const std::array<std::set<std::uint32_t>, 3> nearest_first{
        admitted_kinds(state.nodes(), without_states(request.rules)),
        admitted_kinds(state.nodes(), without_taints(request.rules)), all};
    std::int64_t sum = 0;
    for (const vgpualloc::device_request& container : request.containers) {
        std::optional<std::int64_t> unit_use;
        for (const auto& kinds : nearest_first) {
            if (!unit_use) unit_use = least_use(state.nodes(), kinds, container);
        }
        sum += container.count * unit_use.value_or(vgpualloc::whole_gpu.count());
    }
    return sum;
}

namespace {

/// The devices that a pod asks for, alike ones of all its containers together.
std::vector<vgpualloc::device_request> asked_devices(const vgpualloc::pod_request& request) {
    std::vector<vgpualloc::device_request> result;
    for (const vgpualloc::device_request& container : request.containers) {
        if (container.count == 0) continue;
        vgpualloc::device_request one = container;
        one.count = 1;
        const auto same = std::ranges::find_if(result, [&](vgpualloc::device_request other) {
            other.count = 1;
            return other == one;
        });
        if (same == result.end()) {
            result.push_back(container);
        } else {
            same->count += container.count;
        }
    }
    return result;
}

/// What one of each of a pod's devices uses of an empty device of a kind; nothing where the kind cannot serve it.
struct uses_of_kind {
    std::vector<std::optional<std::int64_t>> one;
    std::int64_t all = 0; ///< by all that the pod asks of such devices
};

uses_of_kind uses_of(const vgpualloc::cluster& nodes, std::uint32_t kind,
                     const std::vector<vgpualloc::device_request>& asked) {
    uses_of_kind result;
    for (const vgpualloc::device_request& request : asked) {
        result.one.push_back(least_use(nodes, {kind}, request));
        result.all += result.one.back().value_or(0) * request.count;
    }
    return result;
}

/// What of a device could serve one of a pod's devices, which would use `one_use` of an empty one. Milli-GPU.
std::int64_t idle_for(const vgpualloc::device_spec& spec, const vgpualloc::device_state& now,
                      vgpualloc::device_request request, std::int64_t one_use) {
    constexpr std::int64_t endless = std::int64_t{1} << 20U;
    if (!spec.mode->units().in_units()) return (vgpualloc::whole_gpu - spec.mode->used(spec, now)).count();
    request.count = 1;
    return spec.mode->further(spec, now, request, endless) * one_use;
}

} // namespace

bool is_enough_in_sum(const kube::snapshot& state, const vgpualloc::pod_request& request) {
    const vgpualloc::cluster& nodes = state.nodes();
    const std::vector<vgpualloc::device_request> asked = asked_devices(request);
    std::vector<std::optional<uses_of_kind>> uses(nodes.kinds.size());
    std::vector<double> pods(asked.size()); // by device of the pod, how many pods there is enough of it for
    for (std::size_t n = 0; n < nodes.nodes.size(); ++n) {
        const vgpualloc::node& node = nodes.nodes[n];
        if (!state.book->is_present(node_index{n}) || !node.host.ready || node.host.unschedulable) continue;
        if (vgpualloc::why_not_host(request.rules, node.host, node.name) != rejection_code::none) continue;
        const auto states = state.book->devices(node_index{n});
        const auto services = state.book->services(node_index{n});
        for (std::size_t d = 0; d < states.size(); ++d) {
            if (services[d] != vgpualloc::service_state::in_service) continue;
            auto& of_kind = uses[node.devices[d].kind];
            if (!of_kind) of_kind = uses_of(nodes, node.devices[d].kind, asked);
            const vgpualloc::device_spec& spec = nodes.spec_of(node_index{n}, device_index{d});
            for (std::size_t i = 0; i < asked.size(); ++i) {
                const std::int64_t one_use = of_kind->one[i].value_or(0);
                if (one_use == 0) continue;
                const std::int64_t idle = idle_for(spec, states[d], asked[i], one_use);
                pods[i] += static_cast<double>(idle) / static_cast<double>(of_kind->all);
            }
        }
    }
    constexpr double rounding = 1e-9;
    return std::ranges::all_of(pods, [](double number) { return number >= 1 - rounding; });
}

} // namespace vgpuops::show
