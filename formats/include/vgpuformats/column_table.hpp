// A list as named columns that somebody else owns: what the rows of a CSV would say, without a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "vgpualloc/core/expected.hpp"

namespace vgpuformats {

/// Texts of which many are alike: row i is dictionary[codes[i]].
struct coded_texts {
    std::span<const std::int32_t> codes;
    std::span<const std::string_view> dictionary;
};

/// Texts one after the other: row i is the bytes from offsets[i] up to offsets[i + 1], so there is one offset more than
/// rows.
struct joined_texts {
    std::span<const std::int64_t> offsets;
    std::string_view bytes;
};

/// Whole numbers, real numbers, truth (0 or 1 in a byte), or texts.
using column_cells = std::variant<std::span<const std::int64_t>, std::span<const double>, std::span<const std::uint8_t>,
                                  coded_texts, joined_texts>;

/// One column. A cell is empty where `valid` has a 0, and where a real number is NaN.
struct column_view {
    std::string_view name;
    column_cells cells;
    std::span<const std::uint8_t> valid{}; ///< one per row; empty: all cells are filled

    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] bool is_empty(std::size_t row) const noexcept;
    /// The whole number of a row, of a column of whole numbers or of truth; null for other columns.
    [[nodiscard]] const std::int64_t* whole(std::size_t row) const noexcept {
        const auto* const numbers = std::get_if<std::span<const std::int64_t>>(&cells);
        return numbers == nullptr || is_empty(row) ? nullptr : &(*numbers)[row];
    }
    /// The cell as a CSV has it; of numbers it is written into `scratch`.
    [[nodiscard]] std::string_view text(std::size_t row, std::string& scratch) const;
};

/// Columns of equal length, whose memory belongs to the caller.
struct column_table {
    std::vector<column_view> columns;

    [[nodiscard]] std::size_t rows() const noexcept { return columns.empty() ? 0 : columns.front().size(); }
};

/// Refuses what no list can be. Errors, which call the table `name`: no column or no name of one (missing), a name
/// twice (duplicate), another number of rows than the first column's, or of `valid` (mismatch), a code or an offset
/// beyond its texts (out_of_range).
[[nodiscard]] vgpualloc::expected<void> check_table(const column_table& table, const std::string& name);

/// A SHA-256 of names and cells, which passes check_table(). The order of the columns makes no difference, nor does
/// whether numbers are whole or real where a CSV would say the same.
[[nodiscard]] std::string sha256_of_table(const column_table& table);

} // namespace vgpuformats
