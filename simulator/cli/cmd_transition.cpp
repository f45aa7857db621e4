// vgpusim transition: the steps from what a MIG GPU is cut into to a free instance of a profile, or to another group.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "vgpualloc/plan/device_repack.hpp"
#include "vgpualloc/plan/mig_group_change.hpp"
#include "vgpualloc/plan/mig_transition.hpp"
#include "vgpuformats/json.hpp"

namespace vgpusim::cli {

namespace {

namespace plan = vgpualloc::plan;
using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::mig_slot;
using vgpualloc::mig_units;
using vgpualloc::ticks;
using vgpualloc::unexpected;
using vgpuformats::document;

struct options {
    std::string model;
    std::vector<std::string> instances;
    std::vector<std::string> busy;
    std::vector<std::string> pinned;
    std::string want;
    std::vector<std::string> group;
    bool anew = false;
    bool fewest_moves = false;
    plan::mig_transition_options moving;
    double create_seconds = 0;
    double destroy_seconds = 0;
    double restart_seconds = 0;
    plan::mig_step_costs costs;
    std::vector<std::string> files;
    bool json = false;
};

constexpr double seconds_max = 1'000'000;

[[nodiscard]] double seconds(ticks time) {
    return static_cast<double>(time.count()) / static_cast<double>(vgpualloc::ticks_per_second.count());
}

[[nodiscard]] error wrong(const std::string& option, const std::string& value, std::string expected_text) {
    return {.code = error_code::malformed,
            .where = option,
            .field = "",
            .value = value,
            .expected = std::move(expected_text)};
}

[[nodiscard]] std::optional<std::int64_t> number_in(std::string_view digits) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size()) return std::nullopt;
    return number;
}

