#include "vgputraces/sacct.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "fields.hpp"

namespace vgputraces {

namespace {

enum sacct_field : std::size_t {
    job_id,
    submit,
    eligible,
    start_time,
    end_time,
    state,
    elapsed,
    elapsed_raw,
    alloc_tres,
    user,
    account,
    partition,
    qos,
    time_limit,
    time_limit_raw,
    node_count,
};
constexpr std::array<std::string_view, 16> field_names{
    "JobID",     "Submit", "Eligible", "Start",     "End", "State",     "Elapsed",      "ElapsedRaw",
    "AllocTRES", "User",   "Account",  "Partition", "QOS", "Timelimit", "TimelimitRaw", "NNodes"};

/// Why a row is no job to replay.
enum class accounting_omission : std::uint8_t { none, step, not_started, nothing_allocated };
constexpr std::array<const char*, 4> accounting_omission_words{
    "", "steps of jobs, which the rows of the jobs count already",
    "the job never started, as those that wait or were cancelled before",
    "nothing is in AllocTRES, as of jobs that ended when they started"};

constexpr std::size_t no_position = ~std::size_t{0};

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0;;) {
        const std::size_t end = text.find(separator, begin);
        parts.push_back(text.substr(begin, end - begin));
        if (end == std::string_view::npos) return parts;
        begin = end + 1;
    }
}

bool is_unknown(std::string_view time) { return time.empty() || time == "Unknown" || time == "None"; }

/// "2026-11-01T10:00:00", which nothing but the T makes different from what other traces write.
field_value<ticks> parse_slurm_time(std::string_view text) {
    std::string with_space{text};
    constexpr std::size_t separator = 10;
    if (with_space.size() > separator && with_space[separator] == 'T') with_space[separator] = ' ';
    auto time = parse_local_time(with_space);
    if (!time) time.error().expected = "a local time as 2026-11-01T10:00:00, or Unknown";
    return time;
}

/// [days-][hours:]minutes:seconds, the seconds with a fraction or none.
field_value<ticks> parse_slurm_duration(std::string_view text) {
    const auto failure = [] {
        return tl::make_unexpected(
            field_failure{.expected = "a duration as 1-02:03:04, 02:03:04 or 03:04 (days-hours:minutes:seconds)"});
    };
    constexpr std::int64_t duration_part_max = 100'000'000;
    std::int64_t seconds = 0;
    if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
        const auto days = parse_whole(text.substr(0, dash), 0, duration_part_max);
        if (!days) return failure();
        seconds = *days * 24 * 3600;
        text.remove_prefix(dash + 1);
    }
    const std::vector<std::string_view> parts = split(text, ':');
    if (parts.size() < 2 || parts.size() > 3) return failure();
    std::int64_t minutes = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto part = parse_whole(parts[i], 0, duration_part_max);
        if (!part) return failure();
        minutes = minutes * 60 + *part;
    }
    const auto rest = parse_seconds(parts.back());
    if (!rest) return failure();
    return ticks{(seconds + minutes * 60) * ticks_per_second.count() + rest->count()};
}

/// What of AllocTRES is read.
struct allocated_amounts {
    std::int64_t nodes = 1;
    std::optional<std::int64_t> gpus{};
    std::int64_t typed_gpus = 0;
    std::string gpu_type{};
    bool has_types = false; ///< more than one
    milli_cpu cpu{};
    vgpualloc::bytes memory{};
};

field_value<vgpualloc::bytes> parse_slurm_memory(std::string_view text) {
    constexpr std::string_view units = "KMGTP";
    constexpr std::int64_t thousandths = 1000;
    constexpr std::int64_t memory_units_max = 1'000'000'000;
    std::int64_t unit = 1;
    if (const std::size_t at = text.empty() ? std::string_view::npos : units.find(text.back());
        at != std::string_view::npos) {
        unit = std::int64_t{1} << (10 * (at + 1));
        text.remove_suffix(1);
    }
    const auto amount = parse_decimal(text, thousandths, memory_units_max, "bytes, or K, M, G, T or P of them");
    if (!amount) return tl::make_unexpected(amount.error());
    constexpr std::int64_t petabytes_max = 1000; // beyond any job, and far below 2^63 with the thousandths
    if (*amount / thousandths > petabytes_max * ((std::int64_t{1} << 50) / unit)) {
        return tl::make_unexpected(field_failure{error_code::out_of_range, "at most 1000P of memory"});
    }
    const std::int64_t whole = *amount / thousandths * unit;
    return vgpualloc::bytes{whole + *amount % thousandths * unit / thousandths};
}

