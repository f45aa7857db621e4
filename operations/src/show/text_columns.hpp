// Columns of plain text with numbers to the right.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vgpuops/core_names.hpp"
#include "vgpuops/show/tables.hpp"

namespace vgpuops::show {

/// Rows of as many cells as there are headings, two spaces apart. Cells are shown as printable() does; UTF-8 counts by
/// characters. Where a row is longer than a line, the widest texts are broken between words and go on below themselves,
/// unless a cell of the table is a command to paste.
class text_columns {
public:
    using column = table_column;
    explicit text_columns(std::vector<column> columns);

    void add(std::vector<std::string> cells);
    [[nodiscard]] std::string text() const;

private:
    [[nodiscard]] std::string lines_of(const std::vector<std::string>& row,
                                       const std::vector<std::size_t>& widths) const;

    std::vector<column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace vgpuops::show
