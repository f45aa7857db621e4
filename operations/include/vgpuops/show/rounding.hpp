// Rounding that keeps sums: rows and columns of a printed table add up to what is printed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace vgpuops::show {

/// A tenth of a GPU in milli-GPU: what tables print.
inline constexpr std::int64_t tenth = 100;

/// The nearest multiple of `step`; halves are rounded up.
[[nodiscard]] std::int64_t rounded(std::int64_t value, std::int64_t step);

/// Used, free and out of service.
using three_parts = std::array<std::int64_t, 3>;

struct rounded_rows {
    std::vector<three_parts> rows{};
    three_parts total{};
};

/// A table whose rows each add up to a multiple of `step`, so rounded that they still do, that every column adds up to
/// the total, and that every cell is rounded down or up.
[[nodiscard]] rounded_rows round_rows(std::span<const three_parts> rows, std::int64_t step);

} // namespace vgpuops::show
