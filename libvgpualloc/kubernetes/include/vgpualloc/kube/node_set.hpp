// Sets of nodes as people name them on a command line: names, globs, ranges of numbers and label selectors.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/cluster.hpp"

namespace vgpualloc::kube {

/// The key of the label that a word means: the label of that name or, of a word without a '/', the one whose name ends
/// in "/" and the word ("zone" is topology.kubernetes.io/zone). Errors: duplicate for a word that two labels end in,
/// which names both; unknown_name where no node has such a label, with the labels, or words of `others`, that are
/// spelt nearly so. The place of an error is empty.
[[nodiscard]] expected<std::string> label_key_of(std::span<const node> nodes, std::string_view word,
                                                 std::span<const std::string_view> others = {});

/// Which of the nodes are in a set, by their position. A set has parts with commas between them: "a100-1", "a100-*"
/// (also '?'), "a100-[1-3]" or "a100-[001-140]" as names that follow one another are printed, "zone=b", "zone!=b",
/// "pool in (train,dev)", "pool notin (dev)", "spare" (nodes with that label),
/// "!spare" (nodes without it). Names and globs add up; a node has to be in every part that is about a label. As in
/// Kubernetes a node without the label is in "zone!=b". Keys of labels are those of label_key_of(). Errors, at
/// "<option> <set>": malformed for what is no part; duplicate for a word with two meanings; unknown_name if no node is
/// in the set, with what there is in the place of the part that no node is in.
[[nodiscard]] expected<std::vector<bool>> nodes_in_set(std::span<const node> nodes, std::string_view set,
                                                       std::string_view option);

} // namespace vgpualloc::kube
