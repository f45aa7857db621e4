// Texts about a MIG GPU, read and planned.
#include "vgpualloc/plan/transition_request.hpp"

#include <charconv>
#include <string_view>
#include <utility>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/plan/mig_group_change.hpp"

namespace vgpualloc::plan {

namespace {

[[nodiscard]] error wrong(const std::string& option, const std::string& value, std::string expected_text) {
    return bad_value(error_code::malformed, "", value, std::move(expected_text)).at(option);
}

[[nodiscard]] std::optional<std::int64_t> number_in(std::string_view digits) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size()) return std::nullopt;
    return number;
}

/// The position of a profile by its name, or by its id as nvidia-smi prints it.
[[nodiscard]] expected<std::size_t> profile_in(const mig_model& model, const std::string& option,
                                               const std::string& name) {
    const auto id = number_in(name);
    for (std::size_t i = 0; id && i < model.profiles.size(); ++i) {
        if (model.profiles[i].profile_id == *id) return i;
    }
    const auto profile = find_profile(model, name);
    if (!profile) {
        error failure = profile.error();
        failure.where = option;
        return unexpected(std::move(failure));
    }
    return static_cast<std::size_t>(*profile - model.profiles.data());
}

/// The place that PROFILE@START names.
[[nodiscard]] expected<std::size_t> place_in(const gpu_layouts& states, const std::string& option,
                                             const std::string& text) {
    const auto at = text.rfind('@');
    const auto start = at == std::string::npos ? std::nullopt : number_in(std::string_view{text}.substr(at + 1));
    if (!start) return unexpected(wrong(option, text, "PROFILE@START, like 3g.20gb@4"));
    const auto profile = profile_in(states.model(), option, text.substr(0, at));
    if (!profile) return unexpected(profile.error());
    const auto place = states.place_of({*profile, mig_units{*start}});
    if (place) return *place;
    std::string starts;
    for (const mig_units known : states.model().profiles[*profile].starts) {
        starts += (starts.empty() ? "a start of it: " : ", ") + std::to_string(known.count());
    }
    return unexpected(wrong(option, text, starts));
}

/// Why an instance cannot exist beside those of a legal layout.
[[nodiscard]] std::string conflict_of(const mig_model& model, const mig_layout& layout, const mig_slot& added) {
    const auto& wanted = model.profiles[added.profile];
    std::int64_t compute = wanted.compute_slices.count();
    std::int64_t same = 1;
    for (const mig_slot& slot : layout) {
        const auto& profile = model.profiles[slot.profile];
        if (slot.start < added.start + wanted.size && added.start < slot.start + profile.size) {
            return "memory slices that " + name_of(model, slot) + " does not have";
        }
        compute += profile.compute_slices.count();
        same += slot.profile == added.profile ? 1 : 0;
    }
    if (compute > model.compute_slices.count()) {
        return "at most " + std::to_string(model.compute_slices.count()) + " compute slices together";
    }
    if (same > wanted.max_instances) return "at most " + std::to_string(wanted.max_instances) + " of this profile";
    for (const auto& [name, field] : mig_engine_fields) {
        const auto& whole = model.engines.*field;
        std::int64_t taken = (wanted.engines.*field).value_or(0);
        for (const mig_slot& slot : layout) taken += (model.profiles[slot.profile].engines.*field).value_or(0);
        if (whole && taken > *whole)
            return "at most " + std::to_string(*whole) + " " + std::string{name} + " engines together";
    }
    return "instances that can exist together";
}

/// The instances that a list names, each once and all of them legal together.
[[nodiscard]] expected<mig_places> layout_in(const gpu_layouts& states, const std::vector<std::string>& texts,
                                             const std::string& option) {
    mig_places layout = 0;
    for (const std::string& text : texts) {
        const auto place = place_in(states, option, text);
        if (!place) return unexpected(place.error());
        const mig_places more = layout | (mig_places{1} << *place);
        if (more == layout) {
            return unexpected(bad_value(error_code::duplicate, "", text, "every instance once").at(option));
        }
        if (!states.find(more)) {
            const auto why = conflict_of(states.model(), states.slots(layout), states.places()[*place].slot);
            return unexpected(bad_value(error_code::mismatch, "", text, why).at(option));
        }
        layout = more;
    }
    return layout;
}

/// Instances of a list that have to be among those of another option.
[[nodiscard]] expected<mig_places> part_in(const gpu_layouts& states, const std::string& option,
                                           const std::vector<std::string>& texts, mig_places whole,
                                           const std::string& whole_option) {
    mig_places part = 0;
    for (const std::string& text : texts) {
        const auto place = place_in(states, option, text);
        if (!place) return unexpected(place.error());
        const mig_places instance = mig_places{1} << *place;
        if ((whole & instance) == 0) {
            return unexpected(bad_value(error_code::mismatch, "", text, "an instance of " + whole_option).at(option));
        }
        part |= instance;
    }
    return part;
}

