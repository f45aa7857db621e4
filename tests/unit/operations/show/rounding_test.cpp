#include "vgpuops/show/rounding.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "vgpualloc/core/rng.hpp"

namespace {

namespace show = vgpuops::show;

std::int64_t sum_of(const auto& values) { return std::accumulate(values.begin(), values.end(), std::int64_t{0}); }

TEST(show_rounding, goes_to_the_nearest_step_and_up_from_a_half) {
    EXPECT_EQ(show::rounded(5750, 100), 5800);
    EXPECT_EQ(show::rounded(5749, 100), 5700);
}

TEST(show_rounding, keeps_the_sums_of_rows_and_columns) {
    vgpualloc::rng random{7};
    for (int table = 0; table < 2000; ++table) {
        std::vector<show::three_parts> rows;
        for (std::uint64_t r = 1 + random.below(12); r > 0; --r) {
            const auto whole = static_cast<std::int64_t>(1000 * (1 + random.below(8)));
            const auto used = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(whole) + 1));
            const auto free = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(whole - used) + 1));
            rows.push_back({used, free, whole - used - free});
        }
        const auto result = show::round_rows(rows, 100);
        ASSERT_EQ(result.rows.size(), rows.size());
        show::three_parts columns{};
        for (std::size_t r = 0; r < rows.size(); ++r) {
            ASSERT_EQ(sum_of(result.rows[r]), sum_of(rows[r]));
            for (std::size_t c = 0; c < columns.size(); ++c) {
                ASSERT_EQ(result.rows[r][c] % 100, 0);
                ASSERT_LT(std::abs(result.rows[r][c] - rows[r][c]), 100);
                columns[c] += result.rows[r][c];
            }
        }
        ASSERT_EQ(columns, result.total);
    }
}

} // namespace