field_value<allocated_amounts> parse_allocated(std::string_view text) {
    constexpr std::int64_t nodes_max = 100'000;
    constexpr std::int64_t cpus_max = 1'000'000'000;
    constexpr std::string_view typed = "gres/gpu:";
    allocated_amounts amounts;
    for (const std::string_view entry : split(text, ',')) {
        const std::size_t equals = entry.find('=');
        if (equals == std::string_view::npos) {
            return tl::make_unexpected(field_failure{.expected = "entries as gres/gpu=2 with commas between them"});
        }
        const std::string_view what = entry.substr(0, equals);
        const std::string_view amount = entry.substr(equals + 1);
        const auto count = [&](std::int64_t max) -> field_value<std::int64_t> {
            auto number = parse_whole(amount, 0, max);
            if (!number) number.error().expected = std::string{what} + " " + number.error().expected;
            return number;
        };
        if (what == "mem") {
            const auto memory = parse_slurm_memory(amount);
            if (!memory) return tl::make_unexpected(memory.error());
            amounts.memory = *memory;
        } else if (what == "cpu" || what == "node") {
            const auto number = count(what == "cpu" ? cpus_max : nodes_max);
            if (!number) return tl::make_unexpected(number.error());
            if (what == "cpu") amounts.cpu = milli_cpu{*number * 1000};
            if (what == "node") amounts.nodes = std::max<std::int64_t>(*number, 1);
        } else if (what == "gres/gpu") {
            const auto number = count(job_devices_max);
            if (!number) return tl::make_unexpected(number.error());
            amounts.gpus = *number;
        } else if (what.starts_with(typed)) {
            const auto number = count(job_devices_max);
            if (!number) return tl::make_unexpected(number.error());
            amounts.has_types = amounts.has_types || !amounts.gpu_type.empty();
            amounts.gpu_type = what.substr(typed.size());
            amounts.typed_gpus += *number;
        }
    }
    return amounts;
}

/// One row, and where it is.
class row_reader {
public:
    row_reader(const std::string& file, const std::array<std::size_t, field_names.size()>& positions,
               std::size_t columns)
        : file_{&file}, positions_{&positions}, columns_{columns} {}

    void set(std::size_t line, std::string_view text) {
        line_ = line;
        fields_ = split(text, '|');
        if (fields_.size() == columns_ + 1 && fields_.back().empty()) fields_.pop_back(); // of --parsable
    }

    [[nodiscard]] expected<accounting_omission> read(accounted_job& job) const {
        if (fields_.size() != columns_) {
            return unexpected(failure_at("", "", error_code::malformed,
                                         "expected " + std::to_string(columns_) + " fields, as in the header, found " +
                                             std::to_string(fields_.size())));
        }
        const std::string_view id = field(job_id);
        if (id.empty() || !is_table_text(id)) {
            return unexpected(failure(job_id, error_code::malformed, "a job's number, as 12, 12_3 or 12+0"));
        }
        if (id.find('.') != std::string_view::npos) return accounting_omission::step;
        if (is_unknown(field(start_time))) return accounting_omission::not_started;
        if (field(alloc_tres).empty()) return accounting_omission::nothing_allocated;
        job.id = id;
        const std::size_t component = id.find('+');
        if (component != std::string_view::npos) job.gang = id.substr(0, component);
        if (auto names = read_names(job); !names) return unexpected(std::move(names).error());
        if (auto times = read_times(job); !times) return unexpected(std::move(times).error());
        if (auto amounts = read_amounts(job); !amounts) return unexpected(std::move(amounts).error());
        return accounting_omission::none;
    }

