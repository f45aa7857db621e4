// Finding the entry of a catalog that a text names: what a driver prints, a node's label, or the catalog's own name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vgpualloc::detail {

/// Whether `words` stands in `printed` as words of its own: H20 is not in "H200", B200 not in "GB200". A dash may stand
/// for a space, as in labels of Kubernetes nodes.
[[nodiscard]] bool has_words(std::string_view printed, std::string_view words);

/// The first of `texts` that is also one of `taken`.
[[nodiscard]] std::optional<std::string> common_text(const std::vector<std::string>& texts,
                                                     const std::vector<std::string>& taken);

/// Length of the longest of the entry's texts that stands in `text`; 0 if none does.
template <class Entry>
[[nodiscard]] std::size_t match_length(const Entry& entry, std::string_view text) {
    std::size_t longest = has_words(text, entry.name) ? entry.name.size() : 0;
    for (const std::string& type : entry.card_types) {
        if (type.size() > longest && has_words(text, type)) longest = type.size();
    }
    return longest;
}

/// The entry whose longest text stands in what was printed, and another one that matches equally well; null: none.
template <class Entry>
struct catalog_match {
    const Entry* best = nullptr;
    const Entry* rival = nullptr;
};

template <class Entry>
[[nodiscard]] catalog_match<Entry> longest_match(const std::vector<Entry>& entries, std::string_view text) {
    catalog_match<Entry> match;
    std::size_t best_length = 0;
    for (const Entry& entry : entries) {
        const std::size_t length = match_length(entry, text);
        if (length == 0 || length < best_length) continue;
        match.rival = length == best_length ? &entry : nullptr;
        if (length > best_length) match.best = &entry;
        best_length = length;
    }
    return match;
}

} // namespace vgpualloc::detail
