// Idle devices by cause, in words.
#pragma once

#include <string>

#include "vgpualloc/metrics/idle_split.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::whatif {

/// "15.5 GPUs: 2.0 of use to more pods, 0.1 host full, …": tenths that add up.
[[nodiscard]] std::string idle_line(const vgpualloc::idle_parts& parts);

/// A line for the sum and one for each cause, before and after a change.
[[nodiscard]] std::string idle_table(const vgpualloc::idle_parts& before, const vgpualloc::idle_parts& after);

/// The line of a table that compares a cluster before and after a change.
[[nodiscard]] std::string before_after_line(const std::string& name, const std::string& before,
                                            const std::string& after);

/// `of_use_milli` and so on.
[[nodiscard]] document idle_json(const vgpualloc::idle_parts& parts);

} // namespace vgpuops::whatif
