// Columns of plain text.
#include "text_columns.hpp"

#include <algorithm>
#include <utility>

#include "short_lines.hpp"
#include "vgpualloc/core/utf8.hpp"

namespace vgpuops::show {

namespace {

/// Texts are not narrowed beyond.
constexpr std::size_t text_width_min = 12;

/// Narrows the widest texts until a row is no longer than a line. `narrowest` has the width to which each column can be
/// narrowed.
void narrow(std::vector<std::size_t>& widths, const std::vector<std::size_t>& narrowest) {
    std::size_t row = 2 * (widths.size() - 1);
    for (const std::size_t width : widths) row += width;
    while (row > line_width) {
        std::size_t widest = 0;
        for (std::size_t c = 1; c < widths.size(); ++c) {
            if (widths[c] - narrowest[c] > widths[widest] - narrowest[widest]) widest = c;
        }
        if (widths[widest] == narrowest[widest]) return;
        --widths[widest];
        --row;
    }
}

} // namespace

text_columns::text_columns(std::vector<column> columns) : columns_{std::move(columns)} {
    std::vector<std::string> headings;
    for (const column& entry : columns_) headings.push_back(printable(entry.heading));
    rows_.push_back(std::move(headings));
}

void text_columns::add(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = printable(cell);
    rows_.push_back(std::move(cells));
}

std::string text_columns::lines_of(const std::vector<std::string>& row, const std::vector<std::size_t>& widths) const {
    std::vector<std::vector<std::string>> cells;
    std::size_t lines = 1;
    for (std::size_t c = 0; c < row.size(); ++c) {
        cells.push_back(lines_within(row[c], widths[c]));
        lines = std::max(lines, cells.back().size());
    }
    std::string result;
    for (std::size_t l = 0; l < lines; ++l) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c) {
            const std::string cell = l < cells[c].size() ? cells[c][l] : std::string{};
            const std::string space(widths[c] - std::min(widths[c], vgpualloc::characters_of(cell)), ' ');
            line += (c == 0 ? "" : "  ") + (columns_[c].is_number ? space + cell : cell + space);
        }
        while (line.ends_with(' ')) line.pop_back();
        result += line + "\n";
    }
    return result;
}

std::string text_columns::text() const {
    std::vector<std::size_t> widths(columns_.size());
    for (const auto& row : rows_) {
        for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], vgpualloc::characters_of(row[c]));
    }
    std::size_t widest_amount = 0; // without the headings
    for (std::size_t r = 1; r < rows_.size(); ++r) {
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            if (columns_[c].is_amount) widest_amount = std::max(widest_amount, vgpualloc::characters_of(rows_[r][c]));
        }
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        if (columns_[c].is_amount) widths[c] = std::max(widths[c], widest_amount);
    }
    // A command to paste is not broken, and is easier to find if nothing around it is.
    const bool is_whole =
        std::ranges::any_of(rows_, [](const auto& row) { return std::ranges::any_of(row, has_command); });
    std::vector<std::size_t> narrowest = widths;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        if (is_whole || columns_[c].is_number) continue;
        std::size_t least = text_width_min;
        for (const auto& row : rows_) least = std::max(least, longest_word_of(row[c]));
        narrowest[c] = std::min(widths[c], least);
    }
    narrow(widths, narrowest);
    std::string result;
    for (const auto& row : rows_) result += lines_of(row, widths);
    return result;
}

std::string text_of(const printed_table& table) {
    text_columns columns{table.columns};
    for (const table_row& row : table.rows) columns.add(row.cells);
    return (table.title.empty() ? "" : table.title + "\n") + columns.text();
}

} // namespace vgpuops::show
