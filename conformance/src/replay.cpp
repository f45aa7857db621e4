// Replaying cases.
#include "vgpuconformance/conformance.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "native.hpp"
#include "quirk_search.hpp"
#include "recording.hpp"
#include "vgpuformats/files.hpp"

namespace vgpuconformance {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;

namespace {

namespace volcano = vgpualloc::compat::volcano;

std::string_view name_of(volcano::quirk which) { return volcano::quirk_names[static_cast<std::size_t>(which)]; }

json decide_add(volcano::scheduler& model, const json& event) {
    if (event.value("new_session", false)) model.open_session();
    const auto decided = model.schedule(pod_from(event.at("pod")), event.value("rollback", false),
                                        texts_from(event, "bind_annotations"));
    json out = attempt_json(model, decided);
    out["has_request"] = std::ranges::any_of(decided.nodes, &volcano::node_answer::requested);
    if (decided.bound) {
        out["cache_state"] = state_json(model.cache_state(*decided.chosen), *decided.chosen, false);
    }
    return out;
}

/// What happens outside a session: the node concerned and its cache ledger.
json decide_outside(volcano::scheduler& model, const json& event, const std::string& op) {
    std::size_t where = 0;
    if (op == "restore") {
        where = event.at("node").get<std::size_t>();
        model.restore(pod_from(event.at("pod")), where);
    } else if (op == "delete") {
        const auto uid = event.at("pod_uid").get<std::string>();
        const auto removed = model.remove(uid);
        if (!removed) return {{"chosen", -1}}; // it was never bound here, which an earlier event has shown already
        where = *removed;
    } else {
        where = event.at("node").get<std::size_t>();
        model.update_node(where);
    }
    return {{"chosen", where}, {"cache_state", state_json(model.cache_state(where), where, false)}};
}

/// The first place in which two values differ.
std::optional<event_difference> first_difference(const json& recorded, const json& decided) {
    const json recorded_part = compact(recorded);
    const json decided_part = compact(decided);
    if (recorded_part == decided_part) return std::nullopt;
    const json patch = json::diff(recorded_part, decided_part);
    const auto at = patch.front().at("path").get<std::string>();
    const auto text_at = [&at](const json& value) {
        const json::json_pointer where{at};
        return value.contains(where) ? value.at(where).dump(-1, ' ', false, json::error_handler_t::replace) : "nothing";
    };
    return event_difference{
        .case_id = {}, .event = 0, .at = at, .recorded = text_at(recorded_part), .decided = text_at(decided_part)};
}

/// The recording's "out" without what is not compared: what other runs of upstream did, and what says nothing there.
json comparable(const json& event) {
    json out = event.at("out");
    if (out.contains("alloc")) out["alloc"].erase("alternatives");
    if (event.at("op").get<std::string>() != "add") out.erase("has_request");
    return out;
}

/// All that the model decides in a case.
struct decided_case {
    std::vector<json> loaded; ///< per node: what the first session finds
    std::vector<json> events;
};

decided_case decide_case(const json& recorded) {
    check_case(recorded);
    volcano::scheduler model{config_from(recorded), options_from(recorded)};
    for (const json& node : recorded.at("nodes")) {
        model.add_node(node_from(node), npu_info_from(node));
    }
    model.open_session();
    decided_case decided;
    for (std::size_t i = 0; i < model.node_count(); ++i) {
        decided.loaded.push_back(state_json(model.session_state(i), i, true));
    }
    for (const json& event : recorded.at("events")) {
        const auto op = event.at("op").get<std::string>();
        decided.events.push_back(op == "add" ? decide_add(model, event) : decide_outside(model, event, op));
    }
    return decided;
}

std::optional<event_difference> loaded_difference(const json& nodes, const decided_case& decided) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!nodes[i].contains("loaded")) continue;
        auto difference = first_difference(nodes[i]["loaded"], decided.loaded[i]);
        if (!difference) continue;
        difference->at = "/nodes/" + std::to_string(i) + "/loaded" + difference->at;
        return difference;
    }
    return std::nullopt;
}

void replay_case(const json& recorded, replay_result& result) {
    const decided_case decided = decide_case(recorded);
    auto loaded = loaded_difference(recorded.at("nodes"), decided);
    const json& events = recorded.at("events");
    for (std::size_t i = 0; i < events.size(); ++i) {
        auto difference = std::exchange(loaded, std::nullopt); // counted with the first event
        if (!difference) difference = first_difference(comparable(events[i]), decided.events[i]);
        if (!difference) {
            ++result.passed;
            continue;
        }
        ++result.failed;
        difference->case_id = recorded.at("id").get<std::string>();
        difference->event = i;
        result.differences.push_back(std::move(*difference));
    }
}

