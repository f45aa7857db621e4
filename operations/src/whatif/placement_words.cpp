// Placements in words.
#include "placement_words.hpp"

#include <fmt/format.h>

#include "vgpualloc/core/printable.hpp"
#include "vgpualloc/explain/part_words.hpp"

namespace vgpuops::whatif {

using vgpuformats::document;
namespace explaining = vgpualloc::explaining;

void add_line(std::string& text, std::string_view line) { text += vgpualloc::printable(line) + "\n"; }

void add_not_considered(const std::vector<std::string>& rules, std::string& text) {
    text += "\n";
    add_line(text, rules.empty() ? "not considered: nothing that is there" : "not considered, although it is there:");
    for (const std::string& rule : rules) add_line(text, "  " + rule);
}

void add_warnings(const std::vector<vgpualloc::error>& warnings, std::string& text) {
    if (warnings.empty()) return;
    text += "\n";
    add_line(text, fmt::format("warnings of the cluster ({}):", warnings.size()));
    for (const std::string& line : explaining::warning_lines(warnings)) add_line(text, "  " + line);
}

placed_pods describe_placement(const vgpualloc::kube::snapshot& state, const vgpualloc::placement& where) {
    placed_pods result{.node = state.nodes().nodes[where.node.at()].name};
    for (const auto& share : where.shares) {
        const auto& device = state.device(where.node, share.device);
        result.shares.push_back(
            {.container = share.container,
             .device = device.index,
             .uuid = device.registered.uuid,
             .part = explaining::describe_part(state.nodes().spec_of(where.node, share.device), share.part)});
    }
    return result;
}

std::string share_words(const std::vector<explaining::explained_share>& shares) {
    std::string words;
    for (const explaining::counted_share& alike : explaining::count_alike(shares)) {
        const auto& share = *alike.share;
        words +=
            fmt::format("{}{} {}", words.empty() ? "" : "; ",
                        share.uuid.empty() ? std::to_string(share.device) : share.uuid, explaining::words_of(alike));
    }
    return words.empty() ? "no device" : words;
}

document placement_json(const placed_pods& where) {
    document result = document::map({{"node", where.node}, {"shares", document::list()}});
    for (const auto& share : where.shares) {
        result["shares"].push_back(document::map({{"container", share.container},
                                                  {"device", share.device},
                                                  {"uuid", share.uuid},
                                                  {"kind", share.part.kind},
                                                  {"name", share.part.name},
                                                  {"memory_mib", share.part.memory.count()},
                                                  {"cores", share.part.cores},
                                                  {"words", share.part.words}}));
    }
    return result;
}

} // namespace vgpuops::whatif
