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

} // namespace vgpuops::show
