// Bounds of runs whose pods leave, as JSON and as text.
#pragma once

#include <optional>
#include <string>

#include "vgpusim/engine/bound_figures.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// The object `steady` of bound.json and of the key `bound` of summary.json (docs/bound.md).
[[nodiscard]] document steady_document(const steady_figures& figures);

/// What `vgpusim bound` prints of them: a line for each.
[[nodiscard]] std::string steady_words(const steady_figures& figures);

/// What part of the possible a run reached, in a sentence or two; empty for bounds without a run.
[[nodiscard]] std::string steady_answer(const steady_figures& figures);

/// What a run reached of a share, 0 to 1, where it has reached anything: of a bound that holds on average, what it
/// could have reached with the durations that its pods happened to have.
[[nodiscard]] std::optional<double> part_achieved(const share_bound& bound) noexcept;

/// What part of a mean wait no policy could have avoided: 1 where it was as short as can be, 0 where nobody had to
/// wait.
[[nodiscard]] std::optional<double> part_unavoidable(const least_wait& wait) noexcept;

} // namespace vgpusim
