// Rounding that keeps sums.
#include "vgpuops/show/rounding.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/metrics/round_to_total.hpp"

namespace vgpuops::show {

std::int64_t rounded(std::int64_t value, std::int64_t step) { return (value + step / 2) / step * step; }

namespace {

constexpr std::size_t column_count = std::tuple_size_v<three_parts>;

std::int64_t sum_of(const three_parts& parts) { return std::accumulate(parts.begin(), parts.end(), std::int64_t{0}); }

/// Chooses the cells that are rounded up: as many in a row as its sum needs, as many in a column as its total needs.
/// Such a choice exists whatever column totals were chosen next to the exact sums: the exact remainders are a mean of
/// choices, and three columns whose fractions add up to a whole number need every one of them.
class cell_chooser {
public:
    cell_chooser(std::span<const three_parts> rows, const three_parts& total, std::int64_t step)
        : rows_{rows}, step_{step}, ups_(rows.size()) {
        for (std::size_t c = 0; c < column_count; ++c) {
            std::int64_t down = 0;
            for (const three_parts& row : rows) down += row[c] / step * step;
            left_[c] = (total[c] - down) / step;
        }
    }

    void choose() {
        for (std::size_t r = 0; r < rows_.size(); ++r) {
            std::int64_t remainders = 0;
            for (const std::int64_t cell : rows_[r]) remainders += cell % step_;
            for (std::int64_t needed = remainders / step_; needed > 0; --needed) {
                if (!take_free_column(r)) take_by_exchange(r);
            }
        }
    }
    [[nodiscard]] bool is_up(std::size_t row, std::size_t column) const { return ups_[row][column]; }

private:
    [[nodiscard]] bool may_round_up(std::size_t row, std::size_t column) const {
        return !ups_[row][column] && rows_[row][column] % step_ > 0;
    }

    /// The column with the largest remainder that still needs one.
    bool take_free_column(std::size_t row) {
        std::optional<std::size_t> best;
        for (std::size_t c = 0; c < column_count; ++c) {
            if (left_[c] == 0 || !may_round_up(row, c)) continue;
            if (!best || rows_[row][c] % step_ > rows_[row][*best] % step_) best = c;
        }
        if (!best) return false;
        ups_[row][*best] = true;
        --left_[*best];
        return true;
    }

    /// All columns that the row could use are full: a row before it goes over to another one, perhaps after a third.
    void take_by_exchange(std::size_t row) {
        struct step_back {
            std::size_t row;
            std::size_t from;
        };
        std::array<std::optional<step_back>, column_count> reached; // how each column is reached
        std::vector<std::size_t> open;
        for (std::size_t c = 0; c < column_count; ++c) {
            if (!may_round_up(row, c)) continue;
            reached[c] = step_back{.row = row, .from = c};
            open.push_back(c);
        }
        for (std::size_t i = 0; i < open.size(); ++i) {
            const std::size_t full = open[i];
            for (std::size_t r = 0; r < row; ++r) {
                if (!ups_[r][full]) continue;
                for (std::size_t c = 0; c < column_count; ++c) {
                    if (reached[c] || !may_round_up(r, c)) continue;
                    reached[c] = step_back{.row = r, .from = full};
                    open.push_back(c);
                }
            }
        }
        const auto end = std::ranges::find_if(open, [this](std::size_t c) { return left_[c] > 0; });
        VGA_ASSERT(end != open.end(), "a table of three columns can be rounded so that its sums hold");
        --left_[*end];
        for (std::size_t c = *end;;) {
            const step_back by = *reached[c];
            ups_[by.row][c] = true;
            if (by.row == row) return;
            ups_[by.row][by.from] = false;
            c = by.from;
        }
    }

    std::span<const three_parts> rows_;
    std::int64_t step_;
    std::vector<std::array<bool, column_count>> ups_;
    std::array<std::int64_t, column_count> left_{};
};

} // namespace

rounded_rows round_rows(std::span<const three_parts> rows, std::int64_t step) {
    three_parts sums{};
    for (const three_parts& row : rows) {
        VGA_ASSERT(sum_of(row) % step == 0, "a row adds up to a multiple of the step");
        for (std::size_t c = 0; c < column_count; ++c) sums[c] += row[c];
    }
    rounded_rows result;
    vgpualloc::round_to_total(std::span<const std::int64_t>{sums}, step, sum_of(sums), result.total);
    cell_chooser chooser{rows, result.total, step};
    chooser.choose();
    for (std::size_t r = 0; r < rows.size(); ++r) {
        three_parts& row = result.rows.emplace_back();
        for (std::size_t c = 0; c < column_count; ++c) {
            row[c] = rows[r][c] / step * step + (chooser.is_up(r, c) ? step : 0);
        }
    }
    return result;
}

} // namespace vgpuops::show
