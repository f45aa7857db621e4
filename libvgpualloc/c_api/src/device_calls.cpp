// The C interface's calls for who operates devices: their service, what they are cut into, room for pods.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "call.hpp"
#include "vgpualloc/c_api.h"
#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/operate/room.hpp"
#include "vgpuformats/json.hpp"

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::live_cluster;
using vgpualloc::live_pod_state;
using vgpualloc::mig_units;
using vgpualloc::node_index;
using vgpualloc::service_state;
using vgpualloc::ticks;
using vgpualloc::c_api::give_text;
using vgpualloc::c_api::guarded;
using vgpualloc::c_api::is_known_item;
using vgpualloc::c_api::is_known_size;
using vgpualloc::c_api::on;
using vgpualloc::c_api::refuse;
using vgpualloc::c_api::refuse_input;
using vgpualloc::c_api::text_or_empty;
using vgpualloc::c_api::unknown_pod;
using vgpualloc::c_api::wrong_item_size;
using vgpualloc::c_api::wrong_size;
using vgpualloc::explaining::place_json;
using vgpualloc::operate::device_layouts;
using vgpuformats::document;
namespace operate = vgpualloc::operate;
namespace plan = vgpualloc::plan;

namespace {

/// By number of vga_service.
constexpr std::array services{service_state::in_service, service_state::draining, service_state::failed,
                              service_state::reconfiguring};

/// Runs a call about a device of a node that is there, whose uuid is some text.
template <class Call>
vga_status on_device(vga_cluster* cluster, std::uint32_t node, const char* device, vga_text* why,
                     Call&& call) noexcept {
    return on(cluster, why, [&](live_cluster& live) {
        if (device == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "device is NULL");
        const node_index where{node};
        if (where.at() >= live.book().nodes().nodes.size() || !live.book().is_present(where)) {
            return refuse(VGA_UNKNOWN_NODE, why, "no node has that number");
        }
        return call(live, where);
    });
}

/// Of a device whose layout is not known the call is out of turn; all else is bad input.
vga_status refuse_layout(device_layouts& layouts, node_index where, const char* device, const error& failure,
                         vga_text* why) {
    const bool is_known = layouts.is_known(where, device);
    return refuse(is_known ? VGA_BAD_INPUT : VGA_WRONG_STATE, why, failure.message());
}

std::vector<std::string> texts_of(const char* const* texts, size_t count) {
    std::vector<std::string> result;
    for (const char* const text : std::span{texts, count}) result.emplace_back(text_or_empty(text));
    return result;
}

/// "1g.5gb=2,3g.20gb=1" as its parts.
std::vector<std::string> parts_of(std::string_view text) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t comma = std::min(text.find(',', begin), text.size());
        parts.emplace_back(text.substr(begin, comma - begin));
        begin = comma + 1;
    }
    return parts;
}

vga_layout_step told_step(const operate::layout_step& step) {
    vga_layout_step result{};
    result.kind = step.kind == plan::mig_step_kind::create ? VGA_CREATE_INSTANCE : VGA_DESTROY_INSTANCE;
    result.profile_id = static_cast<std::uint32_t>(step.profile_id);
    result.start = static_cast<std::uint32_t>(step.start.count());
    result.size = static_cast<std::uint32_t>(step.size.count());
    result.takes_us = step.takes.count();
    step.profile.copy(result.profile, sizeof result.profile - 1);
    return result;
}

document room_json(const vgpualloc::expected<operate::room_plan, plan::no_room>& room) {
    document result = document::map({{"found", room.has_value()}, {"moves", document::list()}});
    if (!room) {
        result["reason"] = plan::to_string(room.error().reason);
        result["moves_ruled_out"] = room.error().moves_ruled_out;
        return result;
    }
    for (const operate::room_move& move : room->moves) {
        result["moves"].push_back(document::map({{"uid", move.uid},
                                                 {"pod", move.pod},
                                                 {"from", place_json(move.from)},
                                                 {"to", place_json(move.to)},
                                                 {"downtime_device_s", seconds_of(move.cost.downtime)},
                                                 {"copy_s", seconds_of(move.cost.copy)}}));
    }
    result["where"] = place_json(room->where);
    result["cost"] = document::map(
        {{"downtime_device_s", seconds_of(room->cost.downtime)}, {"copy_s", seconds_of(room->cost.copy)}});
    result["fewest_moves"] = room->fewest_moves;
    return result;
}

operate::room_options room_options_of(const vga_room_options* given) {
    operate::room_options result;
    if (given == nullptr) return result;
    if (given->moves_max >= 0) result.budget.moves_max = given->moves_max;
    if (given->downtime_max_us >= 0) result.budget.downtime_max = ticks{given->downtime_max_us};
    if (given->steps_max >= 0) result.budget.steps_max = given->steps_max;
    result.movable.without_controller = given->move_bare_pods != 0;
    return result;
}

} // namespace

