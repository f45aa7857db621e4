#include "vgputraces/usage.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "csv_jobs.hpp"
#include "time_text.hpp"

namespace vgputraces {

namespace {

constexpr std::int64_t used_gpus_max = 10'000'000;
constexpr std::int64_t milli_per_gpu = 1000;

field_value<std::int64_t> parse_used(std::string_view text) {
    return parse_decimal(text, milli_per_gpu, used_gpus_max, "GPUs");
}

constexpr std::size_t iso_date_size = std::string_view{"2026-11-25"}.size();

/// Of texts that are times of ISO 8601.
bool has_time_of_day(std::string_view text) { return text.size() > iso_date_size; }
bool is_zoned(std::string_view text) {
    return text.ends_with('Z') || text.find_first_of("+-", iso_date_size) != std::string_view::npos;
}

} // namespace

expected<std::vector<usage_point>> read_usage(const vgpuformats::list_content& content, const std::string& name) {
    auto csv = vgpuformats::csv_reader::open(name, content);
    if (!csv) return unexpected(csv.error());
    const auto columns = find_columns(*csv, std::array<std::string_view, 2>{"time", "used"});
    if (!columns) return unexpected(columns.error());
    const auto [time_column, used_column] = *columns;
    std::vector<usage_point> points;
    std::set<ticks> times;
    std::optional<bool> have_zones; // of the rows with a time of day; a date alone has none
    while (true) {
        const auto has_row = csv->next();
        if (!has_row) return unexpected(has_row.error());
        if (!*has_row) break;
        const auto time = read_field(*csv, time_column, parse_iso_time);
        if (!time) return unexpected(time.error());
        if (time->count() < 0) {
            return unexpected(csv->field_error(time_column, error_code::out_of_range, "a time from 1970 on"));
        }
        if (const std::string_view text = csv->field(time_column); has_time_of_day(text)) {
            const bool has_zone = is_zoned(text);
            if (has_zone != have_zones.value_or(has_zone)) {
                return unexpected(csv->field_error(time_column, error_code::mismatch,
                                                   has_zone ? "a time without a zone, as in the rows before"
                                                            : "a time with a zone, as in the rows before"));
            }
            have_zones = has_zone;
        }
        if (!times.insert(*time).second) {
            return unexpected(csv->field_error(time_column, error_code::duplicate, "every time once"));
        }
        const auto used = read_field(*csv, used_column, parse_used);
        if (!used) return unexpected(used.error());
        points.push_back({.time = *time, .used_milli = *used});
    }
    if (points.empty()) return unexpected(csv->empty_list("row"));
    std::ranges::sort(points, {}, &usage_point::time);
    return points;
}

std::string write_usage(const std::vector<usage_point>& points) {
    std::string text = "time,used\n";
    for (const usage_point& point : points) {
        text += iso_text(point.time) + "," + std::to_string(point.used_milli / milli_per_gpu) + "." +
                padded(point.used_milli % milli_per_gpu, 3) + "\n";
    }
    return text;
}

} // namespace vgputraces
