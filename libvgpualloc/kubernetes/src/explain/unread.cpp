// What of a pod's resources nothing here reads, in words.
#include "unread.hpp"

#include <fmt/format.h>

namespace vgpualloc::explaining {

std::vector<std::string> unread_words(const std::vector<unread_resource>& unread, const kubernetes::pod& pod) {
    std::vector<std::string> words;
    for (const unread_resource& entry : unread) {
        const std::string why = entry.ignored.empty()
                                    ? "which no dialect here reads"
                                    : fmt::format("which dialect {} does not look at there", entry.ignored);
        const std::string off = entry.off_by.empty() ? "" : fmt::format(" ({} switches it off)", entry.off_by);
        words.push_back(
            fmt::format("{} asks for {}: {}, {}{}", entry.container, entry.resource, entry.amount, why, off));
    }
    for (const std::string& claim : pod.claims) {
        words.push_back(
            fmt::format("asks for resource claim {} (spec.resourceClaims), which no dialect here reads", claim));
    }
    return words;
}

} // namespace vgpualloc::explaining
