// Tables of our own, with a row a line: CSV with a header, or JSON objects (JSONL); or columns that the caller owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpuformats/csv_reader.hpp"
#include "vgputraces/core_names.hpp"

namespace vgputraces {

inline constexpr std::int64_t table_seconds_max = 1'000'000'000'000;

/// What a cell of JSON may be; CSV has no kinds.
enum class cell_kind : std::uint8_t { text, number, text_or_number };

struct table_column {
    std::string_view name;
    bool required = false; ///< a cell of every row is filled
    cell_kind kind = cell_kind::text;
};

/// Walks the rows of the content, which must outlive the reader. A text that begins with '{' is JSONL, whose empty
/// lines are passed over; any other is CSV. A cell that is empty, null or not there is absent. Columns that are not
/// known are refused, as a mistyped one would be passed over.
class table_reader {
public:
    /// Fails on an empty text, on a header that has other columns or lacks a required one.
    [[nodiscard]] static expected<table_reader> open(std::string name, const vgpuformats::list_content& content,
                                                     std::vector<table_column> columns);

    /// Goes to the next row; false at the end. Fails if the row lacks a required cell.
    [[nodiscard]] expected<bool> next();

    /// Empty where the cell is absent.
    [[nodiscard]] std::string_view text(std::size_t column) const { return cells_[column]; }
    /// Text that may be written to CSV again, and shown: without control characters, commas and quotes.
    [[nodiscard]] expected<std::string_view> word(std::size_t column) const;
    /// Seconds with up to six decimals, 0 to 10^12; nothing where the cell is absent.
    [[nodiscard]] expected<std::optional<ticks>> seconds(std::size_t column) const;
    [[nodiscard]] expected<std::int64_t> integer(std::size_t column, std::int64_t least, std::int64_t most,
                                                 std::int64_t otherwise) const;

    [[nodiscard]] error problem(std::size_t column, error_code code, std::string expected) const;
    [[nodiscard]] std::size_t line() const noexcept { return line_; }

private:
    table_reader(std::string name, const vgpuformats::list_content& content, std::vector<table_column> columns)
        : name_{std::move(name)}, rest_{content.text}, columns_{std::move(columns)}, stop_{content.stop} {}

    [[nodiscard]] expected<void> open_csv(const vgpuformats::list_content& content);
    [[nodiscard]] expected<bool> next_csv();
    [[nodiscard]] expected<bool> next_object();
    [[nodiscard]] expected<void> take_member(const document::member& member);
    [[nodiscard]] error unknown_column(std::string_view column) const;
    [[nodiscard]] std::string place() const { return csv_ ? csv_->place() : name_ + ":" + std::to_string(line_); }
    /// The whole number in a cell of a column of whole numbers; null for other cells.
    [[nodiscard]] const std::int64_t* whole(std::size_t column) const {
        const bool is_there = csv_ && csv_columns_[column] != vgpuformats::csv_reader::no_column;
        return is_there ? csv_->whole(csv_columns_[column]) : nullptr;
    }

    std::string name_;
    std::string_view rest_; ///< of JSONL
    std::vector<table_column> columns_;
    std::optional<vgpuformats::csv_reader> csv_; ///< none: JSONL
    std::vector<std::size_t> csv_columns_;       ///< by column, position in the header
    document row_;                               ///< of JSONL
    std::vector<std::string_view> cells_;
    std::size_t line_ = 0;
    vgpualloc::stop_signal stop_; ///< of JSONL; a CSV has its own
};

/// Seconds as a table has them, without zeros at the end.
void append_table_seconds(std::string& out, ticks time);

} // namespace vgputraces
