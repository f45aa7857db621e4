#include "vgpusim/discipline/waiting_line.hpp"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "vgpualloc/core/rng.hpp"

namespace {

using vgpualloc::ticks;
using vgpusim::waiting_line;

TEST(waiting_line, finds_the_first_that_is_short_enough) {
    waiting_line line;
    EXPECT_TRUE(line.empty());
    EXPECT_EQ(line.first(), std::nullopt);
    line.add({.turn = 3, .job = 30}, ticks{5});
    line.add({.turn = 7, .job = 70}, ticks{2});
    line.add({.turn = 8, .job = 80}, ticks::max());
    EXPECT_EQ(line.first(), 0U);
    EXPECT_EQ(line.first(ticks{4}), 1U);
    EXPECT_EQ(line.first(ticks{1}), std::nullopt);
    EXPECT_EQ(line.first(ticks::max(), 2), 2U) << "a job that never ends waits too";
    line.remove(1);
    EXPECT_EQ(line.first(ticks{4}), std::nullopt);
    line.restore(7, ticks{2});
    EXPECT_EQ(line.at(*line.first(ticks{4})).job, 70U);
    EXPECT_EQ(line.size(), 3U);
}

TEST(waiting_line, agrees_with_looking_at_every_entry) {
    vgpualloc::rng random{7};
    waiting_line line;
    std::vector<std::optional<std::int64_t>> estimates; // by position; none: not waiting
    for (int step = 0; step < 4000; ++step) {
        const auto choice = random.below(4);
        const auto estimate = static_cast<std::int64_t>(random.below(50));
        if (choice < 2 || estimates.empty()) {
            line.add({.turn = estimates.size() + 1, .job = 0}, ticks{estimate});
            estimates.emplace_back(estimate);
        } else if (const auto position = random.below(estimates.size()); estimates[position]) {
            line.remove(position);
            estimates[position].reset();
        } else {
            line.restore(position + 1, ticks{estimate});
            estimates[position] = estimate;
        }
        const auto limit = static_cast<std::int64_t>(random.below(50));
        const auto from = random.below(estimates.size() + 1);
        std::optional<std::size_t> expected;
        for (std::size_t i = from; i < estimates.size() && !expected; ++i) {
            if (estimates[i] && *estimates[i] <= limit) expected = i;
        }
        ASSERT_EQ(line.first(ticks{limit}, from), expected) << step;
    }
}

} // namespace
