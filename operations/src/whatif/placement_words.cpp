// Placements in words.
#include "placement_words.hpp"

#include <fmt/format.h>

#include "vgpualloc/explain/part_words.hpp"

namespace vgpuops::whatif {

void add_line(std::string& text, std::string_view line) { text += printable(line) + "\n"; }

void add_not_considered(const std::vector<std::string>& rules, std::string& text) {
    text += "\n";
    add_line(text, rules.empty() ? "not considered: nothing that is there" : "not considered, although it is there:");
    for (const std::string& rule : rules) add_line(text, "  " + rule);
}

void add_warnings(const std::vector<error>& warnings, std::string& text) {
    if (warnings.empty()) return;
    text += "\n";
    add_line(text, fmt::format("warnings of the cluster ({}):", warnings.size()));
    for (const std::string& line : explaining::warning_lines(warnings)) add_line(text, "  " + line);
}

std::string share_words(const std::vector<explaining::explained_share>& shares) {
    std::string text;
    for (const explaining::counted_share& alike : explaining::count_alike(shares)) {
        const auto& share = *alike.share;
        text +=
            fmt::format("{}{} {}", text.empty() ? "" : "; ",
                        share.uuid.empty() ? std::to_string(share.device) : share.uuid, explaining::words_of(alike));
    }
    return text.empty() ? "no device" : text;
}

} // namespace vgpuops::whatif
