// Aligned columns of plain text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/core/printable.hpp"
#include "vgpualloc/core/utf8.hpp"

namespace vgpualloc::explaining {

/// Rows of as many cells as there are headings. Columns are as wide as their widest cell and two spaces apart; the last
/// one ends the line. UTF-8 counts by characters. Cells are shown as printable() does.
class text_table {
public:
    explicit text_table(std::vector<std::string> headings) { rows_.push_back(std::move(headings)); }

    void add(std::vector<std::string> cells) {
        for (std::string& cell : cells) cell = printable(cell);
        rows_.push_back(std::move(cells));
    }
    [[nodiscard]] bool empty() const noexcept { return rows_.size() == 1; }

    [[nodiscard]] std::string text() const {
        std::vector<std::size_t> widths(rows_.front().size(), 0);
        for (const auto& row : rows_) {
            for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], characters_of(row[i]));
        }
        std::string result;
        for (const auto& row : rows_) {
            std::string line;
            for (std::size_t i = 0; i < row.size(); ++i) {
                line += row[i];
                if (i + 1 < row.size()) line.append(widths[i] - characters_of(row[i]) + 2, ' ');
            }
            while (line.ends_with(' ')) line.pop_back();
            result += line + "\n";
        }
        return result;
    }

private:
    std::vector<std::vector<std::string>> rows_;
};

} // namespace vgpualloc::explaining
