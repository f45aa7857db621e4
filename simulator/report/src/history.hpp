// The cluster at a bounded number of moments, as the page's data: which cells changed from each to the next.
#pragma once

#include <cstddef>
#include <string>

#include "occupancy.hpp"
#include "vgpureport/report.hpp"

namespace vgpureport {

/// The picture has no more moments than this, and two: the one that is shown first, and the end.
inline constexpr std::size_t moments_max = 480;

/// How much of the page the histories of all its runs may take together.
inline constexpr std::size_t history_bytes_max = 1'700'000;

/// Appends the object `history` of docs/report.md. What does not fit into `bytes_max` has fewer moments, and where even
/// 30 are too many its parts are left out. Times count from `start`. Once an end is wanted, moments are missing.
void append_history(std::string& out, const report_run& run, const occupancy_layout& layout, vgpualloc::ticks start,
                    std::size_t bytes_max, const vgpualloc::stop_signal& stop);

} // namespace vgpureport
