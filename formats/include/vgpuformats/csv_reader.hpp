// Comma-separated text with a header line and no quoting, as traces are published: fields as views into the text.
// Columns that a caller owns are read in the same way, without a text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpuformats/list_content.hpp"

namespace vgpuformats {

/// Walks the lines of a text, which must outlive the reader and its fields. LF and CRLF line ends; empty lines at the
/// end are passed over; every other line has as many fields as the header. Quotes are refused rather than misread.
/// Of columns it walks the rows, counted from 0; an empty cell is an empty field.
class csv_reader {
public:
    static constexpr std::size_t no_column = std::numeric_limits<std::size_t>::max();

    /// Reads the header. Fails on an empty text and on a repeated column name.
    [[nodiscard]] static vgpualloc::expected<csv_reader> open(std::string path, const list_content& list) {
        csv_reader reader{std::move(path), list};
        const std::string_view text = list.text;
        if (list.table != nullptr) {
            if (auto usable = check_table(*list.table, reader.path_); !usable) {
                return vgpualloc::unexpected(std::move(usable).error());
            }
            for (const column_view& column : list.table->columns) reader.header_.push_back(column.name);
            reader.scratch_.resize(reader.header_.size());
            return reader;
        }
        if (text.empty()) {
            return vgpualloc::unexpected(
                reader.line_error(vgpualloc::error_code::missing, "empty; expected a header line"));
        }
        if (text.starts_with("\xEF\xBB\xBF")) reader.rest_.remove_prefix(3);
        // Taken off here, once: looking in every line whether only empty ones follow is quadratic in their number.
        reader.rest_ = reader.rest_.substr(0, reader.rest_.find_last_not_of("\r\n") + 1);
        reader.split(reader.take_line());
        reader.header_ = reader.fields_;
        for (std::size_t i = 0; i < reader.header_.size(); ++i) {
            if (reader.column(reader.header_[i]) != i) {
                return vgpualloc::unexpected(
                    reader.field_error(i, vgpualloc::error_code::duplicate, "column names that occur once"));
            }
        }
        return reader;
    }

    /// Position of a column, or no_column.
    [[nodiscard]] std::size_t column(std::string_view name) const {
        const auto found = std::find(header_.begin(), header_.end(), name);
        return found == header_.end() ? no_column : static_cast<std::size_t>(found - header_.begin());
    }

    /// Goes to the next line; false at the end of the text. Error stopped: the caller wants the reading to end.
    [[nodiscard]] vgpualloc::expected<bool> next() {
        if (stop_.poll()) return vgpualloc::unexpected(vgpualloc::stop_signal::stopped());
        if (table_ != nullptr) return next_row();
        if (rest_.empty()) return false;
        split(take_line());
        if (quoted_) {
            return vgpualloc::unexpected(
                line_error(vgpualloc::error_code::unsupported, "fields without quotes; this format has no quoting"));
        }
        if (fields_.size() != header_.size()) {
            return vgpualloc::unexpected(line_error(
                vgpualloc::error_code::malformed, "expected " + std::to_string(header_.size()) + " fields, found " +
                                                      std::to_string(fields_.size()) +
                                                      (fields_.size() < header_.size() ? " (a truncated line?)" : "")));
        }
        return true;
    }

    /// Of columns of numbers the text is made here, and holds until the next row.
    [[nodiscard]] std::string_view field(std::size_t column) const {
        return table_ == nullptr ? fields_[column] : table_->columns[column].text(line_, scratch_[column]);
    }
    /// The whole number in a field of a column of whole numbers; null where the field is a text, or empty.
    [[nodiscard]] const std::int64_t* whole(std::size_t column) const {
        return table_ == nullptr ? nullptr : table_->columns[column].whole(line_);
    }
    /// The number of the line, from 1; of columns, that of the row, from 0.
    [[nodiscard]] std::size_t line() const noexcept { return line_; }
    [[nodiscard]] const std::vector<std::string_view>& header() const noexcept { return header_; }

    [[nodiscard]] vgpualloc::error field_error(std::size_t column, vgpualloc::error_code code,
                                               std::string expected_text) const {
        vgpualloc::error problem = line_error(code, std::move(expected_text));
        problem.field = column < header_.size() ? std::string{header_[column]} : std::string{};
        problem.value = std::string{field(column)};
        return problem;
    }
    [[nodiscard]] vgpualloc::error missing_column(std::string_view name) const {
        return bad_input(vgpualloc::error_code::missing, name, "missing",
                         table_ == nullptr ? "this column in the header" : "this column")
            .at(table_ == nullptr ? path_ + ":1" : path_);
    }
    [[nodiscard]] vgpualloc::error empty_list(std::string_view what) const {
        if (table_ != nullptr) {
            return bad_input(vgpualloc::error_code::missing, "", "missing", "at least one " + std::string{what})
                .at(path_);
        }
        return line_error(vgpualloc::error_code::missing,
                          "missing; expected at least one " + std::string{what} + " after the header");
    }
    /// Where the reader is, as errors have it.
    [[nodiscard]] std::string place() const {
        if (table_ != nullptr) return path_ + " row " + std::to_string(line_);
        return path_ + ":" + std::to_string(std::max<std::size_t>(line_, 1));
    }

private:
    csv_reader(std::string path, const list_content& list)
        : path_{std::move(path)}, rest_{list.text}, table_{list.table}, stop_{list.stop} {}

    [[nodiscard]] bool next_row() {
        if (next_ == table_->rows()) return false;
        line_ = next_++;
        return true;
    }

    [[nodiscard]] std::string_view take_line() {
        ++line_;
        const std::size_t end = rest_.find('\n');
        std::string_view line = rest_.substr(0, end);
        rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        return line;
    }
    void split(std::string_view line) {
        fields_.clear();
        quoted_ = line.find('"') != std::string_view::npos;
        while (true) {
            const std::size_t comma = line.find(',');
            fields_.push_back(line.substr(0, comma));
            if (comma == std::string_view::npos) return;
            line.remove_prefix(comma + 1);
        }
    }
    [[nodiscard]] vgpualloc::error line_error(vgpualloc::error_code code, std::string expected_text) const {
        return bad_value(code, "", "", std::move(expected_text)).at(place());
    }

    std::string path_;
    std::string_view rest_;
    std::vector<std::string_view> header_;
    std::vector<std::string_view> fields_;
    std::size_t line_ = 0;
    const column_table* table_ = nullptr;      ///< null: the list is a text
    std::size_t next_ = 0;                     ///< row of the table
    mutable std::vector<std::string> scratch_; ///< numbers of the row as texts, by column
    vgpualloc::stop_signal stop_;
    bool quoted_ = false;
};

} // namespace vgpuformats