/// The position of a profile by its name, or by its id as nvidia-smi prints it.
[[nodiscard]] expected<std::size_t> profile_in(const vgpualloc::mig_model& model, const std::string& option,
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

[[nodiscard]] std::string word_of(const vgpualloc::mig_model& model, const mig_slot& slot) {
    return model.profiles[slot.profile].name + "@" + std::to_string(slot.start.count());
}

/// The place that PROFILE@START names.
[[nodiscard]] expected<std::size_t> place_in(const plan::gpu_layouts& states, const std::string& option,
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
[[nodiscard]] std::string conflict_of(const vgpualloc::mig_model& model, const vgpualloc::mig_layout& layout,
                                      const mig_slot& added) {
    const auto& wanted = model.profiles[added.profile];
    std::int64_t compute = wanted.compute_slices.count();
    std::int64_t same = 1;
    for (const mig_slot& slot : layout) {
        const auto& profile = model.profiles[slot.profile];
        if (slot.start < added.start + wanted.size && added.start < slot.start + profile.size) {
            return "memory slices that " + word_of(model, slot) + " does not have";
        }
        compute += profile.compute_slices.count();
        same += slot.profile == added.profile ? 1 : 0;
    }
    if (compute > model.compute_slices.count()) {
        return fmt::format("at most {} compute slices together", model.compute_slices.count());
    }
    if (same > wanted.max_instances) return fmt::format("at most {} of this profile", wanted.max_instances);
    for (const auto& [name, field] : vgpualloc::mig_engine_fields) {
        const auto& whole = model.engines.*field;
        std::int64_t taken = (wanted.engines.*field).value_or(0);
        for (const mig_slot& slot : layout) taken += (model.profiles[slot.profile].engines.*field).value_or(0);
        if (whole && taken > *whole) return fmt::format("at most {} {} engines together", *whole, name);
    }
    return "instances that can exist together";
}

/// The instances that a list names, each once and all of them legal together.
[[nodiscard]] expected<plan::mig_places> layout_in(const plan::gpu_layouts& states,
                                                   const std::vector<std::string>& texts) {
    plan::mig_places layout = 0;
    for (const std::string& text : texts) {
        const auto place = place_in(states, "--state", text);
        if (!place) return unexpected(place.error());
        const plan::mig_places more = layout | (plan::mig_places{1} << *place);
        if (more == layout) {
            return unexpected(error{error_code::duplicate, "--state", "", text, "every instance once"});
        }
        if (!states.find(more)) {
            const auto why = conflict_of(states.model(), states.slots(layout), states.places()[*place].slot);
            return unexpected(error{error_code::mismatch, "--state", "", text, why});
        }
        layout = more;
    }
    return layout;
}

/// Instances of a list that have to be among those of another option.
[[nodiscard]] expected<plan::mig_places> part_in(const plan::gpu_layouts& states, const std::string& option,
                                                 const std::vector<std::string>& texts, plan::mig_places whole,
                                                 const std::string& whole_option) {
    plan::mig_places part = 0;
    for (const std::string& text : texts) {
        const auto place = place_in(states, option, text);
        if (!place) return unexpected(place.error());
        const plan::mig_places instance = plan::mig_places{1} << *place;
        if ((whole & instance) == 0) {
            return unexpected(error{error_code::mismatch, option, "", text, "an instance of " + whole_option});
        }
        part |= instance;
    }
    return part;
}

[[nodiscard]] expected<plan::mig_live_state> live_in(const plan::gpu_layouts& states, const options& chosen) {
    const auto instances = layout_in(states, chosen.instances);
    if (!instances) return unexpected(instances.error());
    const auto busy = part_in(states, "--busy", chosen.busy, *instances, "--state");
    if (!busy) return unexpected(busy.error());
    const auto pinned = part_in(states, "--pinned", chosen.pinned, *busy, "--busy");
    if (!pinned) return unexpected(pinned.error());
    return plan::mig_live_state{*instances, *busy, *pinned};
}

[[nodiscard]] expected<plan::mig_step_costs> costs_in(const options& chosen) {
    plan::mig_step_costs costs = chosen.costs;
    for (const auto& [option, given, cost] :
         {std::tuple{"--create-seconds", chosen.create_seconds, &costs.create},
          std::tuple{"--destroy-seconds", chosen.destroy_seconds, &costs.destroy},
          std::tuple{"--restart-seconds", chosen.restart_seconds, &costs.restart}}) {
        const double micros = given * static_cast<double>(vgpualloc::ticks_per_second.count());
        if (!(micros >= 1 && given <= seconds_max)) {
            return unexpected(
                error{error_code::out_of_range, option, "", fmt::format("{}", given), "0.000001 to 1000000"});
        }
        *cost = ticks{std::llround(micros)};
    }
    return costs;
}

/// What is printed of either kind of plan.
struct shown_plan {
    std::vector<plan::mig_step> steps;
    ticks cost;
    ticks downtime;
    std::int64_t moves = 0;
    plan::mig_live_state after;
    std::optional<std::size_t> place; ///< of the wanted instance
};

[[nodiscard]] std::optional<shown_plan> shown_of(const std::optional<plan::mig_transition>& transition) {
    if (!transition) return std::nullopt;
    return shown_plan{.steps = transition->steps,
                      .cost = transition->cost,
                      .downtime = transition->downtime,
                      .moves = transition->moves,
                      .after = transition->after,
                      .place = transition->place};
}

[[nodiscard]] expected<std::optional<shown_plan>> group_plan(plan::mig_transitions& planner,
                                                             const plan::mig_live_state& live, const options& chosen) {
    vgpualloc::mig_group group;
    for (const std::string& text : chosen.group) {
        const auto equals = text.rfind('=');
        const auto count =
            equals == std::string::npos ? std::nullopt : number_in(std::string_view{text}.substr(equals + 1));
        if (!count) return unexpected(wrong("--want-group", text, "PROFILE=COUNT, like 1g.5gb=7"));
        const auto profile = profile_in(planner.states().model(), "--want-group", text.substr(0, equals));
        if (!profile) return unexpected(profile.error());
        group.kinds.push_back(
            {.name = planner.states().model().profiles[*profile].name, .memory = {}, .count = *count});
    }
    const auto change = change_group(planner.states(), planner.costs(), live, group, {.keep_equal = !chosen.anew});
    if (!change) {
        error failure = change.error();
        failure.where = "--want-group";
        return unexpected(std::move(failure));
    }
    if (!*change) return std::nullopt;
    return shown_plan{.steps = (*change)->steps,
                      .cost = (*change)->cost,
                      .downtime = {},
                      .moves = 0,
                      .after = {(*change)->after, 0, 0},
                      .place = std::nullopt};
}

[[nodiscard]] expected<std::optional<shown_plan>>
instance_plan(plan::mig_transitions& planner, const plan::mig_live_state& live, const options& chosen) {
    plan::mig_places wanted = 0;
    if (chosen.want.find('@') == std::string::npos) {
        const auto profile = profile_in(planner.states().model(), "--want", chosen.want);
        if (!profile) return unexpected(profile.error());
        wanted = planner.states().places_of(*profile);
    } else {
        const auto place = place_in(planner.states(), "--want", chosen.want);
        if (!place) return unexpected(place.error());
        wanted = plan::mig_places{1} << *place;
    }
    const auto transition = planner.plan(live, wanted, chosen.moving);
    if (!transition) return unexpected(transition.error());
    return shown_of(*transition);
}

/// The fewest moves of pods instead of the fewest seconds.
[[nodiscard]] expected<std::optional<shown_plan>> repack_plan(const plan::mig_transitions& planner,
                                                              const plan::mig_live_state& live, const options& chosen) {
    const auto profile = profile_in(planner.states().model(), "--want", chosen.want);
    if (!profile) return unexpected(profile.error());
    auto pods = plan::held_by(planner.states(), live.busy);
    for (plan::held_instance& pod : pods) pod.may_move = ((live.pinned >> pod.place) & 1U) == 0;
    const auto repack =
        plan::repack_device(planner.states(), pods, *profile, {chosen.moving.moves_max, chosen.moving.may_wait});
    if (!repack) return unexpected(repack.error());
    if (!*repack) return std::nullopt;
    return shown_of(plan::steps_of(planner, live, pods, **repack));
}

/// A GPU as text: for every memory slice '#' in an instance that a pod has, '+' in one without, '.' in none.
[[nodiscard]] std::string drawn(const plan::gpu_layouts& states, plan::mig_places instances, plan::mig_places busy) {
    std::string line(static_cast<std::size_t>(states.model().units.count()), '.');
    for (std::size_t place = 0; place < states.places().size(); ++place) {
        if (((instances >> place) & 1U) == 0) continue;
        const auto& [slot, size] = states.places()[place];
        std::fill_n(line.begin() + slot.start.count(), size.count(), ((busy >> place) & 1U) != 0 ? '#' : '+');
    }
    return line;
}

/// Instances and those that pods have, after one more step.
void carry_out(const plan::gpu_layouts& states, const plan::mig_step& step, plan::mig_live_state& live) {
    const auto bit = [&](mig_units start) {
        return plan::mig_places{1} << states.place_of({step.profile, start}).value_or(0);
    };
    switch (step.kind) {
    case plan::mig_step_kind::create:
        live.instances |= bit(step.start);
        break;
    case plan::mig_step_kind::destroy:
        live.instances &= ~bit(step.start);
        break;
    case plan::mig_step_kind::move:
        live.busy &= ~bit(step.from.value_or(mig_units{}));
        [[fallthrough]];
    case plan::mig_step_kind::restore:
        live.busy |= bit(step.start);
        break;
    case plan::mig_step_kind::save:
        live.busy &= ~bit(step.start);
        break;
    }
}

[[nodiscard]] std::string as_text(const plan::gpu_layouts& states, plan::mig_live_state live, const options& chosen,
                                  const std::optional<shown_plan>& shown) {
    const auto& model = states.model();
    if (!shown) {
        const std::string why = chosen.want.empty() ? "an instance has a pod, and a group changes as a whole"
                                : chosen.moving.moves_max == 0
                                    ? "not without moving a pod"
                                    : fmt::format("not with {} moves", chosen.moving.moves_max);
        return fmt::format("{}: none: {}\n", model.name, why);
    }
    const std::string goal = shown->place ? word_of(model, states.places()[*shown->place].slot) + " is free then"
                                          : "the group is there then";
    const auto counted = [](auto count, std::string_view word) {
        return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
    };
    std::string text = fmt::format("{}: {}, {:.3f} s, {}, {:.3f} s of downtime: {}\n\n", model.name,
                                   counted(shown->steps.size(), "step"), seconds(shown->cost),
                                   counted(shown->moves, "move"), seconds(shown->downtime), goal);
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
    for (std::size_t i = 0; i < shown->steps.size(); ++i) {
        const plan::mig_step& step = shown->steps[i];
        carry_out(states, step, live);
        row(std::to_string(i + 1), name_of(step.kind), model.profiles[step.profile].name,
            std::to_string(step.profile_id), step.from ? std::to_string(step.from->count()) : "",
            std::to_string(step.start.count()), std::to_string(step.size.count()),
            fmt::format("{:.3f}", seconds(step.takes)), drawn(states, live.instances, live.busy));
    }
    return text;
}

[[nodiscard]] document placement_json(const vgpualloc::mig_model& model, const mig_slot& slot) {
    const auto& profile = model.profiles[slot.profile];
    return document::map({{"profile", profile.name},
                          {"profile_id", profile.profile_id},
                          {"start", slot.start.count()},
                          {"size", profile.size.count()}});
}

[[nodiscard]] std::string as_json(const plan::gpu_layouts& states, const std::optional<shown_plan>& shown) {
    const auto& model = states.model();
    document answer = document::map({{"model", model.name}, {"possible", shown.has_value()}});
    if (!shown) return vgpuformats::print_json(answer, 2) + "\n";
    answer["seconds"] = seconds(shown->cost);
    answer["downtime_seconds"] = seconds(shown->downtime);
    answer["moves"] = shown->moves;
    document steps = document::list();
    for (const plan::mig_step& step : shown->steps) {
        document entry = placement_json(model, {step.profile, step.start});
        entry["what"] = std::string{name_of(step.kind)};
        if (step.from) entry["from"] = step.from->count();
        entry["seconds"] = seconds(step.takes);
        steps.push_back(std::move(entry));
    }
    answer["steps"] = std::move(steps);
    if (shown->place) answer["instance"] = placement_json(model, states.places()[*shown->place].slot);
    document after = document::list();
    for (std::size_t place = 0; place < states.places().size(); ++place) {
        if (((shown->after.instances >> place) & 1U) == 0) continue;
        document entry = placement_json(model, states.places()[place].slot);
        entry["busy"] = ((shown->after.busy >> place) & 1U) != 0;
        after.push_back(std::move(entry));
    }
    answer["after"] = std::move(after);
    return vgpuformats::print_json(answer, 2) + "\n";
}

[[nodiscard]] expected<std::string> answer(const options& chosen) {
    std::vector<named_input> inputs;
    add_inputs(inputs, "--file", chosen.files);
    if (const auto once = read_stdin_once(inputs); !once) return unexpected(once.error());
    const auto catalog = load_catalog(chosen.files);
    if (!catalog) return unexpected(catalog.error());
    const auto model = find_model(catalog->mig, chosen.model);
    if (!model) return unexpected(model.error());
    const auto costs = costs_in(chosen);
    if (!costs) return unexpected(costs.error());
    auto planner = plan::mig_transitions::make(**model, *costs);
    if (!planner) return unexpected(planner.error());
    const auto live = live_in(planner->states(), chosen);
    if (!live) return unexpected(live.error());
    const auto shown = chosen.want.empty()   ? group_plan(*planner, *live, chosen)
                       : chosen.fewest_moves ? repack_plan(*planner, *live, chosen)
                                             : instance_plan(*planner, *live, chosen);
    if (!shown) return unexpected(shown.error());
    return chosen.json ? as_json(planner->states(), *shown) : as_text(planner->states(), *live, chosen, *shown);
}

int run(const options& chosen) {
    const auto text = answer(chosen);
    if (!text) return report_error(text.error());
    fmt::print("{}", *text);
    return exit_done;
}

void add_costs(CLI::App& command, options& chosen) {
    const auto add = [&](const char* name, double& to, ticks preset, const char* help) {
        to = seconds(preset);
        command.add_option(name, to, help)->type_name("NUMBER")->capture_default_str();
    };
    add("--create-seconds", chosen.create_seconds, chosen.costs.create, "What creating an instance takes");
    add("--destroy-seconds", chosen.destroy_seconds, chosen.costs.destroy, "What destroying an instance takes");
    add("--restart-seconds", chosen.restart_seconds, chosen.costs.restart,
        "What stopping a pod and letting it go on takes, without copying");
    command
        .add_option("--copy-mib-per-s", chosen.costs.copy_mib_per_s, "How fast a pod's memory goes to or from the host")
        ->type_name("INTEGER")
        ->capture_default_str();
}

} // namespace

void add_transition(CLI::App& app, int& exit_code) {
    auto chosen = std::make_shared<options>();
    CLI::App* command = app.add_subcommand(
        "transition", "Plan how a MIG GPU comes to a free instance of a profile: what to destroy, create and move");
    command->add_option("MODEL", chosen->model, "A model by name, card type, PCI id or what the driver prints")
        ->type_name("")
        ->required();
    const auto add_list = [&](const char* name, std::vector<std::string>& to, const char* help) {
        command->add_option(name, to, help)->type_name("PROFILE@START,...")->delimiter(',')->allow_extra_args(false);
    };
    add_list("--state", chosen->instances, "The instances that exist");
    add_list("--busy", chosen->busy, "Those that a pod has");
    add_list("--pinned", chosen->pinned, "Busy ones whose pods may not move");
    CLI::Option* want = command->add_option("--want", chosen->want, "The profile that is to be free")
                            ->type_name("PROFILE[@START]")
                            ->check(filled());
    CLI::Option* group =
        command->add_option("--want-group", chosen->group, "Or the instances of another geometry group")
            ->type_name("PROFILE=COUNT,...")
            ->delimiter(',')
            ->allow_extra_args(false)
            ->excludes(want);
    command->add_flag("--anew", chosen->anew, "Destroy all instances of the old group and create all of the new one")
        ->needs(group);
    command->add_option("--moves", chosen->moving.moves_max, "At most so many moves of pods")
        ->type_name("INTEGER")
        ->capture_default_str()
        ->excludes(group);
    command->add_flag("--may-wait", chosen->moving.may_wait, "Pods may wait on the host while others take their places")
        ->excludes(group);
    command
        ->add_flag("--fewest-moves", chosen->fewest_moves,
                   "The fewest moves, of --moves at most, instead of the fewest seconds")
        ->excludes(group);
    add_costs(*command, *chosen);
    add_catalog_files(*command, chosen->files);
    command->add_flag("--json", chosen->json, "As JSON");
    command->callback([chosen, &exit_code] {
        if (chosen->want.empty() && chosen->group.empty()) {
            exit_code = report_error({error_code::missing, "", "--want", "", "a profile, or --want-group"});
            return;
        }
        exit_code = run(*chosen);
    });
}

} // namespace vgpusim::cli
