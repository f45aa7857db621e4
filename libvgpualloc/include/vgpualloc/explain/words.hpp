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

struct explain_layout {
    std::size_t nodes_max = 20; ///< rows shown; the chosen node is always shown
    std::string node{};         ///< only this one; empty = all
    std::vector<error> warnings{};
};
/// Aligned tables as plain text.
[[nodiscard]] std::string explanation_text(const explanation& explained, const explain_layout& layout);
/// Everything, as one JSON document; docs/explain.md names its members. Of `layout` nodes_max does not count.
[[nodiscard]] std::string explanation_json(const explanation& explained, const explain_layout& layout);
/// The same of one; several are in the list `pods`.
[[nodiscard]] std::string explanations_json(const std::vector<explanation>& explained, const explain_layout& layout);

} // namespace vgpualloc::explaining
