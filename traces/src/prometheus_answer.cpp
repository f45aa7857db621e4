#include "prometheus_answer.hpp"

#include <algorithm>
#include <utility>

#include "fields.hpp"
#include "vgpuformats/json.hpp"

namespace vgputraces {

namespace {

constexpr const char* matrix_expected =
    "the answer of a range query: {\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[…]}}";
constexpr std::size_t quoted_value_max = 60;

} // namespace

prometheus_answer_reader::prometheus_answer_reader(std::string_view text, std::string name)
    : text_{text}, name_{std::move(name)} {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
}

std::size_t prometheus_answer_reader::line_at(std::size_t position) {
    if (position < counted_to_) {
        counted_to_ = 0;
        line_ = 1;
    }
    const std::string_view between = text_.substr(counted_to_, position - counted_to_);
    line_ += static_cast<std::size_t>(std::ranges::count(between, '\n'));
    counted_to_ = position;
    return line_;
}

bool prometheus_answer_reader::fail(std::size_t at, std::string_view field, std::string_view value,
                                    std::string expectation) {
    if (!failure_) {
        failure_ = bad_value(error_code::malformed, field, value, std::move(expectation))
                       .at(name_ + ":" + std::to_string(line_at(std::min(at, text_.size()))));
    }
    return false;
}

bool prometheus_answer_reader::fail_here(std::string_view field, std::string expectation) {
    if (at_ >= text_.size()) return fail(at_, field, "the end of the text", std::move(expectation));
    const std::string_view rest = text_.substr(at_, quoted_value_max);
    return fail(at_, field, rest.substr(0, rest.find('\n')), std::move(expectation));
}

void prometheus_answer_reader::skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
        ++at_;
    }
}

bool prometheus_answer_reader::starts_with(char letter) {
    skip_space();
    return at_ < text_.size() && text_[at_] == letter;
}

bool prometheus_answer_reader::take(char letter, std::string_view field, const char* expectation) {
    if (!starts_with(letter)) return fail_here(field, expectation);
    ++at_;
    return true;
}

std::optional<std::string_view> prometheus_answer_reader::take_text(std::string_view field) {
    if (!take('"', field, "a text in quotes")) return std::nullopt;
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2U : 1U;
    if (at_ >= text_.size()) {
        fail_here(field, "a text that ends with quotes");
        return std::nullopt;
    }
    return text_.substr(begin, at_++ - begin);
}

bool prometheus_answer_reader::skip_value(std::string_view field) {
    std::string open; // brackets that have to be closed
    do {
        skip_space();
        if (at_ >= text_.size()) return fail_here(field, "a value of JSON");
        const char letter = text_[at_];
        if (letter == '"') {
            if (!take_text(field)) return false;
        } else if (letter == '{' || letter == '[') {
            if (open.size() >= static_cast<std::size_t>(vgpuformats::depth_max)) {
                return fail_here(field, "lists and maps no deeper than " + std::to_string(vgpuformats::depth_max));
            }
            open += letter == '{' ? '}' : ']';
            ++at_;
        } else if (letter == '}' || letter == ']') {
            if (open.empty() || open.back() != letter) return fail_here(field, "a value of JSON");
            open.pop_back();
            ++at_;
        } else if ((letter == ',' || letter == ':') && !open.empty()) {
            ++at_;
        } else {
            const std::size_t end = text_.find_first_of(",:]}[{\" \t\r\n", at_);
            if (end == at_) return fail_here(field, "a value of JSON");
            at_ = std::min(end, text_.size());
        }
    } while (!open.empty());
    return true;
}

bool prometheus_answer_reader::has_more(char close, std::string_view field) {
    if (starts_with(close)) {
        ++at_;
        is_first_ = false;
        return false;
    }
    if (!is_first_ && !take(',', field, close == '}' ? "a comma or }" : "a comma or ]")) return false;
    is_first_ = false;
    return true;
}

std::string prometheus_answer_reader::series_field(std::string_view key) const {
    return "result[" + std::to_string(number_) + "]." + std::string{key};
}

bool prometheus_answer_reader::read_labels(metric_series& series) {
    const std::string field = series_field("metric");
    skip_space();
    const std::size_t begin = at_;
    if (!skip_value(field)) return false;
    const auto labels = vgpuformats::parse_json(text_.substr(begin, at_ - begin), name_);
    if (!labels || !labels->is_map()) {
        return fail(begin, field, text_.substr(begin, quoted_value_max), "a map of labels");
    }
    for (const auto& [label, value] : labels->members) {
        if (!value.is_text()) return fail(begin, field + "." + label, value.text, "a text");
        series.labels.insert_or_assign(label, value.text);
    }
    return true;
}

