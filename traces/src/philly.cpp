#include "vgputraces/philly.hpp"

#include "csv_jobs.hpp"

namespace vgputraces {

using vgpuformats::csv_reader;

namespace {

enum philly_column : std::size_t { timestamp, duration, num_gpus, cluster };

expected<trace_job> read_job(const csv_reader& csv, const std::array<std::size_t, 4>& columns, std::int64_t row) {
    const auto arrival = read_field(csv, columns[timestamp], parse_local_time);
    if (!arrival) return unexpected(arrival.error());
    const auto run_time = read_field(csv, columns[duration], parse_seconds);
    if (!run_time) return unexpected(run_time.error());
    const auto gpus = read_field(csv, columns[num_gpus], parse_whole, std::int64_t{0}, job_devices_max);
    if (!gpus) return unexpected(gpus.error());
    auto queue = read_label(csv, columns[cluster]);
    if (!queue) return unexpected(std::move(queue.error()));
    return trace_job{.name = std::to_string(row),
                     .row = row,
                     .arrival = *arrival,
                     .duration = *run_time,
                     .estimate = *run_time,
                     .devices = *gpus,
                     .queue = *std::move(queue)};
}

} // namespace

expected<job_list> read_philly(const vgpuformats::list_content& content, const std::string& name,
                               const row_options& options) {
    auto csv = csv_reader::open(name, content);
    if (!csv) return unexpected(csv.error());
    const auto columns =
        find_columns(*csv, std::array<std::string_view, 4>{"timestamp", "duration", "num_gpus", "cluster"});
    if (!columns) return unexpected(columns.error());
    job_list list;
    const auto complete = read_rows(*csv, readable_job, options, list.skipped, list.jobs,
                                    [&](std::int64_t row) { return read_job(*csv, *columns, row); });
    if (!complete) return unexpected(complete.error());
    sort_by_arrival(list);
    const ticks earliest = list.jobs.front().arrival;
    for (trace_job& job : list.jobs) job.arrival -= earliest;
    return list;
}

} // namespace vgputraces
