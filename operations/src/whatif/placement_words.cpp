// Placements in words.
#include "placement_words.hpp"

#include <fmt/format.h>

#include "vgpualloc/explain/part_words.hpp"

namespace vgpuops::whatif {

void add_line(std::string& text, std::string_view line) { text += printable(line) + "\n"; }

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
