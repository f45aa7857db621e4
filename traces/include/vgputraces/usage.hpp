// How many GPUs of a cluster were in use, over weeks: a table that monitoring exports or `vgpusim import` writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vgpuformats/list_content.hpp"
#include "vgputraces/core_names.hpp"

namespace vgputraces {

/// GPUs in use at one time, or the mean around it.
struct usage_point {
    ticks time{}; ///< since 1970 began; UTC where the table has a zone, else on the clock of the table
    std::int64_t used_milli = 0;

    bool operator==(const usage_point&) const = default;
};

/// Reads a table with the columns `time` (ISO 8601: a date, or a date and a time, with a zone or none) and `used`
/// (GPUs, a decimal number that is rounded to milli-GPU). Other columns are ignored. Points are returned by time.
/// Errors name file, line, field and value: a missing column, what is no time or no number, the same time twice, a
/// table without rows.
[[nodiscard]] expected<std::vector<usage_point>> read_usage(const vgpuformats::list_content& content,
                                                            const std::string& name);

/// The same table, with times to the second and without a zone.
[[nodiscard]] std::string write_usage(const std::vector<usage_point>& points);

} // namespace vgputraces
