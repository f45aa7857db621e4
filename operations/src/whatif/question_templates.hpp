// The nodes that a what-if may add: templates, described kinds, and nodes that another layout cuts.
#pragma once

#include <vector>

#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpuops/whatif/answer.hpp"

namespace vgpuops::whatif {

/// Errors: duplicate for a template with the name of a node or of another template, missing where no template is a
/// node.
[[nodiscard]] expected<void> check_templates(const std::vector<kube::manifest>& objects, const question& asked);

/// The question with the kinds that are described as templates, named as these are, and so with nodes that another
/// layout cuts. `layouts` are those changes.
[[nodiscard]] expected<question> with_more_templates(const std::vector<kube::manifest>& objects,
                                                     const vgpualloc::dialect_set& dialects, question asked,
                                                     std::vector<layout_change>& layouts);

} // namespace vgpuops::whatif
