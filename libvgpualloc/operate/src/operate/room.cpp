// Room for a pod of a living cluster.
#include "vgpualloc/operate/room.hpp"

#include <cstddef>
#include <utility>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/explain/part_words.hpp"

namespace vgpualloc::operate {

expected<room_question> room_question::ask(live_cluster& live, std::string_view uid, room_options options) {
    auto asked = live.question(uid);
    if (!asked) return unexpected(std::move(asked).error());
    if (const auto failure = live.failure_of(uid)) return unexpected(*failure);
    if (auto gated = kube::why_held_back(asked->pod)) return unexpected(*std::move(gated));
    if (live.state_of(uid) != live_pod_state::waiting) {
        return unexpected(error{.code = error_code::unsupported,
                                .where = "",
                                .field = "pod",
                                .value = asked->pod.full_name(),
                                .expected = "a pod that waits: this one has something"});
    }
    room_question result;
    result.state_ = std::move(asked->state);
    result.pod_ = std::move(asked->pod);
    result.options_ = std::move(options);
    for (const kube::bound_pod& bound : result.state_.bound) {
        const kube::manifest* const object = live.view().find_pod(bound.pod.full_name());
        VGA_ASSERT(object != nullptr, "a pod of the snapshot is one of the cluster");
        result.uids_.push_back(object->pod->uid.empty() ? bound.pod.full_name() : object->pod->uid);
        result.movable_.push_back(kube::may_move(bound, *object, result.options_.movable));
    }
    return result;
}

named_place room_question::named(const placement& where) const {
    named_place result{.node = state_.nodes().nodes[where.node.at()].name};
    for (const device_share& share : where.shares) {
        const kube::snapshot_device& device = state_.device(where.node, share.device);
        const device_spec& spec = state_.nodes().spec_of(where.node, share.device);
        result.shares.push_back({.container = share.container,
                                 .device = device.index,
                                 .uuid = device.registered.uuid,
                                 .part = explaining::describe_part(spec, share.part)});
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
    const booking waiting{.owner = pod_id{state_.bound.size()},
                          .cpu = pod_.request.cpu,
                          .memory = pod_.request.memory,
                          .where = {},
                          .tags = pod_.request.tags};
    const auto carried_out = plan::try_moves(*state_.book, room->planned, &waiting, pod_id{state_.bound.size() + 1});
    VGA_ASSERT(carried_out.has_value(), "a plan of moves can be carried out on the ledger that it was made for");
    room_plan result{.where = named(room->planned.where), .cost = room->cost, .fewest_moves = room->fewest_moves};
    for (const plan::pod_move& move : room->planned.moves) {
        result.moves.push_back({.uid = uids_[move.pod.at()],
                                .pod = state_.bound[move.pod.at()].pod.full_name(),
                                .from = named(move.from),
                                .to = named(move.to),
                                .cost = plan::cost_of_move(state_.nodes(), move.from, options_.costs)});
    }
    return result;
}

} // namespace vgpualloc::operate
