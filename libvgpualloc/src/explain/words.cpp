// Refusals in words.
#include "vgpualloc/explain/words.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace vgpualloc::explaining {

namespace {

/// "1 device", "2 devices", "3000 MiB".
std::string amount_words(std::int64_t amount, std::string_view unit) {
    if (unit.empty()) return std::to_string(amount);
    const bool drops_plural = amount == 1 && unit.ends_with('s');
    return fmt::format("{} {}", amount, drops_plural ? unit.substr(0, unit.size() - 1) : unit);
}

} // namespace

std::string words_of(const refusal& refused) {
    const std::string code{to_string(refused.code)};
    if (!refused.rule.empty()) return fmt::format("{}: {}", code, refused.rule);
    const std::int64_t wanted = refused.wanted;
    const std::int64_t available = refused.available;
    if (refused.code == rejection_code::device_in_use) {
        return fmt::format("{}: {} {} on it", code, available, available == 1 ? "container" : "containers");
    }
    const bool is_of_one_device = refused.code == rejection_code::device_taken_whole && refused.unit.empty();
    if (is_of_one_device || (wanted == 0 && available == 0)) return code;
    const std::string wanted_words = amount_words(wanted, refused.unit);
    if (refused.code == rejection_code::no_free_instance) return fmt::format("{}: wanted {}", code, wanted_words);
    const auto* const has = refused.code == rejection_code::instance_memory_unknown ? "known to have" : "available";
    return fmt::format("{}: wanted {}, {} {}", code, wanted_words, has, amount_words(available, refused.unit));
}

std::string scheduling_message(const explanation& explained) {
    return explained.chosen ? "" : scheduling_message(explained.reasons, explained.nodes.size());
}

std::string scheduling_message(const rejection& reasons, std::size_t nodes) {
    std::vector<std::pair<std::int64_t, std::size_t>> counts; // negated, so that sorting puts the most frequent first
    for (std::size_t code = 1; code < reasons.nodes.size(); ++code) {
        if (reasons.nodes[code] > 0) counts.emplace_back(-reasons.nodes[code], code);
    }
    std::ranges::sort(counts);
    std::string list;
    for (const auto& [count, code] : counts) {
        list += fmt::format("{}{} {}", list.empty() ? " " : ", ", -count, to_string(static_cast<rejection_code>(code)));
    }
    return fmt::format("0/{} nodes are available:{}.", nodes, list);
}

} // namespace vgpualloc::explaining
