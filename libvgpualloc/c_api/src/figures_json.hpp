// Figures of a living cluster as JSON.
#pragma once

#include "vgpualloc/live/live_figures.hpp"
#include "vgpuformats/document.hpp"

namespace vgpualloc {

/// docs/embedding.md names its members.
[[nodiscard]] vgpuformats::document figures_json(const live_figures& figures);

} // namespace vgpualloc
