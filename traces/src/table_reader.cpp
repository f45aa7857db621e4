#include "table_reader.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "fields.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/some_names.hpp"

namespace vgputraces {

using vgpuformats::csv_reader;
using vgpuformats::value_kind;

namespace {

constexpr std::size_t decimals_max = 6;
constexpr const char* seconds_expected = "seconds from 0 to 10^12 with at most 6 decimals";

bool is_json(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    return begin != std::string_view::npos && text[begin] == '{';
}

bool is_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether it is a number at all, if not one that a table may have.
bool looks_like_number(std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    const std::size_t point = std::min(text.find('.'), text.size());
    return is_digits(text.substr(0, point)) && (point == text.size() || is_digits(text.substr(point + 1)));
}

std::optional<ticks> parse_table_seconds(std::string_view text) {
    const std::size_t point = std::min(text.find('.'), text.size());
    const std::string_view whole = text.substr(0, point);
    const std::string_view decimals = point == text.size() ? "0" : text.substr(point + 1);
    if (!is_digits(whole) || !is_digits(decimals) || decimals.size() > decimals_max) return std::nullopt;
    std::int64_t seconds = 0;
    if (std::from_chars(whole.data(), whole.data() + whole.size(), seconds).ec != std::errc{}) return std::nullopt;
    if (seconds > table_seconds_max) return std::nullopt;
    std::int64_t micro = 0;
    for (std::size_t i = 0; i < decimals_max; ++i) micro = 10 * micro + (i < decimals.size() ? decimals[i] - '0' : 0);
    const ticks time = seconds * ticks_per_second + ticks{micro};
    if (time > table_seconds_max * ticks_per_second) return std::nullopt;
    return time;
}

} // namespace

void append_table_seconds(std::string& out, ticks time) {
    const std::int64_t per_second = ticks_per_second.count();
    out += std::to_string(time.count() / per_second);
    const std::int64_t micro = time.count() % per_second;
    if (micro == 0) return;
    std::string decimals = std::to_string(per_second + micro);
    decimals.front() = '.';
    out += decimals.substr(0, decimals.find_last_not_of('0') + 1);
}

expected<table_reader> table_reader::open(std::string name, const vgpuformats::list_content& content,
                                          std::vector<table_column> columns) {
    vgpuformats::list_content list = content;
    if (list.text.starts_with("\xEF\xBB\xBF")) list.text.remove_prefix(3);
    table_reader reader{std::move(name), list, std::move(columns)};
    reader.cells_.resize(reader.columns_.size());
    if (is_json(list.text)) return reader;
    if (const auto opened = reader.open_csv(list); !opened) return unexpected(opened.error());
    return reader;
}

error table_reader::unknown_column(std::string_view column) const {
    const std::string known = vgpuformats::joined(columns_, &table_column::name);
    return bad_value(error_code::unknown_name, "", column, "columns among " + known).at(place());
}

expected<void> table_reader::open_csv(const vgpuformats::list_content& content) {
    auto csv = csv_reader::open(name_, content);
    if (!csv) return unexpected(csv.error());
    csv_ = *std::move(csv);
    line_ = 1;
    for (const std::string_view column : csv_->header()) {
        if (std::ranges::find(columns_, column, &table_column::name) == columns_.end()) {
            return unexpected(unknown_column(column));
        }
    }
    for (const table_column& column : columns_) {
        csv_columns_.push_back(csv_->column(column.name));
        if (column.required && csv_columns_.back() == csv_reader::no_column) {
            return unexpected(csv_->missing_column(column.name));
        }
    }
    return {};
}

expected<bool> table_reader::next_csv() {
    const auto more = csv_->next();
    if (!more || !*more) return more;
    line_ = csv_->line();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        cells_[i] = csv_columns_[i] == csv_reader::no_column ? std::string_view{} : csv_->field(csv_columns_[i]);
    }
    return true;
}

