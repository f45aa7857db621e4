#include "vgputraces/swf.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <unordered_set>
#include <utility>

#include "fields.hpp"

namespace vgputraces {

namespace {

constexpr std::size_t field_count = 18;

/// The fields that are looked at, by their numbers in the format.
enum swf_field : std::size_t {
    job_number = 1,
    submit_time = 2,
    run_time = 4,
    allocated_processors = 5,
    requested_processors = 8,
    requested_time = 9,
    status = 11,
    queue_number = 15,
};

constexpr std::string_view name_of(swf_field field) {
    switch (field) {
    case job_number:
        return "field 1 (job number)";
    case submit_time:
        return "field 2 (submit time)";
    case run_time:
        return "field 4 (run time)";
    case allocated_processors:
        return "field 5 (allocated processors)";
    case requested_processors:
        return "field 8 (requested processors)";
    case requested_time:
        return "field 9 (requested time)";
    case status:
        return "field 11 (status)";
    case queue_number:
        return "field 15 (queue number)";
    }
    return "";
}

/// Why a line is no job to replay.
enum class omission : std::uint8_t { none, burst, never_ran, no_processors };
constexpr std::array<const char*, 4> omission_words{
    "", "parts of jobs that were checkpointed (status 2, 3 or 4), which the lines of the whole jobs count already",
    "the run time is not known (-1), as of jobs that were cancelled before they ran",
    "neither the requested nor the allocated processors are known (-1 or 0)"};

struct swf_line {
    omission why_not = omission::none;
    trace_job job;
};

/// One line and where it is.
class line_reader {
public:
    line_reader(const std::string& file, std::size_t line, std::string_view text) : file_{file}, line_{line} {
        constexpr std::string_view blank = " \t\r\v\f";
        for (std::size_t begin = text.find_first_not_of(blank); begin != std::string_view::npos;
             begin = text.find_first_not_of(blank, begin)) {
            const std::size_t end = std::min(text.find_first_of(blank, begin), text.size());
            if (count_ < field_count) fields_[count_] = text.substr(begin, end - begin);
            ++count_;
            begin = end;
        }
    }

    [[nodiscard]] expected<swf_line> read(std::int64_t row) const {
        if (count_ != field_count) {
            return unexpected(failure_at("", "", error_code::malformed,
                                         "expected 18 fields, found " + std::to_string(count_) +
                                             (count_ < field_count ? " (a truncated line?)" : "")));
        }
        const auto number = whole(job_number, 0, seconds_max);
        if (!number) return unexpected(number.error());
        const auto submitted = checked(submit_time, parse_seconds(field(submit_time)));
        if (!submitted) return unexpected(submitted.error());
        const auto ran = seconds_if_known(run_time);
        if (!ran) return unexpected(ran.error());
        const auto allocated = whole(allocated_processors, -1, job_devices_max);
        if (!allocated) return unexpected(allocated.error());
        const auto requested = whole(requested_processors, -1, job_devices_max);
        if (!requested) return unexpected(requested.error());
        const auto limit = seconds_if_known(requested_time);
        if (!limit) return unexpected(limit.error());
        const auto ended = whole(status, -1, 5);
        if (!ended) return unexpected(ended.error());
        const auto queue = whole(queue_number, -1, seconds_max);
        if (!queue) return unexpected(queue.error());
        swf_line result;
        const std::int64_t processors = *requested > 0 ? *requested : *allocated;
        if (*ended >= 2 && *ended <= 4) {
            result.why_not = omission::burst;
        } else if (!*ran) {
            result.why_not = omission::never_ran;
        } else if (processors <= 0) {
            result.why_not = omission::no_processors;
        } else {
            const ticks estimate = *limit && **limit > ticks{0} ? **limit : **ran;
            result.job = {.name = std::to_string(*number),
                          .row = row,
                          .arrival = *submitted,
                          .duration = std::min(**ran, estimate),
                          .estimate = estimate,
                          .devices = processors,
                          .queue = *queue < 0 ? std::string{} : std::to_string(*queue)};
        }
        return result;
    }

    [[nodiscard]] error failure_at(std::string_view field, std::string_view value, error_code code,
                                   std::string expectation) const {
        return bad_value(code, field, value, std::move(expectation)).at(file_ + ":" + std::to_string(line_));
    }

private:
    [[nodiscard]] std::string_view field(swf_field number) const { return fields_[number - 1]; }

    template <class Value>
    [[nodiscard]] expected<Value> checked(swf_field number, field_value<Value> value) const {
        if (value) return *std::move(value);
        return unexpected(failure_at(name_of(number), field(number), value.error().code, value.error().expected));
    }
    [[nodiscard]] expected<std::int64_t> whole(swf_field number, std::int64_t min, std::int64_t max) const {
        return checked(number, parse_whole(field(number), min, max));
    }
    [[nodiscard]] expected<std::optional<ticks>> seconds_if_known(swf_field number) const {
        if (field(number) == "-1") return std::optional<ticks>{};
        auto seconds = checked(number, parse_seconds(field(number)));
        if (!seconds) {
            seconds.error().expected += ", or -1 where it is not known";
            return unexpected(std::move(seconds.error()));
        }
        return std::optional<ticks>{*seconds};
    }

    const std::string& file_;
    std::size_t line_;
    std::array<std::string_view, field_count> fields_{};
    std::size_t count_ = 0;
};

} // namespace

expected<job_list> read_swf(const vgpuformats::list_content& source, const std::string& name,
                            const row_options& options) {
    if (source.table != nullptr) return unexpected(vgpuformats::columns_not_taken(name));
    std::string_view text = source.text;
    vgpualloc::stop_signal stop = source.stop;
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    job_list list;
    std::array<std::int64_t, omission_words.size()> omitted{};
    std::unordered_set<std::string> names; // only looked up, never walked
    std::size_t line = 0;
    for (std::int64_t row = 0; !text.empty();) {
        if (stop.poll()) return unexpected(vgpualloc::stop_signal::stopped());
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view content = text.substr(0, std::min(text.find(';'), end));
        text.remove_prefix(std::min(end + 1, text.size()));
        ++line;
        if (content.find_first_not_of(" \t\r\v\f") == std::string_view::npos) continue;
        const line_reader reader{name, line, content};
        auto parsed = reader.read(row++);
        if (parsed && parsed->why_not == omission::none && !names.insert(parsed->job.name).second) {
            parsed = unexpected(reader.failure_at(name_of(job_number), parsed->job.name, error_code::duplicate,
                                                  "a number that occurs once"));
        }
        if (!parsed) {
            if (auto taken = list.skipped.take(std::move(parsed.error()), options); !taken) {
                return unexpected(std::move(taken.error()));
            }
        } else if (parsed->why_not == omission::none) {
            list.jobs.push_back(std::move(parsed->job));
        } else {
            ++omitted[static_cast<std::size_t>(parsed->why_not)];
        }
    }
    for (std::size_t i = 0; i < omitted.size(); ++i) {
        if (omitted[i] > 0) list.left_out.push_back({.reason = omission_words[i], .count = omitted[i]});
    }
    if (list.jobs.empty()) {
        return unexpected(bad_input(error_code::missing, "", "missing", "at least one job that can be replayed")
                              .at(name + ":" + std::to_string(std::max<std::size_t>(line, 1))));
    }
    std::ranges::stable_sort(list.jobs, {}, &trace_job::arrival);
    return list;
}

} // namespace vgputraces