bool prometheus_answer_reader::read_sample(metric_series& series) {
    constexpr std::int64_t ms_per_s = 1000;
    const auto field = [&] { return series_field("values[") + std::to_string(series.samples.size()) + "]"; };
    if (!starts_with('[')) return fail_here(field(), "a sample as [1764547200, \"2\"]");
    ++at_;
    skip_space();
    const std::size_t begin = at_;
    const std::size_t end = std::min(text_.find_first_of(", \t\r\n]", at_), text_.size());
    const std::string_view written = text_.substr(begin, end - begin);
    const auto time = parse_decimal(written, ms_per_s, seconds_max, "seconds since 1970 began");
    if (!time) return fail(begin, field(), written, time.error().expected);
    at_ = end;
    if (!take(',', field(), "a comma, and the value in quotes")) return false;
    const auto value = take_text(field());
    if (!value || !take(']', field(), "]")) return false;
    if (!series.samples.empty() && *time <= series.samples.back().time_ms) {
        return fail(begin, field(), written, "samples by time, each time once");
    }
    series.samples.push_back({.time_ms = *time, .value = *value});
    return true;
}

bool prometheus_answer_reader::read_samples(metric_series& series) {
    if (!take('[', series_field("values"), "a list of samples")) return false;
    is_first_ = true;
    while (has_more(']', series_field("values"))) {
        if (!read_sample(series)) return false;
    }
    return !failure_;
}

bool prometheus_answer_reader::read_series(metric_series& series) {
    skip_space();
    const std::size_t begin = at_;
    series.labels.clear();
    series.samples.clear();
    series.line = line_at(begin);
    series.number = number_;
    if (!take('{', series_field("metric"), "a series: {\"metric\":{…},\"values\":[…]}")) return false;
    bool has_samples = false;
    is_first_ = true;
    while (has_more('}', series_field("metric"))) {
        const auto key = take_text(series_field("metric"));
        if (!key || !take(':', series_field(*key), "a colon")) return false;
        bool is_read = false;
        if (*key == "metric") {
            is_read = read_labels(series);
        } else if (*key == "values") {
            is_read = read_samples(series);
            has_samples = true;
        } else {
            is_read = skip_value(series_field(*key));
        }
        if (!is_read) return false;
        is_first_ = false;
    }
    if (failure_) return false;
    if (!has_samples) {
        return fail(begin, series_field("values"), "missing", "samples over time, as /api/v1/query_range returns them");
    }
    ++number_;
    return true;
}

bool prometheus_answer_reader::read_member_of_answer() {
    const auto key = take_text("data");
    if (!key || !take(':', *key, "a colon")) return false;
    if (*key == "status") {
        skip_space();
        const std::size_t begin = at_;
        const auto status = take_text(*key);
        if (!status) return false;
        return *status == "success" || fail(begin, *key, *status, "success: Prometheus did not answer the query");
    }
    if (*key != "data") return skip_value(*key);
    if (!take('{', *key, matrix_expected)) return false;
    place_ = place::in_data;
    is_first_ = true;
    return true;
}

bool prometheus_answer_reader::read_member_of_data() {
    const auto key = take_text("result");
    if (!key || !take(':', *key, "a colon")) return false;
    if (*key == "resultType") {
        skip_space();
        const std::size_t begin = at_;
        const auto type = take_text(*key);
        if (!type) return false;
        return *type == "matrix" || fail(begin, *key, *type, "matrix, as /api/v1/query_range returns");
    }
    if (*key != "result") return skip_value(*key);
    if (!take('[', *key, "a list of series")) return false;
    place_ = place::in_result;
    is_first_ = true;
    number_ = 0;
    return true;
}

expected<bool> prometheus_answer_reader::next(metric_series& series) {
    while (!failure_) {
        switch (place_) {
        case place::between_answers:
            skip_space();
            if (at_ >= text_.size()) return false;
            if (!take('{', "", matrix_expected)) break;
            place_ = place::in_answer;
            is_first_ = true;
            break;
        case place::in_answer:
            if (!has_more('}', "data")) {
                place_ = place::between_answers;
            } else if (read_member_of_answer() && place_ == place::in_answer) {
                is_first_ = false;
            }
            break;
        case place::in_data:
            if (!has_more('}', "data")) {
                place_ = place::in_answer;
            } else if (read_member_of_data() && place_ == place::in_data) {
                is_first_ = false;
            }
            break;
        case place::in_result:
            if (!has_more(']', "result")) {
                place_ = place::in_data;
                break;
            }
            if (!read_series(series)) break;
            is_first_ = false;
            return true;
        }
    }
    return unexpected(*failure_);
}

} // namespace vgputraces
