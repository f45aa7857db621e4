// How long a study took, as its JSON says.
#pragma once

#include "vgpuformats/document.hpp"

namespace vgpusim {

/// Of results with `runs`, `wall_s`, `cpu_s` and `jobs`.
template <class Results>
[[nodiscard]] vgpuformats::document timing_of(const Results& results) {
    const auto runs = static_cast<double>(results.runs.size());
    return vgpuformats::document::map({{"wall_s", results.wall_s},
                                       {"cpu_s", results.cpu_s},
                                       {"runs_per_s", results.wall_s > 0.0 ? runs / results.wall_s : 0.0},
                                       {"jobs", results.jobs}});
}

} // namespace vgpusim
