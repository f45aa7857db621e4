#include "vgpuops/transition/transition_words.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "vgpuformats/json.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::transitions {

namespace plan = vgpualloc::plan;
using vgpualloc::mig_slot;

namespace {

/// A GPU as text: for every memory slice '#' in an instance that a pod has, '+' in one without, '.' in none.
std::string drawn(const plan::gpu_layouts& states, plan::mig_places instances, plan::mig_places busy) {
    std::string line(static_cast<std::size_t>(states.model().units.count()), '.');
    for (std::size_t place = 0; place < states.places().size(); ++place) {
        if (((instances >> place) & 1U) == 0) continue;
        const auto& [slot, size] = states.places()[place];
        std::fill_n(line.begin() + slot.start.count(), size.count(), ((busy >> place) & 1U) != 0 ? '#' : '+');
    }
    return line;
}

document placement_json(const vgpualloc::mig_model& model, const mig_slot& slot) {
    const auto& profile = model.profiles[slot.profile];
    return document::map({{"profile", profile.name},
                          {"profile_id", profile.profile_id},
                          {"start", slot.start.count()},
                          {"size", profile.size.count()}});
}

} // namespace

std::string plan_text(const plan::gpu_layouts& states, plan::mig_live_state live,
                      const plan::transition_request& request, const std::optional<plan::layout_plan>& planned) {
    const auto& model = states.model();
    if (!planned) {
        const std::string why = request.want.empty() ? "an instance has a pod, and a group changes as a whole"
                                : request.moving.moves_max == 0
                                    ? "not without moving a pod"
                                    : fmt::format("not with {} moves", request.moving.moves_max);
        return fmt::format("{}: none: {}\n", model.name, why);
    }
    const std::string goal = planned->place
                                 ? plan::name_of(model, states.places()[*planned->place].slot) + " is free then"
                                 : "the group is there then";
    const auto counted = [](auto count, std::string_view word) {
        return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
    };
    std::string text = fmt::format("{}: {}, {:.3f} s, {}, {:.3f} s of downtime: {}\n\n", model.name,
                                   counted(planned->steps.size(), "step"), seconds_of(planned->cost),
                                   counted(planned->moves, "move"), seconds_of(planned->downtime), goal);
    std::string ruler;
    for (std::int64_t unit = 0; unit < model.units.count(); ++unit) ruler += static_cast<char>('0' + unit % 10);
    const auto row = [&](std::string_view number, std::string_view what, std::string_view profile, std::string_view id,
                         std::string_view from, std::string_view start, std::string_view size, std::string_view takes,
                         std::string_view grid) {
        text += fmt::format("{:>4}  {:<8}  {:<14}  {:>3}  {:>4}  {:>5}  {:>4}  {:>8}  {}\n", number, what, profile, id,
                            from, start, size, takes, grid);
    };
    row("step", "what", "profile", "id", "from", "start", "size", "seconds", ruler);
    row("", "before", "", "", "", "", "", "", drawn(states, live.instances, live.busy));
    for (std::size_t i = 0; i < planned->steps.size(); ++i) {
        const plan::mig_step& step = planned->steps[i];
        live = plan::after_step(states, step, live);
        row(std::to_string(i + 1), name_of(step.kind), model.profiles[step.profile].name,
            std::to_string(step.profile_id), step.from ? std::to_string(step.from->count()) : "",
            std::to_string(step.start.count()), std::to_string(step.size.count()),
            fmt::format("{:.3f}", seconds_of(step.takes)), drawn(states, live.instances, live.busy));
    }
    return text;
}

std::string plan_json(const plan::gpu_layouts& states, const std::optional<plan::layout_plan>& planned) {
    const auto& model = states.model();
    document answer = document::map({{"model", model.name}, {"possible", planned.has_value()}});
    if (!planned) return vgpuformats::print_json(answer, 2) + "\n";
    answer["seconds"] = seconds_of(planned->cost);
    answer["downtime_seconds"] = seconds_of(planned->downtime);
    answer["moves"] = planned->moves;
    document steps = document::list();
    for (const plan::mig_step& step : planned->steps) {
        document entry = placement_json(model, {step.profile, step.start});
        entry["what"] = std::string{name_of(step.kind)};
        if (step.from) entry["from"] = step.from->count();
        entry["seconds"] = seconds_of(step.takes);
        steps.push_back(std::move(entry));
    }
    answer["steps"] = std::move(steps);
    if (planned->place) answer["instance"] = placement_json(model, states.places()[*planned->place].slot);
    document after = document::list();
    for (std::size_t place = 0; place < states.places().size(); ++place) {
        if (((planned->after.instances >> place) & 1U) == 0) continue;
        document entry = placement_json(model, states.places()[place].slot);
        entry["busy"] = ((planned->after.busy >> place) & 1U) != 0;
        after.push_back(std::move(entry));
    }
    answer["after"] = std::move(after);
    return vgpuformats::print_json(answer, 2) + "\n";
}

} // namespace vgpuops::transitions
