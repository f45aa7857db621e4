// The tables of an outcome.
#include <cmath>
#include <string>
#include <utility>

#include "make_columns.hpp"
#include "outcome.hpp"
#include "vgpusim/outputs/pods_csv.hpp"
#include "vgpusim/outputs/rows.hpp"
#include "vgpusim/outputs/timeseries_csv.hpp"

namespace vgpufacade {

using vgpualloc::ticks;
using vgpuformats::value_kind;

namespace {

constexpr double not_there = std::numeric_limits<double>::quiet_NaN();

double seconds_of(const std::optional<ticks>& time) { return time ? seconds_of(*time) : not_there; }

void add_member(table& summary, const std::string& name, const document& value) {
    if (value.is_map()) {
        for (const auto& [key, member] : value.members) {
            add_member(summary, name.empty() ? key : name + "." + key, member);
        }
        return;
    }
    column added{.name = name, .unit = unit_of(name), .values = {}};
    if (value.kind == value_kind::boolean) {
        added.values = std::vector<std::uint8_t>{static_cast<std::uint8_t>(value.truth().value_or(false))};
    } else if (value.kind == value_kind::number && value.integer()) {
        added.values = std::vector<std::int64_t>{*value.integer()};
    } else if (value.kind == value_kind::number || value.is_null()) {
        added.values = std::vector<double>{value.real().value_or(not_there)};
    } else if (value.is_text()) {
        added.values = coded_column{.codes = {0}, .dictionary = {value.text}};
    } else {
        return; // a list
    }
    summary.columns.push_back(std::move(added));
}

} // namespace

table pods_table(const finished_run& run) {
    const vgpusim::simulation_input& input = run.loaded->input;
    const vgpusim::outcome_rows rows{run.record, input};
    const std::size_t count = rows.count();
    std::vector<std::int64_t> order(count);
    std::vector<std::int64_t> attempts(count);
    std::vector<std::uint8_t> placed(count);
    std::vector<double> arrival(count);
    std::vector<double> start(count);
    std::vector<double> end(count);
    text_coder names{count};
    text_coder nodes{count};
    text_coder gpus{count};
    text_coder reasons{count};
    vgpusim::outcome_row row;
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        rows.read(i, row);
        order[i] = static_cast<std::int64_t>(i);
        names.add_unique(input.name_of(input.pods[row.pods.front()]));
        text.clear();
        append_nodes(text, row, run.record);
        nodes.add(text);
        text.clear();
        append_gpus(text, row, run.record);
        gpus.add(text);
        placed[i] = row.placed ? 1 : 0;
        reasons.add(row.placed ? std::string{} : std::string{input.reason_name(row.reason)});
        arrival[i] = seconds_of(row.ran_before ? std::nullopt : std::optional{row.arrival});
        start[i] = seconds_of(row.start);
        end[i] = seconds_of(row.end);
        attempts[i] = row.attempts;
    }
    table result;
    const auto add = [&result](const char* name, const char* unit, column_values values) {
        result.columns.push_back({.name = name, .unit = unit, .values = std::move(values)});
    };
    add("order", "", std::move(order));
    add("name", "", names.take());
    add("node", "", nodes.take());
    add("gpus", "", gpus.take());
    add("placed", "", std::move(placed));
    add("reason", "", reasons.take());
    add("arrival_s", "s", std::move(arrival));
    add("start_s", "s", std::move(start));
    add("end_s", "s", std::move(end));
    add("attempts", "", std::move(attempts));
    return result;
}

table timeseries_table(const finished_run& run) {
    const auto columns = vgpusim::series_columns(run.record);
    const std::size_t rows = run.record.result.samples.size();
    std::vector<column_values> values;
    for (const auto& column : columns) {
        if (column.scale == vgpusim::series_scale::one) {
            values.emplace_back(std::vector<std::int64_t>(rows));
        } else {
            values.emplace_back(std::vector<double>(rows));
        }
    }
    std::vector<std::int64_t> cells;
    for (std::size_t row = 0; row < rows; ++row) {
        vgpusim::read_series_row(run.record, row, cells);
        for (std::size_t i = 0; i < columns.size(); ++i) {
            constexpr double ten_thousand = 10'000.0;
            if (columns[i].scale == vgpusim::series_scale::one) {
                std::get<std::vector<std::int64_t>>(values[i])[row] = cells[i];
            } else if (columns[i].scale == vgpusim::series_scale::tick) {
                std::get<std::vector<double>>(values[i])[row] = seconds_of(ticks{cells[i]});
            } else {
                std::get<std::vector<double>>(values[i])[row] = static_cast<double>(cells[i]) / ten_thousand;
            }
        }
    }
    table result;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        result.columns.push_back(
            {.name = columns[i].name, .unit = std::string{columns[i].unit}, .values = std::move(values[i])});
    }
    return result;
}

table summary_table(const document& summary) {
    table result;
    add_member(result, "", summary);
    return result;
}

} // namespace vgpufacade
