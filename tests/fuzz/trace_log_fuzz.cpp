// Logs of jobs: Philly, DLRM and SWF. The first letter says which, and under which discipline a small one is replayed;
// the rest is the log. What is read is what the formats promise, and is written and read again as the same jobs; with
// bad rows left out it is what remains of them; every job of a replay runs as it should, or is said to wait.
#include "fuzz.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>

#include "vgpusim/study/run.hpp"
#include "vgputraces/dlrm.hpp"
#include "vgputraces/philly.hpp"
#include "vgputraces/swf.hpp"

namespace {

using fuzzing::require;
using vgpualloc::ticks;
using vgputraces::job_list;
using vgputraces::trace_job;

std::string seconds(ticks time) {
    const std::int64_t per_second = vgpualloc::ticks_per_second.count();
    std::string micro = std::to_string(per_second + time.count() % per_second);
    micro.front() = '.';
    return std::to_string(time.count() / per_second) + micro;
}

std::string thousandths(std::int64_t amount) {
    std::string fraction = std::to_string(1000 + amount % 1000);
    fraction.front() = '.';
    return std::to_string(amount / 1000) + fraction;
}

std::string digits(std::int64_t number, std::size_t count) {
    const std::string written = std::to_string(number);
    return std::string(count - std::min(count, written.size()), '0') + written;
}

// ---- what the formats look like

std::string philly_header() { return "timestamp,duration,num_gpus,cluster\n"; }
/// Times count from the begin of the year 0, so that the latest that can be read is one again.
std::string philly_row(const trace_job& job) {
    const std::int64_t whole_s = job.arrival.count() / vgpualloc::ticks_per_second.count();
    constexpr std::int64_t day_s = 86'400;
    const std::chrono::sys_days begin{std::chrono::year{0} / 1 / 1};
    const std::chrono::year_month_day date{begin + std::chrono::days{whole_s / day_s}};
    const std::int64_t time = whole_s % day_s;
    const std::string micro = seconds(job.arrival);
    return digits(static_cast<int>(date.year()), 4) + '-' + digits(static_cast<unsigned>(date.month()), 2) + '-' +
           digits(static_cast<unsigned>(date.day()), 2) + ' ' + digits(time / 3600, 2) + ':' +
           digits(time / 60 % 60, 2) + ':' + digits(time % 60, 2) + micro.substr(micro.find('.')) + ',' +
           seconds(*job.duration) + ',' + std::to_string(job.devices) + ',' + job.queue + '\n';
}

std::string dlrm_header() {
    return "instance_sn,role,app_name,cpu_request,gpu_request,memory_request,creation_time,deletion_time\n";
}
std::string dlrm_row(const trace_job& job) {
    // The reader rounds thousandths of a GiB down to bytes.
    constexpr std::int64_t bytes_per_gib = vgpualloc::bytes_per_mib * 1024;
    __extension__ using wide = __int128;
    const auto memory =
        static_cast<std::int64_t>((wide{job.memory.count()} * 1000 + bytes_per_gib - 1) / bytes_per_gib);
    return job.name + (job.devices > 0 ? ",HN," : ",CN,") + job.queue + ',' + thousandths(job.cpu.count()) + ',' +
           std::to_string(job.devices) + ',' + thousandths(memory) + ',' + seconds(job.arrival) + ',' +
           (job.duration ? seconds(job.arrival + *job.duration) : "") + '\n';
}

std::string swf_header() { return "; written again\n"; }
std::string swf_row(const trace_job& job) {
    return job.name + ' ' + seconds(job.arrival) + " -1 " + seconds(*job.duration) + " -1 -1 -1 " +
           std::to_string(job.devices) + ' ' + seconds(*job.estimate) + " -1 1 -1 -1 -1 " +
           (job.queue.empty() ? "-1" : job.queue) + " -1 -1 -1\n";
}

struct log_format {
    const char* name;
    vgpualloc::expected<job_list> (*read)(const vgpuformats::list_content&, const std::string&,
                                          const vgputraces::row_options&);
    std::string (*header)();
    std::string (*row)(const trace_job&);
    bool names_are_rows; ///< a job is called by its row, which is another one when it is written again
    bool begins_at_zero; ///< times count from the earliest
    bool has_run_times;  ///< of every job
};

constexpr std::array formats{
    log_format{"philly", vgputraces::read_philly, philly_header, philly_row, true, true, true},
    log_format{"dlrm", vgputraces::read_dlrm, dlrm_header, dlrm_row, false, true, false},
    log_format{"swf", vgputraces::read_swf, swf_header, swf_row, false, false, true},
};

// ---- what has to hold

bool is_one_line(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

void require_promises(const job_list& list, const log_format& format) {
    require(!list.jobs.empty(), "a log without jobs is an error");
    require(!format.begins_at_zero || list.jobs.front().arrival == ticks{0}, "time begins with the first row");
    std::set<std::string_view> names;
    std::set<std::int64_t> rows;
    ticks before;
    for (const trace_job& job : list.jobs) {
        require(job.arrival >= before, "jobs come in the order of their arrival");
        before = job.arrival;
        require(!job.name.empty() && is_one_line(job.name) && is_one_line(job.queue), "names stand in one line");
        require(names.insert(job.name).second && rows.insert(job.row).second, "a name stands for one row");
        require(!format.names_are_rows || job.name == std::to_string(job.row), "a job is called by its row");
        require(job.devices >= 0 && job.devices <= vgputraces::job_devices_max, "devices can be added up");
        require(job.cpu.count() >= 0 && job.memory.count() >= 0, "amounts are not negative");
        require(job.duration || !format.has_run_times, "every job has a run time");
        require(!job.duration || *job.duration >= ticks{0}, "a job does not end before it begins");
        require(!job.estimate || (job.duration && *job.duration <= *job.estimate), "an estimate is the longest time");
    }
}

void require_same_again(const job_list& list, const log_format& format) {
    // Fractions of the last second of the year 9999 are rounded up into a year that has five digits.
    constexpr std::int64_t days_of_years = 3'652'425;
    constexpr ticks years_end = days_of_years * 86'400 * vgpualloc::ticks_per_second;
    if (format.names_are_rows && list.jobs.back().arrival >= years_end) return;
    std::string text = format.header();
    for (const trace_job& job : list.jobs) text += format.row(job);
    const auto again = format.read(text, "written", {});
    require(again.has_value() && again->jobs.size() == list.jobs.size(), "jobs are written as a log of their format");
    require(again->skipped.count == 0 && again->left_out.empty(), "every written row is a job");
    for (std::size_t i = 0; i < list.jobs.size(); ++i) {
        trace_job job = again->jobs[i];
        job.row = list.jobs[i].row; // rows that were left out are not there
        if (format.names_are_rows) job.name = list.jobs[i].name;
        require(job == list.jobs[i], "a job is written as it was read");
    }
}

/// A reading that stops at a bad row, and one that passes over bad rows.
void require_agreement(const vgpualloc::expected<job_list>& strict, const vgpualloc::expected<job_list>& lenient) {
    if (strict) {
        require(lenient.has_value() && lenient->jobs == strict->jobs && lenient->skipped.count == 0,
                "a log without a bad row is read alike");
        require(strict->skipped.count == 0, "no row is passed over unless that is asked for");
        return;
    }
    if (!lenient) return fuzzing::require_readable(lenient.error());
    const auto& skipped = lenient->skipped;
    require(skipped.count > 0 && skipped.first.front().message() == strict.error().message(),
            "the first bad row is the one that stops");
    require(skipped.first.size() ==
                std::min(static_cast<std::size_t>(skipped.count), vgputraces::skipped_rows::shown_max),
            "the first bad rows are listed");
    for (const auto& failure : skipped.first) fuzzing::require_readable(failure);
}

// ---- replays

constexpr std::size_t jobs_replayed_max = 40;
constexpr std::int64_t devices_replayed_max = 200;
constexpr std::string_view pool = "sn,cpu_milli,memory_mib,gpu,model\n"
                                  "large,96000000,100000000,8,V100\n"
                                  "small,64000,262144,2,V100\n"
                                  "host,32000,131072,0,\n";

std::int64_t devices_of(const job_list& list) {
    std::int64_t devices = 0;
    for (const trace_job& job : list.jobs) devices += job.devices;
    return devices;
}

void require_sound(const vgpusim::run_record& record, const vgpusim::simulation_input& input) {
    record.ledger->check();
    const auto& result = record.result;
    require(record.rows.arrived == record.rows.placed + record.rows.failed + record.rows.waiting,
            "every job ran, has failed or waits");
    require(result.pods.size() == input.pods.size(), "every pod has an outcome");
    for (std::size_t i = 0; i < result.times.size(); ++i) {
        const auto& times = result.times[i];
        const auto& pod = input.pods[i];
        if (times.starts == 0) continue;
        require(times.starts == 1, "nothing stops a pod here");
        require(times.start >= pod.arrival, "nobody starts before arriving");
        require(times.ended == pod.duration.has_value(), "who has a run time ends");
        require(!times.ended || times.end == times.start + *pod.duration, "a pod runs for its time");
        require(result.pods[i].booking != vgpusim::no_booking, "who starts is booked");
    }
    for (const auto& job : input.jobs) {
        const auto first = input.members[job.first];
        for (std::uint32_t i = 1; i < job.pods && !result.times.empty(); ++i) {
            const auto pod = input.members[job.first + i];
            const bool both = result.times[pod].starts == result.times[first].starts &&
                              (result.times[pod].starts == 0 || result.times[pod].start == result.times[first].start);
            require(both, "a gang starts together or not at all");
        }
    }
}

void replay(std::string_view log, const log_format& format, std::size_t choice) {
    constexpr std::array disciplines{"try_once", "fifo", "easy", "conservative", "priority", "gang"};
    vgpuformats::memory_source source;
    source.add("nodes", pool);
    source.add("jobs", log);
    vgpusim::run_config config;
    config.format = format.name;
    config.nodes = "nodes";
    config.pods = "jobs";
    config.policy = "best_fit";
    config.discipline = disciplines[choice % disciplines.size()];
    config.skip_bad_rows = true;
    const auto loaded = vgpusim::load_input(config, source);
    if (!loaded) return fuzzing::require_readable(loaded.error());
    const auto record = vgpusim::replay(config, *loaded, loaded->input.nodes, {});
    if (!record) return fuzzing::require_readable(record.error());
    require_sound(*record, loaded->input);
}

} // namespace

void fuzzing::fuzz(std::string_view input) {
    if (input.empty()) return;
    const auto choice = static_cast<unsigned char>(input.front());
    input.remove_prefix(1);
    const log_format& format = formats[choice % formats.size()];
    const auto strict = format.read(input, "input", {});
    if (!strict) require_readable(strict.error());
    const auto lenient = format.read(input, "input", {.skip_bad = true});
    require_agreement(strict, lenient);
    if (!lenient) return;
    require_promises(*lenient, format);
    require_same_again(*lenient, format);
    if (lenient->jobs.size() <= jobs_replayed_max && devices_of(*lenient) <= devices_replayed_max) {
        replay(input, format, choice / formats.size());
    }
}
