#include "vgpusim/study/parallel.hpp"

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace {

using vgpualloc::expected;
using vgpusim::for_each_parallel;

vgpualloc::error failure_of(std::size_t piece) {
    return {.code = vgpualloc::error_code::malformed,
            .where = "",
            .field = "piece",
            .value = std::to_string(piece),
            .expected = "none"};
}

TEST(parallel, does_every_piece_once_whatever_the_number_of_threads) {
    for (const std::size_t jobs : {0U, 1U, 2U, 7U, 5000U}) {
        std::vector<int> calls(1000, 0);
        std::size_t told = 0;
        const auto done = for_each_parallel(
            calls.size(), jobs,
            [&](std::size_t piece) -> expected<void> {
                ++calls[piece];
                return {};
            },
            [&](std::size_t count) { EXPECT_EQ(count, ++told); });
        EXPECT_TRUE(done);
        EXPECT_EQ(calls, std::vector<int>(1000, 1)) << jobs;
        EXPECT_EQ(told, calls.size());
    }
    EXPECT_TRUE(for_each_parallel(
        0, 4, [](std::size_t piece) -> expected<void> { return vgpualloc::unexpected(failure_of(piece)); }));
}

TEST(parallel, returns_the_failure_of_the_smallest_number) {
    for (const std::size_t jobs : {1U, 2U, 8U}) {
        for (int repetition = 0; repetition < 50; ++repetition) {
            std::atomic<std::size_t> started{0};
            const auto done = for_each_parallel(200, jobs, [&](std::size_t piece) -> expected<void> {
                ++started;
                if (piece >= 20) return vgpualloc::unexpected(failure_of(piece));
                return {};
            });
            ASSERT_FALSE(done);
            EXPECT_EQ(done.error().value, "20");
            EXPECT_LE(started.load(), 20 + jobs);
        }
    }
}

TEST(parallel, an_exception_comes_out_where_it_was_called) {
    EXPECT_THROW(static_cast<void>(for_each_parallel(10, 4,
                                                     [](std::size_t piece) -> expected<void> {
                                                         if (piece == 3) throw std::runtime_error{"no memory"};
                                                         return {};
                                                     })),
                 std::runtime_error);
}

TEST(parallel, a_shared_value_is_made_once_and_dropped_after_its_last_use) {
    constexpr std::size_t uses = 64;
    vgpusim::shared_while_used<std::vector<int>> shared{uses};
    std::atomic<int> makings{0};
    EXPECT_TRUE(for_each_parallel(uses, 4, [&](std::size_t) -> expected<void> {
        const auto& value = shared.get([&] {
            ++makings;
            return std::vector<int>(100, 7);
        });
        EXPECT_EQ(value.size(), 100U);
        shared.done();
        return {};
    }));
    EXPECT_EQ(makings, 1);
    EXPECT_FALSE(shared.holds_value());
}

} // namespace
