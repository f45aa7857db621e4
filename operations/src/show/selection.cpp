// What of a cluster is shown, and what the first table has rows of.
#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "overview_parts.hpp"
#include "vgpualloc/kube/node_set.hpp"
#include "vgpuformats/some_names.hpp"

namespace vgpuops::show {

namespace {

struct row_word {
    std::string_view word;
    row_kind rows;
};
constexpr std::array<row_word, 7> row_words{{{"pool", row_kind::pool},
                                             {"kind", row_kind::kind},
                                             {"node", row_kind::node},
                                             {"resource", row_kind::resource},
                                             {"namespace", row_kind::of_namespace},
                                             {"queue", row_kind::queue},
                                             {"owner", row_kind::owner}}};

} // namespace

expected<grouping> grouping_of(const kube::snapshot& state, const std::string& by) {
    const auto* const entry = std::ranges::find(row_words, by, &row_word::word);
    if (entry != row_words.end()) return grouping{.rows = entry->rows, .name = by};
    std::array<std::string_view, row_words.size()> words;
    std::ranges::transform(row_words, words.begin(), &row_word::word);
    auto key = kube::label_key_of(state.nodes().nodes, by, words);
    if (!key) return unexpected(std::move(key).error().at("--by " + by));
    return grouping{.rows = row_kind::label, .name = *std::move(key)};
}

expected<void> check_namespace(const kube::snapshot& state, const std::string& ns) {
    if (ns.empty()) return {};
    std::set<std::string> names;
    for (const kube::bound_pod& bound : state.bound) names.insert(bound.pod.ns);
    for (const kube::snapshot_pod& pod : state.pending) names.insert(pod.ns);
    if (names.contains(ns)) return {};
    const std::vector<std::string> sorted{names.begin(), names.end()};
    return unexpected(bad_input(error_code::unknown_name, "", "no pod; namespaces are " + vgpuformats::some_of(sorted))
                          .at("-n " + ns));
}

void keep_nodes(kube::snapshot& state, const std::vector<bool>& set) {
    for (std::size_t n = 0; n < set.size(); ++n) {
        if (set[n]) continue;
        const auto removed = state.book->remove_node(node_index{n});
        VGA_ASSERT(removed.has_value(), "the node was there");
    }
}

} // namespace vgpuops::show
