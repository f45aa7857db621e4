// Replaying cases.
#include "vgpuconformance/conformance.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "compat.hpp"
#include "native.hpp"
#include "quirk_search.hpp"
#include "recording.hpp"
#include "recording_compare.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuformats/json.hpp"

namespace vgpuconformance {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;

namespace {

namespace volcano = vgpualloc::compat::volcano;

std::string_view name_of(volcano::quirk which) { return volcano::quirk_names[static_cast<std::size_t>(which)]; }

document decide_add(volcano::scheduler& model, const recorded_event& event) {
    if (event.new_session) model.open_session();
    const auto attempt = model.schedule(event.pod, event.roll_back, event.bind_annotations);
    document out = attempt_document(model, attempt);
    out["has_request"] = std::ranges::any_of(attempt.nodes, &volcano::node_answer::requested);
    if (attempt.bound) {
        out["cache_state"] = state_document(model.cache_state(*attempt.chosen), *attempt.chosen, false);
    }
    return out;
}

/// What happens outside a session: the node concerned and its cache ledger.
document decide_outside(volcano::scheduler& model, const recorded_event& event) {
    std::size_t where = event.node;
    if (event.kind == event_kind::restore) {
        model.restore(event.pod, where);
    } else if (event.kind == event_kind::node_update) {
        model.update_node(where);
    } else {
        const auto removed = model.remove(event.pod_uid);
        // No node: the pod was never bound here, which an earlier event has shown already.
        if (!removed) return document::map({{"chosen", -1}});
        where = *removed;
    }
    return document::map({{"chosen", where}, {"cache_state", state_document(model.cache_state(where), where, false)}});
}

/// All that the model decides in a case.
struct decided_case {
    std::vector<document> loaded; ///< per node: what the first session finds
    std::vector<document> events;
};

decided_case decide_case(const recorded_case& recorded) {
    volcano::scheduler model{recorded.config, recorded.options};
    for (const recorded_node& node : recorded.nodes) model.add_node(node.node, node.npu);
    model.open_session();
    decided_case decided;
    for (std::size_t i = 0; i < model.node_count(); ++i) {
        decided.loaded.push_back(state_document(model.session_state(i), i, true));
    }
    for (const recorded_event& event : recorded.events) {
        decided.events.push_back(event.kind == event_kind::add ? decide_add(model, event)
                                                               : decide_outside(model, event));
    }
    return decided;
}

/// The recording's "out" without what is not compared: what other runs of upstream did, and what says nothing there.
document comparable(const recorded_event& event) {
    document out = *event.out;
    const auto remove = [](document& object, std::string_view key) {
        std::erase_if(object.members, [key](const document::member& member) { return member.first == key; });
    };
    if (out.find("alloc") != nullptr) remove(out["alloc"], "alternatives");
    if (event.kind != event_kind::add) remove(out, "has_request");
    return out;
}

std::optional<event_difference> loaded_difference(const std::vector<recorded_node>& nodes,
                                                  const decided_case& decided) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].loaded == nullptr) continue;
        auto difference = first_difference(*nodes[i].loaded, decided.loaded[i]);
        if (!difference) continue;
        difference->at = "/nodes/" + std::to_string(i) + "/loaded" + difference->at;
        return difference;
    }
    return std::nullopt;
}

void replay_case(const recorded_case& recorded, replay_result& result) {
    const decided_case decided = decide_case(recorded);
    auto loaded = loaded_difference(recorded.nodes, decided);
    for (std::size_t i = 0; i < recorded.events.size(); ++i) {
        auto difference = std::exchange(loaded, std::nullopt); // counted with the first event
        if (!difference) difference = first_difference(comparable(recorded.events[i]), decided.events[i]);
        if (!difference) {
            ++result.passed;
            continue;
        }
        ++result.failed;
        difference->case_id = recorded.id;
        difference->event = i;
        result.differences.push_back(std::move(*difference));
    }
}