    [[nodiscard]] error failure(sacct_field which, error_code code, std::string expectation) const {
        return failure_at(field_names[which], field(which), code, std::move(expectation));
    }

private:
    [[nodiscard]] error failure_at(std::string_view name, std::string_view value, error_code code,
                                   std::string expectation) const {
        return bad_value(code, name, value, std::move(expectation)).at(*file_ + ":" + std::to_string(line_));
    }
    [[nodiscard]] std::string_view field(sacct_field which) const {
        const std::size_t at = (*positions_)[which];
        return at == no_position ? std::string_view{} : fields_[at];
    }
    template <class Value>
    [[nodiscard]] expected<Value> checked(sacct_field which, field_value<Value> value) const {
        if (value) return *std::move(value);
        return unexpected(failure(which, value.error().code, value.error().expected));
    }

    [[nodiscard]] expected<void> read_names(accounted_job& job) const {
        const std::array<std::pair<sacct_field, std::string*>, 4> names{
            {{user, &job.user}, {account, &job.owner}, {partition, &job.queue}, {qos, &job.qos}}};
        for (const auto& [which, name] : names) {
            if (!is_table_text(field(which))) {
                return unexpected(failure(which, error_code::malformed,
                                          "a name in UTF-8 without commas, quotes and control characters"));
            }
            *name = field(which);
        }
        return {};
    }

    [[nodiscard]] expected<void> read_times(accounted_job& job) const {
        const auto submitted = checked(submit, parse_slurm_time(field(submit)));
        if (!submitted) return unexpected(submitted.error());
        job.arrival = *submitted;
        if (!is_unknown(field(eligible))) { // a dependency or a begin time kept it until then
            const auto could_start = checked(eligible, parse_slurm_time(field(eligible)));
            if (!could_start) return unexpected(could_start.error());
            job.arrival = std::max(*submitted, *could_start);
        }
        const auto started = checked(start_time, parse_slurm_time(field(start_time)));
        if (!started) return unexpected(started.error());
        job.start = *started;
        job.is_running = is_unknown(field(end_time));
        if (!job.is_running) {
            const auto ended = checked(end_time, parse_slurm_time(field(end_time)));
            if (!ended) return unexpected(ended.error());
            if (*ended < *started) {
                return unexpected(failure(end_time, error_code::out_of_range,
                                          "a time not before Start, which is " + std::string{field(start_time)}));
            }
            job.end = *ended;
        }
        if (auto elapsed_time = read_elapsed(job); !elapsed_time) return unexpected(std::move(elapsed_time).error());
        if (job.is_running) job.end = job.start + job.elapsed;
        return read_limit(job);
    }

    /// How long it ran: without either column of it, from its start to its end.
    [[nodiscard]] expected<void> read_elapsed(accounted_job& job) const {
        if ((*positions_)[elapsed] == no_position && (*positions_)[elapsed_raw] == no_position) {
            if (job.is_running) {
                return unexpected(failure(end_time, error_code::missing,
                                          "a time, or a header with ElapsedRaw, which says how long a job has run"));
            }
            job.elapsed = job.end - job.start;
            return {};
        }
        const auto ran = field(elapsed_raw).empty() ? checked(elapsed, parse_slurm_duration(field(elapsed)))
                                                    : checked(elapsed_raw, parse_seconds(field(elapsed_raw)));
        if (!ran) return unexpected(ran.error());
        job.elapsed = *ran;
        return {};
    }

    [[nodiscard]] expected<void> read_limit(accounted_job& job) const {
        const sacct_field which = field(time_limit_raw).empty() ? time_limit : time_limit_raw;
        const std::string_view text = field(which);
        if (text.empty() || text == "UNLIMITED" || text == "Partition_Limit" || text == "INVALID") return {};
        constexpr std::int64_t minutes_max = seconds_max / 60;
        if (which == time_limit_raw) {
            const auto minutes = checked(which, parse_whole(text, 0, minutes_max));
            if (!minutes) return unexpected(minutes.error());
            job.limit = ticks{*minutes * 60 * ticks_per_second.count()};
            return {};
        }
        const auto limit = checked(which, parse_slurm_duration(text));
        if (!limit) return unexpected(limit.error());
        job.limit = *limit;
        return {};
    }

