// Plans of moves in words.
#include <fmt/format.h>

#include "../show/short_lines.hpp"
#include "../why/why_words.hpp"
#include "placement_words.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/whatif/idle_words.hpp"
#include "vgpuops/whatif/moves.hpp"

namespace vgpuops::whatif {

namespace plan = vgpualloc::plan;

namespace {

std::string counted(std::int64_t count, const char* one) {
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

const char* unit_name(const moves_answer& answered) {
    return *answered.emptied_unit == plan::emptied_unit::device ? "device" : "node";
}

std::string none_words(const moves_answer& answered) {
    const plan::no_room& none = *answered.none;
    const std::string allowed = counted(answered.budget.moves_max, "move");
    switch (none.reason) {
    case plan::no_room_reason::none_within_moves:
        return fmt::format("there is none with {}: all of them were looked at", allowed);
    case plan::no_room_reason::over_downtime:
        return fmt::format("each with {} costs more than {:.1f} device-seconds of downtime", allowed,
                           seconds_of(answered.budget.downtime_max));
    case plan::no_room_reason::not_found:
        return fmt::format("none was found with {}, and there is none with {}", allowed,
                           counted(none.moves_ruled_out, "move"));
    case plan::no_room_reason::step_limit:
        return fmt::format("the search came to its limit of {} (--steps); there is none with {}",
                           counted(answered.budget.steps_max, "step"), counted(none.moves_ruled_out, "move"));
    }
    return {};
}

/// "0 pods may move; 36 more could with --move-bare-pods, as they have no controller". The second part only where
/// nothing moves: else most of a cluster's bare pods are none that anybody wants to move.
std::string movable_words(const moves_answer& answered, const char* may) {
    std::string sentence = counted(answered.movable, "pod") + may;
    if (answered.kept_bare == 0 || !answered.moves.empty()) return sentence;
    const bool is_one = answered.kept_bare == 1;
    return sentence + fmt::format("; {} {} no controller, and --move-bare-pods lets {} move too",
                                  counted(answered.kept_bare, "pod"), is_one ? "has" : "have", is_one ? "it" : "them");
}

void add_headline(const moves_answer& answered, std::string& text) {
    if (answered.emptied_unit) {
        add_line(text,
                 fmt::format("{} can be emptied by {}, of {}{}", counted(answered.emptied, unit_name(answered)),
                             counted(std::ssize(answered.moves), "move"), movable_words(answered, " that may move"),
                             answered.step_limit ? "; perhaps more: the search reached its limit of steps" : ""));
        const std::int64_t left = answered.used - answered.emptied;
        add_line(text, fmt::format("{} of {} in use stay so; by {} at least {} {}: {}", left,
                                   counted(answered.used, unit_name(answered)),
                                   answered.used_min_by == plan::units_bound::lp ? "a linear program of what fits"
                                                                                 : "what pods ask for",
                                   answered.used_min, answered.used_min == 1 ? "does" : "do",
                                   left <= answered.used_min
                                       ? "no plan leaves fewer"
                                       : fmt::format("a gap of {} with at most {}", left - answered.used_min,
                                                     counted(answered.budget.moves_max, "move"))));
    } else if (answered.none) {
        add_line(text, fmt::format("{}: no plan of moves: {} ({})", answered.pod, none_words(answered),
                                   movable_words(answered, " may move")));
    } else if (answered.moves.empty()) {
        add_line(text, fmt::format("{}: fits as it is, nothing has to move", answered.pod));
    } else {
        add_line(text, fmt::format("{}: fits after {} ({} may move){}", answered.pod,
                                   counted(std::ssize(answered.moves), "move"), counted(answered.movable, "pod"),
                                   answered.fewest_moves ? "; fewer are not enough"
                                                         : "; that fewer would be enough is not ruled out"));
    }
}

document cost_json(const plan::plan_cost& cost) {
    return document::map({{"downtime_device_s", seconds_of(cost.downtime)}, {"copy_s", seconds_of(cost.copy)}});
}

} // namespace

std::string moves_text(const moves_answer& answered) {
    std::string text;
    add_headline(answered, text);
    if (!answered.kept.empty()) add_line(text, "  cannot be evicted: " + kept_words(answered.kept));
    if (!answered.not_made_again.empty()) {
        add_line(text, "  would not be made again: " + kept_words(answered.not_made_again));
    }
    if (!answered.kept_by_rules.empty()) {
        add_line(text,
                 "  stay, as rules about other pods look at them: " + vgpuformats::some_of(answered.kept_by_rules));
    }
    for (std::size_t i = 0; i < answered.moves.size(); ++i) {
        const told_move& move = answered.moves[i];
        add_line(text, fmt::format("  {}. {}: {}: {}", i + 1, move.pod, move.from.node, share_words(move.from.shares)));
        add_line(text, fmt::format("     -> {}: {} ({:.1f} device-seconds of downtime)", move.to.node,
                                   share_words(move.to.shares), seconds_of(move.cost.downtime)));
    }
    if (answered.where) {
        add_line(text, fmt::format("  then {} -> {}: {}", answered.pod, answered.where->node,
                                   share_words(answered.where->shares)));
    }
    if (!answered.moves.empty()) {
        add_line(text,
                 fmt::format("cost: {:.1f} device-seconds of downtime, {:.1f} s of copying, if a move takes {:.1f} s "
                             "and {:.1f} s per GiB",
                             seconds_of(answered.cost.downtime), seconds_of(answered.cost.copy),
                             seconds_of(answered.costs.downtime_per_move),
                             seconds_of(answered.costs.copy_per_mib * 1024)));
    }
    add_line(text, fmt::format("planned in {:.1f} ms, {}", answered.plan_s * 1000, counted(answered.steps, "step")));
    if (answered.found) {
        text += before_after_line("", "before", "after") + idle_table(answered.idle_before, answered.idle_after);
    } else {
        add_line(text, "idle: " + idle_line(answered.idle_before));
    }
    why::add_last_lines(answered.warnings, answered.not_considered, text);
    return show::with_short_lines(text);
}

std::string moves_json(const moves_answer& answered) {
    document result = document::map({{"pod", answered.pod.empty() ? document{} : document{answered.pod}},
                                     {"found", answered.found},
                                     {"moves", document::list()},
                                     {"where", answered.where ? explaining::place_json(*answered.where) : document{}},
                                     {"cost", cost_json(answered.cost)},
                                     {"fewest_moves", answered.fewest_moves},
                                     {"reason", document{}},
                                     {"moves_ruled_out", document{}},
                                     {"emptied", document{}},
                                     {"idle_before", idle_json(answered.idle_before)},
                                     {"idle_after", idle_json(answered.idle_after)},
                                     {"movable_pods", answered.movable},
                                     {"kept_bare", answered.kept_bare},
                                     {"not_evictable", kept_json(answered.kept)},
                                     {"not_made_again", kept_json(answered.not_made_again)},
                                     {"kept_by_rules", document::list_of(answered.kept_by_rules)},
                                     {"steps", answered.steps},
                                     {"warnings", document::list()},
                                     {"timing", document::map({{"plan_s", answered.plan_s}})}});
    for (const told_move& move : answered.moves) {
        document row = cost_json(move.cost);
        row["pod"] = move.pod;
        row["from"] = explaining::place_json(move.from);
        row["to"] = explaining::place_json(move.to);
        result["moves"].push_back(std::move(row));
    }
    if (answered.none) {
        result["reason"] = plan::to_string(answered.none->reason);
        result["moves_ruled_out"] = answered.none->moves_ruled_out;
    }
    if (answered.emptied_unit) {
        result["emptied"] = document::map({{"unit", unit_name(answered)},
                                           {"count", answered.emptied},
                                           {"used", answered.used},
                                           {"used_min", answered.used_min},
                                           {"used_min_by", plan::to_string(answered.used_min_by)}});
    }
    for (const auto& problem : answered.warnings) result["warnings"].push_back(problem.message());
    result["not_considered"] = document::list_of(answered.not_considered);
    return vgpuformats::print_json(result, 2) + "\n";
}

} // namespace vgpuops::whatif
