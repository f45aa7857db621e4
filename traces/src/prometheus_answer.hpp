// Answers of Prometheus' HTTP API to range queries, series by series: they are too large to be read as documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgputraces/core_names.hpp"

namespace vgputraces {

struct metric_sample {
    std::int64_t time_ms = 0; ///< since 1970 began
    std::string_view value{}; ///< as written, a number in digits or NaN, +Inf, -Inf
};

struct metric_series {
    std::map<std::string, std::string, std::less<>> labels{};
    std::vector<metric_sample> samples{}; ///< by time
    std::size_t line = 1;                 ///< of the text, where the series begins
    std::int64_t number = 0;              ///< of the series in its answer, from 0
};

/// Reads answers that stand one after the other. The text must outlive the reader and its series.
class prometheus_answer_reader {
public:
    prometheus_answer_reader(std::string_view text, std::string name);

    /// The next series; false at the end of the text. Errors name file, line and field: no JSON, a query that failed,
    /// another resultType than matrix, samples that are not pairs of a time and a number in a text, or not by time.
    [[nodiscard]] expected<bool> next(metric_series& series);

private:
    enum class place : std::uint8_t { between_answers, in_answer, in_data, in_result };

    // All return false, or nothing, once something is wrong.
    bool fail(std::size_t at, std::string_view field, std::string_view value, std::string expectation);
    bool fail_here(std::string_view field, std::string expectation);
    void skip_space();
    [[nodiscard]] bool starts_with(char letter);
    bool take(char letter, std::string_view field, const char* expectation);
    std::optional<std::string_view> take_text(std::string_view field);
    bool skip_value(std::string_view field);
    /// Goes past a comma; whether a list or map goes on, as `close` does not follow.
    bool has_more(char close, std::string_view field);
    bool read_series(metric_series& series);
    bool read_labels(metric_series& series);
    bool read_samples(metric_series& series);
    bool read_sample(metric_series& series);
    bool read_member_of_answer();
    bool read_member_of_data();
    [[nodiscard]] std::string series_field(std::string_view key) const;
    [[nodiscard]] std::size_t line_at(std::size_t position);

    std::string_view text_;
    std::string name_;
    std::size_t at_ = 0;
    place place_ = place::between_answers;
    bool is_first_ = true; ///< of the list or map that is being read
    std::int64_t number_ = 0;
    std::size_t counted_to_ = 0; ///< lines before this position are counted
    std::size_t line_ = 1;
    std::optional<error> failure_{};
};

} // namespace vgputraces
