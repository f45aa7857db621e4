#include "vgpusim/outputs/timeseries_csv.hpp"

#include "csv_numbers.hpp"

namespace vgpusim {

namespace {

std::int64_t divide_rounded(std::int64_t value, std::int64_t divisor) { return (value + divisor / 2) / divisor; }

/// Percent of the idle capacity that is fragmented, in units of 10^-4 percent; 0 when nothing is idle.
std::int64_t fragmentation_pct_e4(const run_record& record, const sample& moment) {
    const std::int64_t idle = record.total_milli - moment.allocated_milli;
    return idle <= 0 ? 0 : divide_rounded(moment.unusable_micro, idle);
}

} // namespace

std::string timeseries_csv(const run_record& record) {
    std::string out =
        "event,time,arrived_milli,allocated_milli,used_nodes,used_gpus,fragmentation_milli,fragmentation_pct,"
        "served_milli,waiting,running";
    const bool has_memory = record.memory_total_mib > 0;
    const bool has_power = record.gpus_of_unknown_power < record.gpus;
    const std::vector<std::string>& profiles = record.result.profiles;
    if (has_memory) out += ",memory_mib,compute_milli";
    if (has_power) out += ",power_w";
    for (const std::string& profile : profiles) out += ",stranded_" + profile;
    out += ",served_memory_milli,served_compute_milli";
    out += '\n';
    out.reserve(record.result.samples.size() * (128 + 8 * profiles.size()));
    std::size_t stranded = 0;
    const auto milli = [&record](std::int64_t units) {
        return requested_table::milli_of_units(units, record.requested_whole);
    };
    std::int64_t number = 0;
    for (const sample& moment : record.result.samples) {
        append_number(out, number++);
        out += ',';
        append_time(out, moment.time);
        for (const std::int64_t value :
             {moment.arrived_milli, moment.allocated_milli, moment.used_nodes, moment.used_gpus}) {
            append_cell(out, value);
        }
        out += ',';
        append_fixed<4>(out, divide_rounded(moment.unusable_micro, 100));
        out += ',';
        append_fixed<4>(out, fragmentation_pct_e4(record, moment));
        for (const std::int64_t value : {milli(moment.served.larger()), moment.waiting, moment.running})
            append_cell(out, value);
        if (has_memory) {
            append_cell(out, moment.devices.memory_mib);
            append_cell(out, moment.devices.compute_milli);
        }
        if (has_power) append_cell(out, moment.devices.watts);
        for (std::size_t i = 0; i < profiles.size(); ++i) append_cell(out, record.result.stranded[stranded++]);
        append_cell(out, milli(moment.served.memory));
        append_cell(out, milli(moment.served.compute));
        out += '\n';
    }
    return out;
}

} // namespace vgpusim
