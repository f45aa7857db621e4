// An explanation in words: plain text for people, JSON for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/explain/answers.hpp"

namespace vgpualloc::explaining {

/// "insufficient_device_memory: wanted 3000 MiB, available 1000 MiB"
[[nodiscard]] std::string words_of(const refusal& refused);
/// What follows the first reason: "; also insufficient_cpu: wanted …; also …"
[[nodiscard]] std::string also_words(const std::vector<refusal>& also);

/// "0/5 nodes are available: 3 insufficient_device_memory, 2 family_not_offered."; empty where the pod fits.
[[nodiscard]] std::string scheduling_message(const explanation& explained);
/// The same of a cluster of so many nodes, all of which refuse.
[[nodiscard]] std::string scheduling_message(const rejection& reasons, std::size_t nodes);

/// One line for each warning, but of warnings of one kind only the first ones: what is wrong, but not with which
/// object, makes a kind. The others of a kind are counted in a line at the end.
[[nodiscard]] std::vector<std::string> warning_lines(const std::vector<error>& warnings);

/// Nodes that are alike and refuse a pod for one reason.
struct refusing_nodes {
    std::string nodes_are{}; ///< what they have in common: "8 x NVIDIA A100-SXM4-40GB (mig), 64000 mCPU, 512000 MiB"
    std::int64_t nodes = 0;
    refusal closest{};           ///< of the node that has the most of what is wanted
    std::vector<refusal> also{}; ///< what else would refuse there
    std::string node{};          ///< its name
};
/// Those that refuse, the largest group first. `counts` says by position which nodes count; without it all do.
[[nodiscard]] std::vector<refusing_nodes> groups_of_refusals(const explanation& explained,
                                                             const std::function<bool(std::size_t)>& counts = {});

struct explain_layout {
    std::size_t nodes_max = 20; ///< nodes that fit and groups of others; the chosen node is always shown
    bool all_nodes = false;     ///< every node in a row of its own, with its devices
    std::string node{};         ///< only this one; empty = all
    std::vector<error> warnings{};
};
/// Aligned tables as plain text.
[[nodiscard]] std::string explanation_text(const explanation& explained, const explain_layout& layout);
/// Everything, as one JSON document; docs/explain.md names its members. Of `layout` nodes_max does not count.
[[nodiscard]] std::string explanation_json(const explanation& explained, const explain_layout& layout);
/// One JSON document of several explanations, in pieces that are written one after the other, as all of them may be too
/// much to keep: the list `pods`, each as explanation_json() has it, then `warnings`, of the cluster, and `errors`, for
/// pods that could not be explained.
class explanation_list {
public:
    [[nodiscard]] std::string next(const explanation& explained, const explain_layout& layout);
    /// After the last one; there has to be one.
    [[nodiscard]] static std::string end(const std::vector<error>& warnings, const std::vector<error>& errors);

private:
    bool begun_ = false;
};

} // namespace vgpualloc::explaining