[[nodiscard]] std::optional<layout_plan> as_layout_plan(const std::optional<mig_transition>& transition) {
    if (!transition) return std::nullopt;
    return layout_plan{.steps = transition->steps,
                       .cost = transition->cost,
                       .downtime = transition->downtime,
                       .moves = transition->moves,
                       .after = transition->after,
                       .place = transition->place};
}

[[nodiscard]] expected<std::optional<layout_plan>> group_plan(mig_transitions& planner, const mig_live_state& live,
                                                              const transition_request& request,
                                                              const transition_names& names) {
    mig_group group;
    for (const std::string& text : request.group) {
        const auto equals = text.rfind('=');
        const auto count =
            equals == std::string::npos ? std::nullopt : number_in(std::string_view{text}.substr(equals + 1));
        if (!count) return unexpected(wrong(names.group, text, "PROFILE=COUNT, like 1g.5gb=7"));
        const auto profile = profile_in(planner.states().model(), names.group, text.substr(0, equals));
        if (!profile) return unexpected(profile.error());
        group.kinds.push_back(
            {.name = planner.states().model().profiles[*profile].name, .memory = {}, .count = *count});
    }
    const auto change = change_group(planner.states(), planner.costs(), live, group, {.keep_equal = !request.anew});
    if (!change) {
        error failure = change.error();
        failure.where = names.group;
        return unexpected(std::move(failure));
    }
    if (!*change) return std::nullopt;
    return layout_plan{.steps = (*change)->steps,
                       .cost = (*change)->cost,
                       .downtime = {},
                       .moves = 0,
                       .after = {(*change)->after, 0, 0},
                       .place = std::nullopt};
}

[[nodiscard]] expected<std::optional<layout_plan>> instance_plan(mig_transitions& planner, const mig_live_state& live,
                                                                 const transition_request& request,
                                                                 const transition_names& names) {
    mig_places wanted = 0;
    if (request.moving.fewest_moves || request.want.find('@') == std::string::npos) {
        const auto profile = profile_in(planner.states().model(), names.want, request.want);
        if (!profile) return unexpected(profile.error());
        wanted = planner.states().places_of(*profile) & ~request.promised;
    } else {
        const auto place = place_in(planner.states(), names.want, request.want);
        if (!place) return unexpected(place.error());
        wanted = mig_places{1} << *place;
    }
    if (request.promised != 0) {
        for (std::size_t place = 0; place < planner.states().places().size(); ++place) {
            const mig_places instance = mig_places{1} << place;
            if (!planner.states().find(live.busy | request.promised | instance)) wanted &= ~instance;
        }
    }
    if (wanted == 0) return std::nullopt;
    const auto transition = planner.plan(live, wanted, request.moving);
    if (!transition) return unexpected(transition.error());
    return as_layout_plan(*transition);
}

} // namespace

std::string name_of(const mig_model& model, const mig_slot& slot) {
    return model.profiles[slot.profile].name + "@" + std::to_string(slot.start.count());
}

expected<mig_live_state> read_live_state(const gpu_layouts& states, const transition_state& state,
                                         const transition_names& names) {
    const auto instances = layout_in(states, state.instances, names.instances);
    if (!instances) return unexpected(instances.error());
    const auto busy = part_in(states, names.busy, state.busy, *instances, names.instances);
    if (!busy) return unexpected(busy.error());
    const auto pinned = part_in(states, names.pinned, state.pinned, *busy, names.busy);
    if (!pinned) return unexpected(pinned.error());
    return mig_live_state{*instances, *busy, *pinned};
}

expected<std::optional<layout_plan>> plan_layout(mig_transitions& planner, const mig_live_state& live,
                                                 const transition_request& request, const transition_names& names) {
    if (request.want.empty()) return group_plan(planner, live, request, names);
    return instance_plan(planner, live, request, names);
}

mig_live_state after_step(const gpu_layouts& states, const mig_step& step, mig_live_state live) {
    const auto instance_at = [&](mig_units start) {
        const auto place = states.place_of({step.profile, start});
        VGA_ASSERT(place.has_value(), "a step is of places that the model has");
        return mig_places{1} << *place;
    };
    switch (step.kind) {
    case mig_step_kind::create:
        live.instances |= instance_at(step.start);
        break;
    case mig_step_kind::destroy:
        live.instances &= ~instance_at(step.start);
        break;
    case mig_step_kind::move:
        live.busy &= ~instance_at(*step.from);
        live.busy |= instance_at(step.start);
        break;
    case mig_step_kind::save:
        live.busy &= ~instance_at(step.start);
        break;
    case mig_step_kind::restore:
        live.busy |= instance_at(step.start);
        break;
    }
    return live;
}

} // namespace vgpualloc::plan
