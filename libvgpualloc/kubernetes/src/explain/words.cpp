// Refusals and warnings in words.
#include "vgpualloc/explain/words.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "request_words.hpp"

namespace vgpualloc::explaining {

namespace {

/// "1 device", "2 devices", "3000 MiB".
std::string amount_words(std::int64_t amount, std::string_view unit) {
    if (unit.empty()) return std::to_string(amount);
    const bool drops_plural = amount == 1 && unit.ends_with('s');
    return fmt::format("{} {}", amount, drops_plural ? unit.substr(0, unit.size() - 1) : unit);
}

/// What nodes have in common that are alike.
std::string nature_of(const explained_node& node) {
    std::map<std::pair<std::string, std::string>, std::int64_t> devices; // by model and mode
    for (const explained_device& device : node.devices) ++devices[{device.model, device.mode}];
    std::string words;
    for (const auto& [device, count] : devices) {
        words += fmt::format("{} x {} ({}), ", count, device.first.empty() ? "unknown" : device.first, device.second);
    }
    return fmt::format("{}{} mCPU, {} MiB", words, node.cpu.count(), mib_down(node.memory));
}

} // namespace

std::vector<std::string> warning_lines(const std::vector<error>& warnings) {
    constexpr std::size_t shown_max = 20;
    std::map<std::pair<error_code, std::string>, std::size_t> counts;
    std::vector<std::string> lines;
    for (const error& warning : warnings) {
        std::string field = warning.field;
        std::erase_if(field, [](char c) { return c >= '0' && c <= '9'; }); // positions
        if (++counts[{warning.code, field}] <= shown_max) lines.push_back(warning.message());
    }
    for (const auto& [kind, count] : counts) {
        if (count <= shown_max) continue;
        const std::string of = kind.second.empty() ? "" : " of " + printable(kind.second);
        lines.push_back(fmt::format("{} more like these{} (--json has all)", count - shown_max, of));
    }
    return lines;
}

std::vector<refusing_nodes> groups_of_refusals(const explanation& explained,
                                               const std::function<bool(std::size_t)>& counts) {
    std::map<std::pair<std::string, std::vector<rejection_code>>, refusing_nodes> by_kind;
    for (std::size_t n = 0; n < explained.nodes.size(); ++n) {
        const explained_node& node = explained.nodes[n];
        if (node.refused.fits() || (counts && !counts(n))) continue;
        const std::string nature = nature_of(node);
        std::vector<rejection_code> codes{node.refused.code};
        for (const refusal& further : node.also) codes.push_back(further.code);
        refusing_nodes& entry = by_kind[{nature, codes}];
        if (entry.nodes++ > 0 && node.refused.available <= entry.closest.available) continue;
        entry.nodes_are = nature;
        entry.closest = node.refused;
        entry.also = node.also;
        entry.node = node.name;
    }
    std::vector<refusing_nodes> result;
    for (auto& [kind, entry] : by_kind) result.push_back(std::move(entry));
    std::ranges::stable_sort(result, std::ranges::greater{}, &refusing_nodes::nodes);
    return result;
}

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
    const bool is_of_one_instance = refused.code == rejection_code::no_free_instance && refused.unit != units_word;
    if (is_of_one_instance) return fmt::format("{}: wanted {}", code, wanted_words);
    const auto* const has = refused.code == rejection_code::instance_memory_unknown ? "known to have" : "available";
    return fmt::format("{}: wanted {}, {} {}", code, wanted_words, has, amount_words(available, refused.unit));
}

std::string also_words(const std::vector<refusal>& also) {
    std::string words;
    for (const refusal& further : also) words += "; also " + words_of(further);
    return words;
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