/// The same for native, which is not compared in texts and scores, and where quirks may explain a difference.
void replay_natively(const recorded_case& recorded, replay_result& result) {
    const std::size_t count = recorded.events.size();
    const auto decided = outcomes_of(native_side{recorded}, recorded.events, count);
    const auto with_quirks = outcomes_of(compat_side{recorded, volcano::quirk_set::all()}, recorded.events, count);
    const auto without_quirks = outcomes_of(compat_side{recorded, volcano::quirk_set{}}, recorded.events, count);
    const decided_case in_full = decide_case(recorded);
    auto loaded = loaded_difference(recorded.nodes, in_full);
    std::vector<unlike_event> unlike;
    for (std::size_t i = 0; i < count; ++i) {
        const outcome decided_then = outcome_of(recorded.events[i].result, recorded.family);
        if (decided[i] == without_quirks[i]) ++result.as_without_quirks;
        auto not_upstreams = std::exchange(loaded, std::nullopt);
        if (!not_upstreams) not_upstreams = first_difference(comparable(recorded.events[i]), in_full.events[i]);
        if (with_quirks[i] == decided_then && not_upstreams) {
            // A field that native is not compared in, such as a name or a text: the recording is not upstream's.
            ++result.failed;
            not_upstreams->case_id = recorded.id;
            not_upstreams->event = i;
            result.differences.push_back(std::move(*not_upstreams));
        } else if (with_quirks[i] != decided_then) {
            // Not what upstream does, so native fails too, even where it decides just so.
            ++result.failed;
            const bool as_native = decided[i] == decided_then;
            auto difference = difference_between(decided_then, as_native ? with_quirks[i] : decided[i]);
            if (as_native) difference.decided = "so too, but upstream decides " + difference.decided;
            difference.case_id = recorded.id;
            difference.event = i;
            result.differences.push_back(std::move(difference));
        } else if (decided[i] == decided_then) {
            ++result.passed;
        } else {
            unlike.push_back({.event = i, .decided = decided[i], .why = explanation::none, .explained_by = {}});
        }
    }
    explain(recorded, without_quirks, unlike);
    for (const unlike_event& otherwise : unlike) {
        ++(otherwise.why == explanation::none ? result.failed : result.passed);
        const outcome decided_then = outcome_of(recorded.events[otherwise.event].result, recorded.family);
        auto difference = difference_between(decided_then, otherwise.decided);
        difference.case_id = recorded.id;
        difference.event = otherwise.event;
        difference.why = otherwise.why;
        for (const volcano::quirk quirk : otherwise.explained_by) difference.explained_by.emplace_back(name_of(quirk));
        result.differences.push_back(std::move(difference));
    }
}

/// A decision as recordings write it: with what always matters, and otherwise only what says something.
document as_recorded(const document& decided) {
    document out = compact(decided);
    out["chosen"] = *decided.find("chosen");
    if (const document* const allocated = decided.find("alloc")) {
        for (const char* const key : {"ok", "annotations"}) out["alloc"][key] = *allocated->find(key);
    }
    sort_members(out);
    return out;
}

/// The line of a case with what the model decides in place of what was recorded; the rest as it was written.
std::string printed_case(document line, const decided_case& decided) {
    for (std::size_t i = 0; i < decided.loaded.size(); ++i) {
        document loaded = compact(decided.loaded[i]);
        sort_members(loaded);
        line["nodes"].items[i]["loaded"] = std::move(loaded);
    }
    for (std::size_t i = 0; i < decided.events.size(); ++i) {
        line["events"].items[i]["out"] = as_recorded(decided.events[i]);
    }
    return vgpuformats::print_json(line) + '\n';
}

error bad_line(const std::string& path, std::size_t line, const std::string& what) {
    return bad_value(error_code::malformed, "", "", what).at(path + ":" + std::to_string(line));
}

using case_handler = std::function<void(document&, const recorded_case&)>;

/// Calls `handle` with the case of every line that is not empty, as the document that it is and as what was read of it.
expected<void> for_each_case(const std::string& path, recorded_parts parts, const case_handler& handle) {
    const auto input = vgpuformats::read_input(path, {.bytes_max = vgpuformats::list_bytes_max});
    if (!input) return unexpected(input.error());
    std::string_view rest{input->text};
    for (std::int32_t line = 1; !rest.empty(); ++line) {
        const std::size_t end = rest.find('\n');
        const std::string_view line_text = rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        if (line_text.empty()) continue;
        auto value = vgpuformats::parse_json(line_text, path, vgpuformats::repeated_keys::refused, line);
        if (!value) return unexpected(value.error());
        const auto recorded = read_case(*value, path, parts);
        if (!recorded) return unexpected(recorded.error());
        try {
            handle(*value, *recorded);
        } catch (const std::invalid_argument& failure) { // of a device that native cannot add to its cluster
            return unexpected(bad_line(path, static_cast<std::size_t>(line), failure.what()));
        }
    }
    return {};
}

} // namespace

std::vector<std::string> implementations() { return {"native", "compat:volcano"}; }

expected<replay_result> replay_recording(const std::string& path, std::string_view implementation) {
    const auto replay = implementation == "native" ? replay_natively : replay_case;
    replay_result result;
    const auto read = for_each_case(path, recorded_parts::decisions,
                                    [&](const document&, const recorded_case& recorded) { replay(recorded, result); });
    if (!read) return unexpected(read.error());
    if (result.passed + result.failed == 0) return unexpected(bad_line(path, 1, "needs recorded cases, has no event"));
    return result;
}

expected<std::string> decide_recording(const std::string& path) {
    std::string cases;
    std::size_t events = 0;
    const auto read =
        for_each_case(path, recorded_parts::questions, [&](document& line, const recorded_case& recorded) {
            const decided_case decided = decide_case(recorded);
            cases += printed_case(std::move(line), decided);
            events += recorded.events.size();
        });
    if (!read) return unexpected(read.error());
    if (events == 0) return unexpected(bad_line(path, 1, "needs cases, has no event"));
    return cases;
}

} // namespace vgpuconformance
