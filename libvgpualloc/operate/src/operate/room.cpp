// Room for a pod of a living cluster.
#include "vgpualloc/operate/room.hpp"

#include <cstddef>
#include <utility>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc::operate {

expected<room_question> room_question::ask(live_cluster& live, std::string_view uid, room_options options) {
    const live_pod_state state = live.state_of(uid);
    if (state != live_pod_state::waiting && state != live_pod_state::unknown) {
        return unexpected(bad_value(error_code::unsupported, "pod", live.full_name_of(uid),
                                    "a pod that waits: this one has something"));
    }
    if (const auto failure = live.failure_of(uid)) return unexpected(*failure);
    if (const kube::snapshot_pod* const pod = live.pod_of(uid)) {
        if (auto gated = kube::why_held_back(*pod)) return unexpected(*std::move(gated));
    }
    auto cluster_now = live.question(uid); // copies the cluster, so it comes last
    if (!cluster_now) return unexpected(std::move(cluster_now).error());
    room_question result;
    result.state_ = std::move(cluster_now->state);
    result.pod_ = std::move(cluster_now->pod);
    result.options_ = std::move(options);
    for (const kube::bound_pod& bound : result.state_.bound) {
        const kube::manifest* const object = live.view().find_pod(bound.pod.full_name());
        VGA_ASSERT(object != nullptr, "a pod of the snapshot is one of the cluster");
        result.uids_.push_back(object->pod->uid.empty() ? bound.pod.full_name() : object->pod->uid);
        result.movable_.push_back(kube::may_move(bound, *object, result.options_.movable));
    }
    return result;
}

expected<room_plan, plan::no_room> room_question::answer() {
    kube::keep_modes(state_);
    std::vector<plan::movable_pod> movable;
    for (std::size_t i = 0; i < state_.bound.size(); ++i) {
        if (movable_[i]) movable.push_back({.pod = pod_id{i}, .request = &state_.bound[i].pod.request});
    }
    const auto room = plan::find_room(*state_.book, pod_.request, movable, options_.budget, options_.costs);
    if (!room) return unexpected(room.error());
    const booking waiting = booking_for(pod_id{state_.bound.size()}, pod_.request);
    const auto carried_out = plan::try_moves(*state_.book, room->planned, &waiting, pod_id{state_.bound.size() + 1});
    VGA_ASSERT(carried_out.has_value(), "a plan of moves can be carried out on the ledger that it was made for");
    room_plan result{.where = explaining::name_place(state_, room->planned.where),
                     .cost = room->cost,
                     .fewest_moves = room->fewest_moves};
    for (const plan::pod_move& move : room->planned.moves) {
        result.moves.push_back({.uid = uids_[move.pod.at()],
                                .pod = state_.bound[move.pod.at()].pod.full_name(),
                                .from = explaining::name_place(state_, move.from),
                                .to = explaining::name_place(state_, move.to),
                                .cost = plan::cost_of_move(state_.nodes(), move.from, options_.costs)});
    }
    return result;
}

} // namespace vgpualloc::operate
