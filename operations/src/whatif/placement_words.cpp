// Placements in words.
#include "placement_words.hpp"

#include <map>

#include <fmt/format.h>

#include "vgpualloc/explain/part_words.hpp"
#include "vgpuformats/some_names.hpp"

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

std::string kept_words(const std::vector<kube::kept_pod>& pods) {
    std::map<std::string, std::vector<std::string>> names; // by reason
    for (const kube::kept_pod& pod : pods) names[pod.why].push_back(pod.name);
    std::string text;
    for (const auto& [why, of_reason] : names) {
        text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", vgpuformats::some_of(of_reason), why);
    }
    return text;
}

document kept_json(const std::vector<kube::kept_pod>& pods) {
    document list = document::list();
    for (const kube::kept_pod& pod : pods) {
        list.push_back(document::map({{"pod", pod.name}, {"node", pod.node}, {"why", pod.why}}));
    }
    return list;
}

} // namespace vgpuops::whatif
