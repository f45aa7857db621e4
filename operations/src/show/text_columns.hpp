// Columns of plain text with numbers to the right.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vgpuops/core_names.hpp"

namespace vgpuops::show {

/// Rows of as many cells as there are headings, two spaces apart. Cells are shown as printable() does; UTF-8 counts by
/// characters.
class text_columns {
public:
    struct column {
        std::string heading;
        bool is_number = false; ///< to the right
        bool is_amount = false; ///< as wide as the other amounts of the table, so that they can be compared
    };
    explicit text_columns(std::vector<column> columns);

    void add(std::vector<std::string> cells);
    [[nodiscard]] std::string text() const;

private:
    std::vector<column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace vgpuops::show
