// Reading outcomes and telling them apart.
#include "outcome.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace vgpuconformance {

namespace {

constexpr std::string_view npu_family = "ascend-mindcluster-310p";

taken_part part_of(const volcano::picked_card& card, std::int64_t container) {
    taken_part part{.container = container, .device = card.index, .cut = {}, .cores = card.cores};
    if (card.mig) {
        part.cut = fmt::format("{}-{}", card.mig->group, card.mig->position);
    } else {
        part.memory = card.memory;
    }
    return part;
}

std::vector<taken_part> parts_of(const event_result& result) {
    std::vector<taken_part> parts;
    std::int64_t position = 0;
    for (const auto& container : result.allocated->containers) {
        for (const volcano::picked_card& card : container) parts.push_back(part_of(card, position));
        if (!container.empty()) ++position;
    }
    for (std::size_t i = 0; i < std::min(result.templates.size(), parts.size()); ++i)
        parts[i].cut = result.templates[i];
    for (const std::int64_t chip : result.allocated->chips) {
        parts.push_back({.container = 0, .device = chip, .cut = result.allocated->template_name});
    }
    for (const volcano::picked_chips& more : result.allocated->more_chips) {
        ++position;
        for (const std::int64_t chip : more.chips) {
            parts.push_back({.container = position, .device = chip, .cut = more.template_name});
        }
    }
    return parts;
}

booked_devices booked_of(const volcano::ledger_state& state, bool npu) {
    booked_devices booked;
    for (const volcano::card_state& card : state.devices) {
        booked_use use{.slots = card.used_num, .memory = card.used_mem, .cores = card.used_core};
        if (npu) {
            const auto used = card.npu_used.value_or(volcano::npu_resource{});
            use = {.slots = 0, .memory = used.cpu, .cores = used.core};
        }
        // By number a card is taken whole: what memory its pods name beside it is not asked for.
        if (state.mode == "number") use.memory = 0;
        if (use != booked_use{}) booked[card.index] = use;
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

outcome outcome_of(const event_result& result, const std::string& family) {
    outcome compared;
    compared.chosen = result.chosen;
    compared.fits = result.fits;
    compared.allocated = result.allocated && result.allocated->ok;
    if (compared.allocated) compared.parts = parts_of(result);
    const bool npu = family == npu_family;
    if (result.session) compared.session = booked_of(*result.session, npu);
    if (result.cache && !npu) compared.cache = booked_of(*result.cache, npu);
    return compared;
}

event_difference difference_between(const outcome& recorded, const outcome& decided) {
    const auto at = [](std::string place, std::string want, std::string have) {
        return event_difference{
            .case_id = {}, .event = 0, .at = std::move(place), .recorded = std::move(want), .decided = std::move(have)};
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
