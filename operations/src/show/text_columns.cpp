// Columns of plain text.
#include "text_columns.hpp"

#include <algorithm>
#include <utility>

namespace vgpuops::show {

namespace {

std::size_t characters_of(const std::string& text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
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

std::string text_columns::text() const {
    std::vector<std::size_t> widths(columns_.size());
    for (const auto& row : rows_) {
        for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], characters_of(row[c]));
    }
    std::size_t widest_amount = 0; // without the headings
    for (std::size_t r = 1; r < rows_.size(); ++r) {
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            if (columns_[c].is_amount) widest_amount = std::max(widest_amount, characters_of(rows_[r][c]));
        }
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        if (columns_[c].is_amount) widths[c] = std::max(widths[c], widest_amount);
    }
    std::string result;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c) {
            const std::string space(widths[c] - characters_of(row[c]), ' ');
            line += (c == 0 ? "" : "  ") + (columns_[c].is_number ? space + row[c] : row[c] + space);
        }
        while (line.ends_with(' ')) line.pop_back();
        result += line + "\n";
    }
    return result;
}

std::string text_of(const printed_table& table) {
    text_columns columns{table.columns};
    for (const table_row& row : table.rows) columns.add(row.cells);
    return (table.title.empty() ? "" : table.title + "\n") + columns.text();
}

} // namespace vgpuops::show
