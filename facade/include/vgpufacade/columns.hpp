// Results as columns that own their values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vgpufacade {

/// Texts of which many are alike: row i is dictionary[codes[i]].
struct coded_column {
    std::vector<std::int32_t> codes;
    std::vector<std::string> dictionary; ///< no two alike, in the order in which they first occur
};

/// Whole numbers, real numbers, truth (0 or 1 in a byte), or texts.
using column_values =
    std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<std::uint8_t>, coded_column>;

/// A column of a result. A real number that is not there is NaN, a text that is not there is empty.
struct column {
    std::string name;
    std::string unit; ///< "s", "milli-GPU", "MiB", "W", "%"; empty: a count, a ratio from 0 to 1, a truth or a text
    column_values values;

    [[nodiscard]] std::size_t size() const noexcept;
    /// The text of a row; the column has texts.
    [[nodiscard]] std::string_view text(std::size_t row) const;
};

/// Columns of equal length, none of one name.
struct table {
    std::vector<column> columns;

    [[nodiscard]] std::size_t rows() const noexcept { return columns.empty() ? 0 : columns.front().size(); }
    /// The column of that name; null: there is none.
    [[nodiscard]] const column* find(std::string_view name) const noexcept;
};

} // namespace vgpufacade
