// Reading a CSV of nodes, pods or jobs: what the readers of traces have in common.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "fields.hpp"
#include "vgpuformats/csv_reader.hpp"
#include "vgputraces/trace_job.hpp"

namespace vgputraces {

/// Where the columns of these names are; all have to be there.
template <std::size_t Count>
expected<std::array<std::size_t, Count>> find_columns(const vgpuformats::csv_reader& csv,
                                                      const std::array<std::string_view, Count>& names) {
    std::array<std::size_t, Count> columns{};
    for (std::size_t i = 0; i < Count; ++i) {
        columns[i] = csv.column(names[i]);
        if (columns[i] == vgpuformats::csv_reader::no_column) {
            return unexpected(csv.missing_column(names[i]));
        }
    }
    return columns;
}

/// What a function makes of a column's text, or its failure with the place.
template <class Value, class... Arguments>
expected<Value> read_field(const vgpuformats::csv_reader& csv, std::size_t column,
                           field_value<Value> (*parse)(std::string_view, Arguments...), Arguments... arguments) {
    auto value = parse(csv.field(column), arguments...);
    if (!value) return unexpected(csv.field_error(column, value.error().code, value.error().expected));
    return *std::move(value);
}

/// A text that goes into output files; empty is for the caller to refuse.
inline expected<std::string> read_label(const vgpuformats::csv_reader& csv, std::size_t column) {
    const std::string_view label = csv.field(column);
    if (!is_printable_text(label)) {
        return unexpected(csv.field_error(column, error_code::malformed, "a name in UTF-8 without control characters"));
    }
    return std::string{label};
}

/// Calls `read_row` with the number of each row and appends what it makes; rows that fail are for `skipped`. `what`
/// says of what there has to be at least one.
template <class ReadRow, class Rows>
expected<void> read_rows(vgpuformats::csv_reader& csv, std::string_view what, const row_options& options,
                         skipped_rows& skipped, Rows& rows, const ReadRow& read_row) {
    for (std::int64_t number = 0;; ++number) {
        const auto more = csv.next();
        if (more && !*more) break;
        auto row = more ? read_row(number) : decltype(read_row(number)){unexpected(more.error())};
        if (row) {
            rows.push_back(*std::move(row));
        } else if (auto taken = skipped.take(std::move(row.error()), options); !taken) {
            return taken;
        }
    }
    if (rows.empty()) return unexpected(csv.empty_list(what));
    return {};
}

/// What a list has to have at least one of.
inline constexpr std::string_view readable_job = "job that can be read";

/// The order of arrival.
inline void sort_by_arrival(job_list& list) { std::ranges::stable_sort(list.jobs, {}, &trace_job::arrival); }

} // namespace vgputraces
