#include "vgpusim/outputs/timeseries_csv.hpp"
#include "vgpuformats/some_names.hpp"

#include "csv_numbers.hpp"

namespace vgpusim {

namespace {

std::int64_t divide_rounded(std::int64_t value, std::int64_t divisor) { return (value + divisor / 2) / divisor; }

/// Percent of the idle capacity that is fragmented, in units of 10^-4 percent; 0 when nothing is idle.
std::int64_t fragmentation_pct_e4(const run_record& record, const sample& moment) {
    const std::int64_t idle = record.total_milli - moment.allocated_milli;
    return idle <= 0 ? 0 : divide_rounded(moment.unusable_micro, idle);
}

bool has_memory(const run_record& record) { return record.memory_total_mib > 0; }
bool has_power(const run_record& record) { return record.gpus_of_unknown_power < record.gpus; }

} // namespace

std::vector<series_column> series_columns(const run_record& record) {
    constexpr std::string_view milli = "milli-GPU";
    std::vector<series_column> columns{
        {.name = "event", .unit = ""},
        {.name = "time", .unit = "s", .scale = series_scale::tick},
        {.name = "arrived_milli", .unit = milli},
        {.name = "allocated_milli", .unit = milli},
        {.name = "used_nodes", .unit = ""},
        {.name = "used_gpus", .unit = ""},
        {.name = "fragmentation_milli", .unit = milli, .scale = series_scale::ten_thousandth},
        {.name = "fragmentation_pct", .unit = "%", .scale = series_scale::ten_thousandth},
        {.name = "served_milli", .unit = milli},
        {.name = "waiting", .unit = ""},
        {.name = "running", .unit = ""}};
    if (has_memory(record)) {
        columns.push_back({.name = "memory_mib", .unit = "MiB"});
        columns.push_back({.name = "compute_milli", .unit = milli});
    }
    if (has_power(record)) columns.push_back({.name = "power_w", .unit = "W"});
    for (const std::string& profile : record.result.profiles) {
        columns.push_back({.name = "stranded_" + profile, .unit = ""});
    }
    columns.push_back({.name = "served_memory_milli", .unit = milli});
    columns.push_back({.name = "served_compute_milli", .unit = milli});
    return columns;
}

void read_series_row(const run_record& record, std::size_t row, std::vector<std::int64_t>& cells) {
    const sample& moment = record.result.samples[row];
    const auto milli = [&record](std::int64_t units) {
        return requested_table::milli_of_units(units, record.requested_whole);
    };
    cells.assign({static_cast<std::int64_t>(row), moment.time.count(), moment.arrived_milli, moment.allocated_milli,
                  moment.used_nodes, moment.used_gpus, divide_rounded(moment.unusable_micro, 100),
                  fragmentation_pct_e4(record, moment), milli(moment.served.larger()), moment.waiting, moment.running});
    if (has_memory(record)) {
        cells.push_back(moment.devices.memory_mib);
        cells.push_back(moment.devices.compute_milli);
    }
    if (has_power(record)) cells.push_back(moment.devices.watts);
    const std::size_t profiles = record.result.profiles.size();
    for (std::size_t i = 0; i < profiles; ++i) cells.push_back(record.result.stranded[row * profiles + i]);
    cells.push_back(milli(moment.served.memory));
    cells.push_back(milli(moment.served.compute));
}

std::string timeseries_csv(const run_record& record, stop_signal stop) {
    const std::vector<series_column> columns = series_columns(record);
    std::string out = vgpuformats::joined(columns, &series_column::name, ",") + '\n';
    out.reserve(record.result.samples.size() * (128 + 8 * record.result.profiles.size()));
    std::vector<std::int64_t> cells;
    for (std::size_t row = 0; row < record.result.samples.size() && !stop.poll(); ++row) {
        read_series_row(record, row, cells);
        append_number(out, cells.front());
        for (std::size_t i = 1; i < cells.size(); ++i) {
            if (columns[i].scale == series_scale::one) {
                append_cell(out, cells[i]);
                continue;
            }
            out += ',';
            if (columns[i].scale == series_scale::tick) {
                append_time(out, ticks{cells[i]});
            } else {
                append_fixed<4>(out, cells[i]);
            }
        }
        out += '\n';
    }
    return out;
}

} // namespace vgpusim
