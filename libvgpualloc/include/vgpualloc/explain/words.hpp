// An explanation in words: plain text for people, JSON for programs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/explain/answers.hpp"

namespace vgpualloc::explaining {

/// "insufficient_device_memory: wanted 3000 MiB, available 1000 MiB"
[[nodiscard]] std::string words_of(const refusal& refused);

/// "0/5 nodes are available: 3 insufficient_device_memory, 2 family_not_offered."; empty where the pod fits.
[[nodiscard]] std::string scheduling_message(const explanation& explained);
/// The same of a cluster of so many nodes, all of which refuse.
[[nodiscard]] std::string scheduling_message(const rejection& reasons, std::size_t nodes);

struct explain_layout {
    std::size_t nodes_max = 20; ///< rows shown; the chosen node is always shown
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