extern "C" {

vga_status vga_set_service(vga_cluster* cluster, uint32_t node, const char* device, uint32_t service, vga_text* why) {
    return on_device(cluster, node, device, why, [&](live_cluster& live, node_index where) {
        if (service >= services.size()) return refuse(VGA_BAD_ARGUMENT, why, "service: one that is not known");
        const auto changed = live.set_service(where, device, services[service]);
        return changed ? VGA_OK : refuse_input(why, changed.error());
    });
}

vga_status vga_get_service(vga_cluster* cluster, uint32_t node, const char* device, vga_service* service,
                           vga_text* why) {
    return on_device(cluster, node, device, why, [&](live_cluster& live, node_index where) {
        if (service == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "service is NULL");
        const auto which = live.find_device(where, device);
        if (!which) return refuse_input(why, which.error());
        const auto now = std::ranges::find(services, live.book().services(where)[which->at()]);
        *service = static_cast<vga_service>(now - services.begin());
        return VGA_OK;
    });
}

vga_status vga_note_layout(vga_cluster* cluster, uint32_t node, const char* device, const char* const* instances,
                           size_t instance_count, const char* const* busy, size_t busy_count, vga_text* why) {
    return on_device(cluster, node, device, why, [&](live_cluster&, node_index where) {
        if ((instances == nullptr && instance_count > 0) || (busy == nullptr && busy_count > 0)) {
            return refuse(VGA_BAD_ARGUMENT, why, "instances or busy is NULL");
        }
        const auto noted = cluster->layouts->note_layout(where, device, texts_of(instances, instance_count),
                                                         texts_of(busy, busy_count));
        return noted ? VGA_OK : refuse_input(why, noted.error());
    });
}

vga_status vga_layout(vga_cluster* cluster, uint32_t node, const char* device, vga_text* json, vga_text* why) {
    return on_device(cluster, node, device, why, [&](live_cluster&, node_index where) {
        const auto layout = cluster->layouts->layout_of(where, device);
        if (!layout) return refuse_layout(*cluster->layouts, where, device, layout.error(), why);
        document list = document::list();
        for (const operate::layout_instance& instance : *layout) {
            list.push_back(document::map({{"profile", instance.profile},
                                          {"profile_id", instance.profile_id},
                                          {"start", instance.start},
                                          {"size", instance.size},
                                          {"exists", instance.exists},
                                          {"busy", instance.is_busy}}));
        }
        const vga_status given =
            give_text(json, vgpuformats::print_json(document::map({{"instances", std::move(list)}})));
        return given == VGA_OK ? given : refuse(given, why, "json is NULL or too small");
    });
}

vga_status vga_plan_layout(vga_cluster* cluster, uint32_t node, const char* device, const vga_layout_request* request,
                           vga_layout_step* steps, size_t step_size, size_t capacity, size_t* count, int* found,
                           vga_text* why) {
    return on_device(cluster, node, device, why, [&](live_cluster&, node_index where) {
        if (request == nullptr || count == nullptr || found == nullptr) {
            return refuse(VGA_BAD_ARGUMENT, why, "request, count or found is NULL");
        }
        if (!is_known_size(request)) return wrong_size("request", *request, why);
        if (!is_known_item<vga_layout_step>(step_size))
            return wrong_item_size<vga_layout_step>("steps", step_size, why);
        plan::transition_request wanted{.want = std::string{text_or_empty(request->want)}, .anew = request->anew != 0};
        if (request->group != nullptr) wanted.group = parts_of(request->group);
        const auto planned = cluster->layouts->plan(where, device, wanted);
        if (!planned) return refuse_layout(*cluster->layouts, where, device, planned.error(), why);
        *found = planned->has_value() ? 1 : 0;
        *count = *planned ? (*planned)->size() : 0;
        if (capacity < *count || (steps == nullptr && *count > 0)) {
            return refuse(VGA_TOO_SMALL, why, "there are more steps than there is room for");
        }
        if (!*planned) return VGA_OK;
        for (const operate::layout_step& step : **planned) *steps++ = told_step(step);
        return VGA_OK;
    });
}

vga_status vga_note_step(vga_cluster* cluster, uint32_t node, const char* device, const vga_layout_step* step,
                         size_t step_size, int done, vga_text* why) {
    return on_device(cluster, node, device, why, [&](live_cluster&, node_index where) {
        if (step == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "step is NULL");
        if (!is_known_item<vga_layout_step>(step_size)) return wrong_item_size<vga_layout_step>("step", step_size, why);
        if (step->kind > VGA_CREATE_INSTANCE) return refuse(VGA_BAD_ARGUMENT, why, "kind: one that is not known");
        const std::string profile{step->profile, strnlen(step->profile, sizeof step->profile)};
        const auto kind =
            step->kind == VGA_CREATE_INSTANCE ? plan::mig_step_kind::create : plan::mig_step_kind::destroy;
        const auto outcome = done != 0 ? operate::step_outcome::done : operate::step_outcome::failed;
        const auto noted = cluster->layouts->note_step(
            where, device, {.kind = kind, .profile = profile, .start = mig_units{step->start}}, outcome);
        return noted ? VGA_OK : refuse_layout(*cluster->layouts, where, device, noted.error(), why);
    });
}

vga_status vga_plan_room(vga_cluster* cluster, const char* uid, const vga_room_options* options, vga_text* json,
                         vga_text* why) {
    std::optional<operate::room_question> question; // planned when others have their turn
    const vga_status asked = on(cluster, why, [&](live_cluster& live) {
        if (uid == nullptr || json == nullptr) return refuse(VGA_BAD_ARGUMENT, why, "uid or json is NULL");
        if (!is_known_size(options)) return wrong_size("options", *options, why);
        const live_pod_state state = live.state_of(uid);
        if (state == live_pod_state::unknown) return unknown_pod(uid, why);
        auto taken = operate::room_question::ask(live, uid, room_options_of(options));
        if (taken) {
            question = *std::move(taken);
            return VGA_OK;
        }
        return state == live_pod_state::waiting ? refuse_input(why, taken.error())
                                                : refuse(VGA_WRONG_STATE, why, taken.error().message());
    });
    if (asked != VGA_OK) return asked;
    return guarded(why, [&] {
        const vga_status given = give_text(json, vgpuformats::print_json(room_json(question->answer())));
        return given == VGA_OK ? given : refuse(given, why, "json is too small");
    });
}

} // extern "C"
