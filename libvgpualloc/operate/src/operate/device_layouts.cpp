// Layouts of the MIG GPUs of a living cluster.
#include "vgpualloc/operate/device_layouts.hpp"

#include <algorithm>

#include "vgpualloc/catalog/mig.hpp"

namespace vgpualloc::operate {

namespace {

error unsupported_device(std::string_view uuid, std::string expected_text) {
    return bad_value(error_code::unsupported, "device", uuid, std::move(expected_text));
}

plan::mig_places bit_of(std::size_t place) { return plan::mig_places{1} << place; }

/// Why an instance cannot be made beside, or taken away from, instances of which some are busy; empty if it can.
std::string why_not_taken(const plan::gpu_layouts& states, plan::mig_step_kind kind, std::optional<std::size_t> place,
                          plan::mig_places exists, plan::mig_places busy) {
    if (!place) return "an instance that the model has";
    const plan::mig_places instance = bit_of(*place);
    if (kind == plan::mig_step_kind::create) {
        return (exists & instance) == 0 && states.find(exists | instance) ? ""
                                                                          : "one that fits beside those that exist";
    }
    if ((exists & instance) == 0) return "an instance that exists";
    return (busy & instance) == 0 ? "" : "an instance that is not busy";
}

} // namespace

expected<plan::mig_transitions*> device_layouts::planner_for(std::string_view name) {
    const auto model = find_model(*live_->configured().config.mig, name);
    if (!model) return unexpected(model.error());
    const auto known = planners_.find((*model)->name);
    // A configuration may have brought another catalog.
    if (known != planners_.end() && known->second.states().model() == **model) return &known->second;
    auto planner = plan::mig_transitions::make(**model, costs_);
    if (!planner) return unexpected(std::move(planner).error());
    return &planners_.insert_or_assign((*model)->name, *std::move(planner)).first->second;
}

expected<device_layouts::device_now> device_layouts::look_at(node_index where, std::string_view uuid) {
    const auto which = live_->find_device(where, uuid);
    if (!which) return unexpected(which.error());
    const cluster& nodes = live_->book().nodes();
    const device_spec& spec = nodes.spec_of(where, *which);
    if (spec.mode->name() != "mig") return unexpected(unsupported_device(uuid, "a device that is shared as mig"));
    const auto planner = planner_for(spec.model);
    if (!planner) return unexpected(planner.error());
    device_now now{.key = {nodes.nodes[where.at()].name, std::string{uuid}}, .planner = *planner};
    // The mode by places writes what pods have as places of the same model; groups count slots that lie nowhere.
    if (spec.mode->placed() != nullptr) now.given = live_->book().devices(where)[which->at()].layout;
    if (const auto noted = noted_.find(now.key); noted != noted_.end()) now.noted = noted->second;
    return now;
}

expected<device_layouts::device_now> device_layouts::look_at_known(node_index where, std::string_view uuid) {
    auto now = look_at(where, uuid);
    if (now && !now->noted.is_known) {
        return unexpected(unsupported_device(uuid, "a device whose layout was noted since a step of it failed"));
    }
    return now;
}

/// Drops what was noted of devices that are not there any more.
void device_layouts::forget_gone() {
    std::erase_if(noted_, [this](const auto& entry) {
        return !live_->find_device(live_->find_node(entry.first.first), entry.first.second);
    });
}

expected<void> device_layouts::note_layout(node_index where, std::string_view uuid,
                                           const std::vector<std::string>& instances,
                                           const std::vector<std::string>& busy) {
    const auto now = look_at(where, uuid);
    if (!now) return unexpected(now.error());
    const auto read = plan::read_live_state(now->planner->states(), {.instances = instances, .busy = busy});
    if (!read) return unexpected(read.error());
    const auto [noted, is_new] =
        noted_.insert_or_assign(now->key, noted_layout{.exists = read->instances, .busy = read->busy});
    if (is_new) forget_gone();
    return {};
}

expected<std::vector<layout_instance>> device_layouts::layout_of(node_index where, std::string_view uuid) {
    const auto now = look_at_known(where, uuid);
    if (!now) return unexpected(now.error());
    const plan::gpu_layouts& states = now->planner->states();
    std::vector<layout_instance> result;
    for (std::size_t place = 0; place < states.places().size(); ++place) {
        const plan::mig_places instance = bit_of(place);
        if (((now->noted.exists | now->given) & instance) == 0) continue;
        const mig_slot& slot = states.places()[place].slot;
        const mig_profile& profile = states.model().profiles[slot.profile];
        result.push_back({.profile = profile.name,
                          .profile_id = profile.profile_id,
                          .start = slot.start.count(),
                          .size = states.places()[place].size.count(),
                          .exists = (now->noted.exists & instance) != 0,
                          .is_busy = ((now->given | now->noted.busy) & instance) != 0});
    }
    std::ranges::stable_sort(result, {}, &layout_instance::start);
    return result;
}

expected<std::optional<std::vector<layout_step>>> device_layouts::plan(node_index where, std::string_view uuid,
                                                                       const plan::transition_request& request) {
    const auto now = look_at_known(where, uuid);
    if (!now) return unexpected(now.error());
    if (request.want.empty() == request.group.empty()) {
        return unexpected(bad_value(error_code::missing, "want", request.want,
                                    "a profile, or the instances of a group: one of the two"));
    }
    if (request.moving.moves_max != 0 || request.moving.fewest_moves) {
        return unexpected(unsupported_device(uuid, "a plan without moves: busy instances stay where they are"));
    }
    const std::optional<std::vector<layout_step>> none;
    if (!request.group.empty() && now->promised() != 0) return none; // as where an instance is busy
    plan::transition_request asked = request;
    asked.promised = now->promised();
    const plan::mig_live_state state{.instances = now->noted.exists, .busy = now->busy(), .pinned = now->busy()};
    const auto planned = plan::plan_layout(*now->planner, state, asked);
    if (!planned) return unexpected(planned.error());
    if (!*planned) return none;
    std::vector<layout_step> steps;
    for (const plan::mig_step& step : (*planned)->steps) {
        steps.push_back({.kind = step.kind,
                         .profile = now->planner->states().model().profiles[step.profile].name,
                         .profile_id = step.profile_id,
                         .start = step.start,
                         .size = step.size,
                         .takes = step.takes});
    }
    return std::optional{std::move(steps)};
}

bool device_layouts::is_known(node_index where, std::string_view uuid) const {
    if (!live_->find_device(where, uuid)) return true;
    const auto noted = noted_.find({live_->book().nodes().nodes[where.at()].name, std::string{uuid}});
    return noted == noted_.end() || noted->second.is_known;
}

expected<void> device_layouts::note_step(node_index where, std::string_view uuid, const layout_step& step,
                                         step_outcome outcome) {
    const auto now = look_at_known(where, uuid);
    if (!now) return unexpected(now.error());
    if (step.kind != plan::mig_step_kind::create && step.kind != plan::mig_step_kind::destroy) {
        return unexpected(unsupported_device(uuid, "a step that creates or destroys an instance"));
    }
    const plan::gpu_layouts& states = now->planner->states();
    const auto profile = find_profile(states.model(), step.profile);
    if (!profile) return unexpected(profile.error());
    const auto place =
        states.place_of({static_cast<std::size_t>(*profile - states.model().profiles.data()), step.start});
    const std::string refusal = why_not_taken(states, step.kind, place, now->noted.exists, now->busy());
    if (!refusal.empty()) {
        return unexpected(bad_value(error_code::mismatch, "step",
                                    std::string{plan::name_of(step.kind)} + " " + step.profile + "@" +
                                        std::to_string(step.start.count()),
                                    refusal));
    }
    noted_layout after = now->noted;
    after.is_known = outcome == step_outcome::done;
    if (after.is_known) {
        after.exists ^= bit_of(*place);
        after.busy &= after.exists;
    }
    noted_.insert_or_assign(now->key, after);
    return {};
}

} // namespace vgpualloc::operate
