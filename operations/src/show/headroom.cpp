// How many more pods of a request there is room for: nodes are filled in a trial.
#include "vgpuops/show/headroom.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpuops::show {

namespace {

/// What decides how many pods a node takes, but for its rules: devices in their order, and what is left of the host.
std::vector<std::int64_t> state_of(const kube::snapshot& state, node_index where) {
    const vgpualloc::node& node = state.nodes().nodes[where.at()];
    const vgpualloc::host_use& used = state.book->host(where);
    std::vector<std::int64_t> result{node.pods_max - used.pods, (node.cpu - used.cpu).count(),
                                     (node.memory - used.memory).count()};
    const auto devices = state.book->devices(where);
    const auto services = state.book->services(where);
    for (std::size_t d = 0; d < devices.size(); ++d) {
        for (const std::int64_t fact :
             {static_cast<std::int64_t>(node.devices[d].kind), static_cast<std::int64_t>(services[d]),
              devices[d].memory.count(), devices[d].cores.count(), devices[d].slots,
              static_cast<std::int64_t>(devices[d].layout)}) {
            result.push_back(fact);
        }
    }
    return result;
}

/// Whether the pod asks for one device, whichever it is.
bool is_for_one_device(const vgpualloc::pod_request& request) {
    return request.containers.size() == 1 && request.containers.front().count == 1 && !request.names_devices();
}

/// How many pods the host of a node has room for.
std::int64_t host_room(const kube::snapshot& state, node_index where, const vgpualloc::pod_request& request) {
    const vgpualloc::node& node = state.nodes().nodes[where.at()];
    const vgpualloc::host_use& used = state.book->host(where);
    std::int64_t pods = node.pods_max - used.pods;
    if (request.cpu.count() > 0) pods = std::min(pods, (node.cpu - used.cpu).count() / request.cpu.count());
    if (request.memory.count() > 0) pods = std::min(pods, (node.memory - used.memory).count() / request.memory.count());
    return std::max<std::int64_t>(pods, 0);
}

/// Without other pods that it wants near. Where it is such a pod itself, the first one may go to any node with the
/// label.
vgpualloc::pod_request without_affinity(vgpualloc::pod_request request) {
    if (request.peers.empty()) return request;
    vgpualloc::pod_peers peers = *request.peers;
    std::erase_if(peers.rules, [&](const vgpualloc::peer_rule& rule) {
        return rule.kind == vgpualloc::peer_rule_kind::together && !request.peers->is_in(rule.set);
    });
    request.peers = vgpualloc::shared_peers{std::move(peers)};
    return request;
}

} // namespace

vgpualloc::owned_policies best_fit() {
    auto policies = vgpualloc::make_policies("best_fit", "", {});
    VGA_ASSERT(policies.has_value(), "best_fit needs no parameters");
    return *std::move(policies);
}

headroom::headroom(kube::snapshot& state)
    : state_{&state}, policies_{best_fit()}, decider_{*state.book, policies_.pair()} {
    std::map<std::vector<std::int64_t>, std::uint32_t> numbers;
    for (std::size_t n = 0; n < state.nodes().nodes.size(); ++n) {
        const auto next = static_cast<std::uint32_t>(numbers.size());
        alike_.push_back(numbers.try_emplace(state_of(state, node_index{n}), next).first->second);
    }
    for (const pod_id id : state.book->live_pods()) first_id_ = std::max(first_id_, id.at() + 1);
}

std::optional<std::int64_t> headroom::more_singles_on(node_index where, const vgpualloc::pod_request& request) const {
    const std::int64_t most = host_room(*state_, where, request);
    const vgpualloc::device_request& container = request.containers.front();
    const auto states = state_->book->devices(where);
    const auto services = state_->book->services(where);
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < states.size(); ++d) {
        const vgpualloc::device_spec& spec = state_->nodes().spec_of(where, device_index{d});
        if (spec.mode->placed() != nullptr || spec.mode->may_compromise(container)) return std::nullopt;
        if (services[d] != vgpualloc::service_state::in_service) continue;
        if (vgpualloc::why_never(spec, container) != rejection_code::none) continue;
        sum += spec.mode->further(spec, states[d], container, most);
    }
    return std::min(sum, most);
}

std::int64_t headroom::more_of(const vgpualloc::pod_request& request, const stop_signal& stop) {
    stop_signal end = stop;
    std::map<std::uint32_t, std::int64_t> known;
    std::int64_t sum = 0;
    for (std::size_t n = 0; n < alike_.size() && !end.poll(); ++n) {
        const vgpualloc::node& node = state_->nodes().nodes[n];
        if (node.devices.empty() || !state_->book->is_present(node_index{n})) continue;
        if (vgpualloc::why_not_host(request.rules, node.host, node.name) != rejection_code::none) continue;
        if (request.names_devices()) { // then devices that are in the same state differ
            sum += placed_on(node_index{n}, request, no_limit).pods;
            continue;
        }
        const auto entry = known.find(alike_[n]);
        if (entry != known.end()) {
            sum += entry->second;
            continue;
        }
        std::optional<std::int64_t> more;
        if (is_for_one_device(request)) more = more_singles_on(node_index{n}, request);
        if (!more) more = placed_on(node_index{n}, request, no_limit).pods;
        known.emplace(alike_[n], *more);
        sum += *more;
    }
    return sum;
}

std::vector<bool> headroom::fit_alone(const std::vector<const vgpualloc::pod_request*>& requests,
                                      const stop_signal& stop) {
    std::vector<bool> result(requests.size());
    if (requests.empty()) return result;
    stop_signal end = stop;
    vgpualloc::trial scope{*state_->book};
    for (const pod_id id : state_->book->live_pods()) static_cast<void>(state_->book->release(id));
    for (std::size_t i = 0; i < requests.size() && !end.poll(); ++i) {
        const auto interned = decider_.intern(without_affinity(*requests[i]));
        VGA_ASSERT(interned.has_value(), "what a dialect reads is within the core's limits");
        result[i] = decider_.decide(*interned).has_value();
    }
    return result;
}

} // namespace vgpuops::show