    [[nodiscard]] expected<void> read_amounts(accounted_job& job) const {
        const auto amounts = checked(alloc_tres, parse_allocated(field(alloc_tres)));
        if (!amounts) return unexpected(amounts.error());
        job.pods = amounts->nodes;
        job.gpus = amounts->gpus.value_or(amounts->typed_gpus);
        if (!amounts->has_types) job.gpu_type = amounts->gpu_type;
        job.cpu = amounts->cpu;
        job.memory = amounts->memory;
        return {};
    }

    const std::string* file_;
    const std::array<std::size_t, field_names.size()>* positions_;
    std::size_t columns_;
    std::size_t line_ = 0;
    std::vector<std::string_view> fields_{};
};

expected<std::array<std::size_t, field_names.size()>> positions_in(const std::vector<std::string_view>& header,
                                                                   const std::string& file) {
    std::array<std::size_t, field_names.size()> positions{};
    for (std::size_t i = 0; i < field_names.size(); ++i) {
        const auto at = std::ranges::find(header, field_names[i]);
        positions[i] = at == header.end() ? no_position : static_cast<std::size_t>(at - header.begin());
    }
    const auto missing = [&](const std::string& names) {
        return unexpected(bad_input(error_code::missing, names, "missing",
                                    "a header with it: sacct -P -o JobID,User,Account,Partition,Submit,Eligible,Start,"
                                    "End,State,ElapsedRaw,TimelimitRaw,AllocTRES")
                              .at(file + ":1"));
    };
    for (const sacct_field needed : {job_id, submit, start_time, end_time, state, alloc_tres}) {
        if (positions[needed] == no_position) return missing(std::string{field_names[needed]});
    }
    return positions;
}

/// Takes the next line off a text, without its end.
std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

} // namespace

expected<accounting> read_sacct(const vgpuformats::list_content& source, const std::string& name,
                                const row_options& options) {
    if (source.table != nullptr) return unexpected(vgpuformats::columns_not_taken(name));
    std::string_view text = source.text;
    vgpualloc::stop_signal stop = source.stop;
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    std::vector<std::string_view> header = split(take_line(text), '|');
    if (header.size() > 1 && header.back().empty()) header.pop_back(); // of --parsable
    const auto positions = positions_in(header, name);
    if (!positions) return unexpected(positions.error());
    row_reader reader{name, *positions, header.size()};
    accounting result;
    std::array<std::int64_t, accounting_omission_words.size()> omitted{};
    std::unordered_map<std::string, std::int64_t> starts_of; // only looked up, never walked
    std::unordered_set<std::string> starts;                  // likewise: "<JobID> <start>"
    for (std::size_t line = 2; !text.empty(); ++line) {
        if (stop.poll()) return unexpected(vgpualloc::stop_signal::stopped());
        const std::string_view content = take_line(text);
        if (content.empty()) continue;
        accounted_job job{.row = result.rows++};
        reader.set(line, content);
        auto omission = reader.read(job);
        if (omission && *omission == accounting_omission::none) {
            if (!starts.insert(job.id + " " + std::to_string(job.start.count())).second) {
                omission =
                    unexpected(reader.failure(job_id, error_code::duplicate, "a job that starts once at a time"));
            } else if (const std::int64_t start = ++starts_of[job.id]; start > 1) {
                job.id += "." + std::to_string(start);
            }
        }
        if (!omission) {
            if (auto taken = result.skipped.take(std::move(omission).error(), options); !taken) {
                return unexpected(std::move(taken).error());
            }
        } else if (*omission == accounting_omission::none) {
            result.jobs.push_back(std::move(job));
        } else {
            ++omitted[static_cast<std::size_t>(*omission)];
        }
    }
    for (std::size_t i = 0; i < omitted.size(); ++i) {
        if (omitted[i] > 0) result.left_out.push_back({.reason = accounting_omission_words[i], .count = omitted[i]});
    }
    if (result.jobs.empty()) {
        return unexpected(bad_input(error_code::missing, "", "missing", "at least one job that has started").at(name));
    }
    std::ranges::stable_sort(result.jobs, {}, &accounted_job::arrival);
    return result;
}

} // namespace vgputraces
