// Reading outcomes and telling them apart.
#include "outcome.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace vgpuconformance {

namespace {

constexpr std::string_view npu_family = "ascend-mindcluster-310p";

std::int64_t number(const json& object, const char* key) {
    const auto member = object.find(key);
    return member == object.end() ? 0 : member->get<std::int64_t>();
}

/// The template of every card in order, from `huawei.com/<word>`; a whole card and a software slice have none.
std::vector<std::string> templates_of(const json& annotations, const std::string& word) {
    std::vector<std::string> names;
    const auto annotation = annotations.find("huawei.com/" + word);
    if (annotation == annotations.end()) return names;
    for (const json& card : json::parse(annotation->get<std::string>()))
        names.push_back(card.value("temp", std::string{}));
    return names;
}

taken_part part_of(const json& card, std::int64_t container) {
    taken_part part{.container = container, .device = number(card, "index"), .cut = {}, .cores = number(card, "cores")};
    const auto mig = card.find("mig");
    if (mig == card.end()) {
        part.memory = number(card, "mem");
    } else {
        part.cut = fmt::format("{}-{}", mig->value("group", std::string{}), number(*mig, "position"));
    }
    return part;
}

void add_containers(const json& allocated, outcome& result) {
    const auto containers = allocated.find("containers");
    if (containers == allocated.end()) return;
    std::int64_t position = 0;
    for (const json& container : *containers) {
        for (const json& card : container) result.parts.push_back(part_of(card, position));
        if (!container.empty()) ++position;
    }
}

void add_templates(const json& allocated, outcome& result) {
    const json annotations = allocated.value("annotations", json::object());
    std::vector<std::string> names;
    for (const json& container : allocated.value("containers", json::array())) {
        if (container.empty()) continue;
        names = templates_of(annotations, container.front().value("type", std::string{}));
        break;
    }
    for (std::size_t i = 0; i < std::min(names.size(), result.parts.size()); ++i) result.parts[i].cut = names[i];
}

booked_devices booked_of(const json& state, const std::string& family) {
    booked_devices booked;
    for (const json& device : state.value("devices", json::array())) {
        booked_use use{.slots = number(device, "used_num"),
                       .memory = number(device, "used_mem"),
                       .cores = number(device, "used_core")};
        if (family == npu_family) {
            const json used = device.value("used", json::object());
            use = {.slots = 0, .memory = number(used, "cpu"), .cores = number(used, "core")};
        }
        // By number a card is taken whole: what memory its pods name beside it is not asked for.
        if (state.value("mode", std::string{}) == "number") use.memory = 0;
        if (use != booked_use{}) booked[number(device, "i")] = use;
    }
    return booked;
}

std::string text_of(const taken_part& part) {
    return fmt::format("container {} device {}{}{} memory {} cores {}", part.container, part.device,
                       part.cut.empty() ? "" : " ", part.cut, part.memory, part.cores);
}

std::string text_of(const std::vector<taken_part>& parts) {
    std::vector<std::string> texts;
    for (const taken_part& part : parts) texts.push_back(text_of(part));
    return texts.empty() ? "nothing" : fmt::format("{}", fmt::join(texts, "; "));
}

std::string text_of(const std::optional<booked_devices>& booked) {
    if (!booked) return "nothing";
    std::vector<std::string> texts;
    for (const auto& [index, use] : *booked) {
        texts.push_back(
            fmt::format("device {}: {} slots, memory {}, cores {}", index, use.slots, use.memory, use.cores));
    }
    return texts.empty() ? "all free" : fmt::format("{}", fmt::join(texts, "; "));
}

} // namespace

outcome outcome_of(const json& out, const std::string& op, const std::string& family) {
    outcome result;
    result.chosen = out.value("chosen", std::int64_t{-1});
    if (op == "add") {
        for (const json& node : out.value("nodes", json::array())) result.fits.push_back(node.value("fit", false));
    }
    if (const auto allocated = out.find("alloc"); allocated != out.end()) {
        result.allocated = allocated->value("ok", false);
        if (result.allocated) {
            add_containers(*allocated, result);
            if (family == "ascend-hami") add_templates(*allocated, result);
            for (const json& chip : allocated->value("chips", json::array())) {
                result.parts.push_back({.container = 0,
                                        .device = chip.get<std::int64_t>(),
                                        .cut = allocated->value("template", std::string{})});
            }
        }
    }
    if (const auto state = out.find("session_state"); state != out.end()) result.session = booked_of(*state, family);
    if (const auto state = out.find("cache_state"); state != out.end() && family != npu_family) {
        result.cache = booked_of(*state, family);
    }
    return result;
}

event_difference difference_between(const outcome& recorded, const outcome& decided) {
    const auto at = [](std::string place, std::string want, std::string have) {
        return event_difference{.case_id = {},
                                .event = 0,
                                .at = std::move(place),
                                .recorded = std::move(want),
                                .decided = std::move(have),
                                .explained_by = {}};
    };
    for (std::size_t i = 0; i < std::min(recorded.fits.size(), decided.fits.size()); ++i) {
        if (recorded.fits[i] == decided.fits[i]) continue;
        return at(fmt::format("/nodes/{}/fit", i), fmt::to_string(bool{recorded.fits[i]}),
                  fmt::to_string(bool{decided.fits[i]}));
    }
    if (recorded.chosen != decided.chosen) {
        return at("/chosen", fmt::to_string(recorded.chosen), fmt::to_string(decided.chosen));
    }
    if (recorded.allocated != decided.allocated || recorded.parts != decided.parts) {
        return at("/alloc", recorded.allocated ? text_of(recorded.parts) : "a failure",
                  decided.allocated ? text_of(decided.parts) : "a failure");
    }
    if (recorded.session != decided.session) {
        return at("/session_state", text_of(recorded.session), text_of(decided.session));
    }
    return at("/cache_state", text_of(recorded.cache), text_of(decided.cache));
}

} // namespace vgpuconformance
