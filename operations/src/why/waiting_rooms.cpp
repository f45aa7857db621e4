// Pods that wait, as `show` has them.
#include "waiting_rooms.hpp"

#include <utility>

#include "../show/overview_parts.hpp"

namespace vgpuops::why {

waiting_rooms rooms_for_waiting(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                const stop_signal& stop) {
    waiting_rooms result;
    result.rooms = show::rooms_of_waiting(state, {}, stop);
    if (stop.raised()) return result;
    for (const kube::snapshot_pod& pod : state.pending) {
        if (!result.rooms.contains(pod.request) || result.asks.contains(pod.request)) continue;
        result.asks.emplace(pod.request, show::resources_of(state, pod.object));
    }
    show::overview seen;
    static_cast<void>(
        show::add_waiting(state, objects, {}, show::pods_of_short_gangs(state, objects, stop), result.rooms, seen));
    result.pods = std::move(seen.waiting);
    return result;
}

show::room room_for(const std::map<vgpualloc::pod_request, show::room>& rooms, const kube::snapshot_pod& pod) {
    const auto known = pod.failure ? rooms.end() : rooms.find(pod.request);
    return known == rooms.end() ? show::room{.is_readable = false} : known->second;
}

show::room room_for(const waiting_rooms& waiting, const kube::snapshot_pod& pod) {
    return room_for(waiting.rooms, pod);
}

} // namespace vgpuops::why