expected<void> table_reader::take_member(const document::member& member) {
    const auto& [key, value] = member;
    const auto column = std::ranges::find(columns_, key, &table_column::name);
    if (column == columns_.end()) return unexpected(unknown_column(key));
    if (value.is_null()) return {};
    const bool is_text = value.is_text() && column->kind != cell_kind::number;
    const bool is_number = value.kind == value_kind::number && column->kind != cell_kind::text;
    if (!is_text && !is_number) {
        return unexpected(bad_value(error_code::malformed, key, vgpuformats::print_json(value),
                                    column->kind == cell_kind::text     ? "a text"
                                    : column->kind == cell_kind::number ? "a number"
                                                                        : "a text or a number")
                              .at(place()));
    }
    cells_[static_cast<std::size_t>(column - columns_.begin())] = value.text;
    return {};
}

expected<bool> table_reader::next_object() {
    std::string_view line;
    while (line.find_first_not_of(" \t\r") == std::string_view::npos) {
        if (rest_.empty()) return false;
        const std::size_t end = std::min(rest_.find('\n'), rest_.size());
        line = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        ++line_;
    }
    auto object =
        vgpuformats::parse_json(line, name_, vgpuformats::repeated_keys::refused, static_cast<std::int32_t>(line_));
    if (!object) return unexpected(object.error());
    row_ = *std::move(object);
    if (!row_.is_map()) {
        return unexpected(
            bad_value(error_code::malformed, "", vgpuformats::print_json(row_), "a JSON object in every line")
                .at(place()));
    }
    std::ranges::fill(cells_, std::string_view{});
    for (const auto& member : row_.members) {
        if (const auto taken = take_member(member); !taken) return unexpected(taken.error());
    }
    return true;
}

expected<bool> table_reader::next() {
    if (!csv_ && stop_.poll()) return unexpected(vgpualloc::stop_signal::stopped());
    const auto more = csv_ ? next_csv() : next_object();
    if (!more || !*more) return more;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (columns_[i].required && cells_[i].empty()) {
            return unexpected(problem(i, error_code::missing, "missing; expected in every row"));
        }
    }
    return true;
}

error table_reader::problem(std::size_t column, error_code code, std::string expected_text) const {
    return bad_value(code, columns_[column].name, cells_[column], std::move(expected_text)).at(place());
}

expected<std::string_view> table_reader::word(std::size_t column) const {
    const std::string_view written = cells_[column];
    constexpr std::size_t chars_max = 253; // of a name in Kubernetes
    const auto breaks_csv = [](char c) { return c == ',' || c == '"'; };
    if (written.size() <= chars_max && std::ranges::none_of(written, breaks_csv) && is_printable_text(written)) {
        return written;
    }
    return unexpected(problem(column, error_code::malformed,
                              "at most 253 characters of UTF-8 without commas, quotes and control characters"));
}

expected<std::optional<ticks>> table_reader::seconds(std::size_t column) const {
    if (cells_[column].empty()) return std::optional<ticks>{};
    if (const std::int64_t* const number = whole(column);
        number != nullptr && *number >= 0 && *number <= table_seconds_max) {
        return std::optional{*number * ticks_per_second};
    }
    if (const auto time = parse_table_seconds(cells_[column])) return std::optional{*time};
    const auto code = looks_like_number(cells_[column]) ? error_code::out_of_range : error_code::malformed;
    return unexpected(problem(column, code, seconds_expected));
}

expected<std::int64_t> table_reader::integer(std::size_t column, std::int64_t least, std::int64_t most,
                                             std::int64_t otherwise) const {
    const std::string_view written = cells_[column];
    if (written.empty()) return otherwise;
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(written.data(), written.data() + written.size(), value);
    const bool is_whole = end == written.data() + written.size() && failure != std::errc::invalid_argument;
    if (is_whole && failure == std::errc{} && value >= least && value <= most) return value;
    return unexpected(problem(column, is_whole ? error_code::out_of_range : error_code::malformed,
                              "a whole number from " + std::to_string(least) + " to " + std::to_string(most)));
}

} // namespace vgputraces