/// The same for native, which is not compared in texts and scores, and where quirks may explain a difference.
void replay_natively(const json& recorded, replay_result& result) {
    check_case(recorded);
    const auto family = recorded.at("family").get<std::string>();
    const json& events = recorded.at("events");
    native_side native{recorded};
    std::vector<unlike_event> unlike;
    for (std::size_t i = 0; i < events.size(); ++i) {
        auto decided = native.step(events[i]);
        const auto op = events[i].at("op").get<std::string>();
        if (decided == outcome_of(events[i].at("out"), op, family)) {
            ++result.passed;
        } else {
            unlike.push_back({.event = i, .decided = std::move(decided), .explained_by = {}});
        }
    }
    explain(recorded, unlike);
    for (const unlike_event& otherwise : unlike) {
        ++(otherwise.explained_by.empty() ? result.failed : result.passed);
        const json& event = events[otherwise.event];
        const auto recorded_outcome = outcome_of(event.at("out"), event.at("op").get<std::string>(), family);
        auto difference = difference_between(recorded_outcome, otherwise.decided);
        difference.case_id = recorded.at("id").get<std::string>();
        difference.event = otherwise.event;
        for (const volcano::quirk quirk : otherwise.explained_by) difference.explained_by.emplace_back(name_of(quirk));
        result.differences.push_back(std::move(difference));
    }
}

/// A decision as recordings write it: with what always matters, and otherwise only what says something.
json as_recorded(const json& decided) {
    json out = compact(decided);
    out["chosen"] = decided.at("chosen");
    if (const auto allocated = decided.find("alloc"); allocated != decided.end()) {
        for (const char* const key : {"ok", "annotations"}) out["alloc"][key] = allocated->at(key);
    }
    return out;
}

/// The line of a case with what the model decides in place of what was recorded; the rest as it was written.
std::string printed_case(std::string_view line) {
    const decided_case decided = decide_case(json::parse(line));
    auto shown = nlohmann::ordered_json::parse(line);
    for (std::size_t i = 0; i < decided.loaded.size(); ++i) {
        shown["nodes"][i]["loaded"] = compact(decided.loaded[i]);
    }
    for (std::size_t i = 0; i < decided.events.size(); ++i) {
        shown["events"][i]["out"] = as_recorded(decided.events[i]);
    }
    return shown.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

error bad_line(const std::string& path, std::size_t line, const std::string& what) {
    return {.code = error_code::malformed,
            .where = path + ":" + std::to_string(line),
            .field = "",
            .value = "",
            .expected = what};
}

/// Calls `handle` with every line that is not empty. What it throws about a line becomes an error that names the line.
expected<void> for_each_line(const std::string& path, const std::function<void(std::string_view)>& handle) {
    const auto text = vgputraces::read_file(path);
    if (!text) return unexpected(text.error());
    std::string_view rest{*text};
    for (std::size_t line = 1; !rest.empty(); ++line) {
        const std::size_t end = rest.find('\n');
        const std::string_view line_text = rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        if (line_text.empty()) continue;
        try {
            handle(line_text);
        } catch (const json::exception& failure) {
            return unexpected(bad_line(path, line, std::string{"not a recorded case: "} + failure.what()));
        } catch (const std::invalid_argument& failure) {
            return unexpected(bad_line(path, line, failure.what()));
        }
    }
    return {};
}

} // namespace

std::vector<std::string> implementations() { return {"native", "compat:volcano"}; }

expected<replay_result> replay_recording(const std::string& path, std::string_view implementation) {
    const auto replay = implementation == "native" ? replay_natively : replay_case;
    replay_result result;
    const auto read = for_each_line(path, [&](std::string_view line) { replay(json::parse(line), result); });
    if (!read) return unexpected(read.error());
    if (result.passed + result.failed == 0) return unexpected(bad_line(path, 1, "needs recorded cases, has no event"));
    return result;
}

expected<std::string> decide_recording(const std::string& path) {
    std::string cases;
    const auto read = for_each_line(path, [&cases](std::string_view line) { cases += printed_case(line); });
    if (!read) return unexpected(read.error());
    if (cases.empty()) return unexpected(bad_line(path, 1, "needs cases, has none"));
    return cases;
}

} // namespace vgpuconformance
