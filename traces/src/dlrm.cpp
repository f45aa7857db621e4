#include "vgputraces/dlrm.hpp"

#include <optional>

#include "csv_jobs.hpp"
#include "name_set.hpp"

namespace vgputraces {

using vgpuformats::csv_reader;

namespace {

enum dlrm_column : std::size_t {
    instance_sn,
    role,
    app_name,
    cpu_request,
    gpu_request,
    memory_request,
    creation_time,
    deletion_time
};
constexpr std::array<std::string_view, 8> column_names{"instance_sn",   "role",         "app_name",
                                                       "cpu_request",   "gpu_request",  "memory_request",
                                                       "creation_time", "deletion_time"};
using dlrm_columns = std::array<std::size_t, column_names.size()>;

/// An instance as the trace has it: its times on the trace's own clock.
struct dlrm_instance {
    trace_job job;
    std::optional<ticks> created;
    std::optional<ticks> deleted;
};

expected<std::optional<ticks>> time_if_inside(const csv_reader& csv, std::size_t column) {
    if (csv.field(column).empty()) return std::optional<ticks>{};
    const auto time = read_field(csv, column, parse_seconds);
    if (!time) return unexpected(time.error());
    return std::optional<ticks>{*time};
}

/// A number of cores, or of GiB, to the nearest thousandth.
expected<std::int64_t> thousandths(const csv_reader& csv, std::size_t column, std::string_view unit) {
    constexpr std::int64_t amount_max = 1'000'000;
    return read_field(csv, column, parse_decimal, std::int64_t{1000}, amount_max, unit);
}

expected<dlrm_instance> read_instance(const csv_reader& csv, const dlrm_columns& columns, std::int64_t row) {
    auto name = read_label(csv, columns[instance_sn]);
    if (!name) return unexpected(std::move(name.error()));
    if (name->empty()) {
        return unexpected(csv.field_error(columns[instance_sn], error_code::missing, "missing; expected a name"));
    }
    const std::string_view kind = csv.field(columns[role]);
    if (kind != "HN" && kind != "CN") {
        return unexpected(csv.field_error(columns[role], error_code::unknown_name, "HN or CN"));
    }
    auto app = read_label(csv, columns[app_name]);
    if (!app) return unexpected(std::move(app.error()));
    const auto cores = thousandths(csv, columns[cpu_request], "cores");
    if (!cores) return unexpected(cores.error());
    const auto gpus = read_field(csv, columns[gpu_request], parse_whole, std::int64_t{0}, job_devices_max);
    if (!gpus) return unexpected(gpus.error());
    if (kind == "CN" && *gpus > 0) {
        return unexpected(csv.field_error(columns[gpu_request], error_code::out_of_range,
                                          "0, because an instance of role CN has no GPU"));
    }
    const auto memory = thousandths(csv, columns[memory_request], "GiB");
    if (!memory) return unexpected(memory.error());
    const auto created = time_if_inside(csv, columns[creation_time]);
    if (!created) return unexpected(created.error());
    const auto deleted = time_if_inside(csv, columns[deletion_time]);
    if (!deleted) return unexpected(deleted.error());
    if (*created && *deleted && **deleted < **created) {
        return unexpected(
            csv.field_error(columns[deletion_time], error_code::out_of_range, "a time not before creation_time"));
    }
    constexpr std::int64_t mib_per_gib = 1024;
    return dlrm_instance{.job = {.name = *std::move(name),
                                 .row = row,
                                 .devices = *gpus,
                                 .cpu = milli_cpu{*cores},
                                 .memory = vgpualloc::bytes{*memory * mib_per_gib * vgpualloc::bytes_per_mib / 1000},
                                 .queue = *std::move(app)},
                         .created = *created,
                         .deleted = *deleted};
}

/// The earliest time that a row names; 0 where none does.
ticks earliest_time(const std::vector<dlrm_instance>& instances) {
    std::optional<ticks> earliest;
    for (const dlrm_instance& instance : instances) {
        for (const auto& time : {instance.created, instance.deleted}) {
            if (time && (!earliest || *time < *earliest)) earliest = time;
        }
    }
    return earliest.value_or(ticks{0});
}

} // namespace

expected<job_list> read_dlrm(const vgpuformats::list_content& content, const std::string& name,
                             const row_options& options) {
    auto csv = csv_reader::open(name, content);
    if (!csv) return unexpected(csv.error());
    const auto columns = find_columns(*csv, column_names);
    if (!columns) return unexpected(columns.error());
    job_list list;
    std::vector<dlrm_instance> instances;
    name_set names;
    const auto complete = read_rows(
        *csv, readable_job, options, list.skipped, instances, [&](std::int64_t row) -> expected<dlrm_instance> {
            auto instance = read_instance(*csv, *columns, row);
            if (instance && !names.add(csv->field((*columns)[instance_sn]))) {
                return unexpected(
                    csv->field_error((*columns)[instance_sn], error_code::duplicate, "a name that occurs once"));
            }
            return instance;
        });
    if (!complete) return unexpected(complete.error());
    const ticks earliest = earliest_time(instances);
    list.jobs.reserve(instances.size());
    for (dlrm_instance& instance : instances) {
        const ticks arrival = instance.created.value_or(earliest);
        instance.job.arrival = arrival - earliest;
        if (instance.deleted) instance.job.duration = *instance.deleted - arrival;
        list.jobs.push_back(std::move(instance.job));
    }
    sort_by_arrival(list);
    return list;
}

} // namespace vgputraces
