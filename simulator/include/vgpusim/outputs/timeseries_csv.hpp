// timeseries.csv: the cluster over time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vgpusim/engine/record.hpp"

namespace vgpusim {

/// What a number of a column counts.
enum class series_scale : std::uint8_t { one, tick, ten_thousandth };

struct series_column {
    std::string name;
    std::string_view unit;
    series_scale scale = series_scale::one;
};

/// The columns of timeseries.csv, of which some are there only where the run has something to say in them.
[[nodiscard]] std::vector<series_column> series_columns(const run_record& record);

/// The numbers of one sample, by column. The memory of `cells` is used again.
void read_series_row(const run_record& record, std::size_t row, std::vector<std::int64_t>& cells);

/// The text of timeseries.csv: a row per sample (docs/formats.md). It is cut short once the caller wants an end.
[[nodiscard]] std::string timeseries_csv(const run_record& record, stop_signal stop = {});

} // namespace vgpusim
