// Bounds as JSON and as text.
#pragma once

#include <cstdint>
#include <string>

#include "vgpusim/engine/bound_figures.hpp"
#include "vgpusim/engine/record.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// The bounds as an object: of bound.json, and of the key `bound` of summary.json (docs/bound.md).
[[nodiscard]] document bound_document(const bound_figures& figures);

/// The text of bound.json.
[[nodiscard]] std::string bound_json(const bound_figures& figures, const loaded_input& loaded,
                                     const run_config& config);

/// What `vgpusim bound` prints: one line for each bound, and what the figures do not say.
[[nodiscard]] std::string bound_words(const bound_figures& figures);

/// What was achieved of a bound, as a fraction; 1 where both are 0.
[[nodiscard]] double achieved_of(const bound_figures& figures, double bound_milli) noexcept;

} // namespace vgpusim
