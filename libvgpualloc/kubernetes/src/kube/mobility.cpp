// Which pods of a cluster may be moved.
#include "vgpualloc/kube/mobility.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include "vgpualloc/kube/cluster_objects.hpp"

namespace vgpualloc::kube {

bool belongs_to_its_node(const manifest& pod) noexcept {
    return pod.controller == "DaemonSet" || pod.controller == "Node";
}

std::optional<error> why_held_back(const snapshot_pod& pod) {
    if (pod.gates.empty()) {
        if (!pod.queue_hold) return std::nullopt;
        return bad_value(error_code::unsupported, "the pod's PodGroup", "held back",
                         "one whose queue has enough for it: " + *pod.queue_hold)
            .at(pod.place);
    }
    std::string gates;
    for (const std::string& gate : pod.gates) gates += (gates.empty() ? "" : ", ") + gate;
    return bad_value(error_code::unsupported, "spec.schedulingGates", gates,
                     "none: no scheduler looks at a pod that has a gate")
        .at(pod.place);
}

bool may_move(const bound_pod& bound, const manifest& object, const mobility& rules) {
    if (bound.pod.failure || bound.pod.terminating || object.phase != "Running") return false;
    if (belongs_to_its_node(object) || (object.controller.empty() && !rules.without_controller)) return false;
    if (std::ranges::find(rules.namespaces_kept, bound.pod.ns) != rules.namespaces_kept.end()) return false;
    return std::ranges::all_of(rules.labels, [&](const auto& wanted) {
        const auto label = bound.pod.object.labels.find(wanted.first);
        return label != bound.pod.object.labels.end() && label->second == wanted.second;
    });
}

std::vector<pod_id> kept_without_controller(const snapshot& state, std::span<const manifest> objects,
                                            const mobility& rules) {
    std::vector<pod_id> result;
    if (rules.without_controller) return result;
    std::map<std::string, const manifest*> bare_pods; // by name
    for (const manifest& object : objects) {
        if (object.kind == "Pod" && object.controller.empty()) bare_pods.emplace(full_name_of(object), &object);
    }
    mobility all = rules;
    all.without_controller = true;
    for (std::size_t i = 0; i < state.bound.size(); ++i) {
        const bound_pod& bound = state.bound[i];
        const host_facts& host = state.nodes().nodes[bound.node.at()].host;
        if (!host.ready || host.unschedulable) continue;
        const auto object = bare_pods.find(bound.pod.full_name());
        if (object != bare_pods.end() && may_move(bound, *object->second, all)) result.emplace_back(i);
    }
    return result;
}

void keep_modes(snapshot& state) {
    auto& running = state.bound.own_items();
    for (std::size_t i = 0; i < running.size(); ++i) {
        bound_pod& bound = running[i];
        const booking* const booked = state.book->find_booking(pod_id{i});
        if (booked == nullptr || booked->where.shares.empty()) continue;
        const device_index device = booked->where.shares[0].device;
        const auto* const spoken = state.dialects.find(state.devices[booked->where.node.at()][device.at()].dialect);
        if (spoken == nullptr || !spoken->assigned_by_kubelet()) continue;
        const auto mode = state.nodes().spec_of(booked->where.node, device).mode->name();
        for (device_request& container : bound.pod.request.containers) {
            if (container.mode.empty()) container.mode = mode;
        }
    }
}

} // namespace vgpualloc::kube
