// summary.json: a run in numbers, with everything that it was made from.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "vgpusim/engine/record.hpp"

namespace vgpusim {

/// The content of summary.json (docs/formats.md). `baseline`: the run that this one is held against, or null.
[[nodiscard]] document summary_document(const run_record& record, const loaded_input& loaded,
                                        const run_record* baseline = nullptr);
/// Its text. `baseline`: the run that this one is held against, or null.
[[nodiscard]] std::string summary_json(const run_record& record, const loaded_input& loaded,
                                       const run_record* baseline = nullptr);

/// Failed pods by reason, as the dialect of the lists spells it, most frequent first.
[[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> failures_of(const run_record& record,
                                                                            const simulation_input& input);

} // namespace vgpusim
