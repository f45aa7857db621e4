// Quota of queues and of cohorts above them.
#include "vgpualloc/kube/quota_tree.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "vgpualloc/core/rng.hpp"

namespace quota_tree_test {
namespace {

using vgpualloc::kube::quota_limits;
using vgpualloc::kube::quota_tree;

const vgpualloc::kube::quota_name gpus{"f", "nvidia.com/gpu"};

quota_limits drawn_limits(vgpualloc::rng& random, bool has_parent) {
    const auto below = [&](std::uint64_t end) { return static_cast<std::int64_t>(random.below(end)); };
    quota_limits limits{.nominal = below(6)};
    if (has_parent && random.below(2) == 0) limits.borrowing = below(4);
    if (has_parent && random.below(2) == 0) limits.lending = below(6);
    return limits;
}

/// Four queues below two cohorts, which are below a third: what it all means, added up anew each time.
struct plain_tree {
    std::vector<quota_limits> limits = std::vector<quota_limits>(7);
    std::vector<std::int64_t> used = std::vector<std::int64_t>(4); // of the queues, which come last

    static std::vector<std::size_t> children_of(std::size_t member) {
        if (member > 2) return {};
        return {2 * member + 1, 2 * member + 2};
    }
    [[nodiscard]] std::int64_t all(std::size_t member) const { // NOLINT(misc-no-recursion)
        std::int64_t sum = limits[member].nominal;
        for (const std::size_t child : children_of(member)) sum += all(child) - kept(child);
        return sum;
    }
    [[nodiscard]] std::int64_t kept(std::size_t member) const { // NOLINT(misc-no-recursion)
        const auto& lending = limits[member].lending;
        return lending ? std::max<std::int64_t>(all(member) - *lending, 0) : 0;
    }
    [[nodiscard]] std::int64_t taken(std::size_t member) const { // NOLINT(misc-no-recursion)
        if (member > 2) return used[member - 3];
        std::int64_t sum = 0;
        for (const std::size_t child : children_of(member))
            sum += std::max<std::int64_t>(taken(child) - kept(child), 0);
        return sum;
    }
    /// Whether nobody borrows more than he may and there is.
    [[nodiscard]] bool is_allowed() const {
        for (std::size_t member = 0; member < limits.size(); ++member) {
            const auto& borrowing = limits[member].borrowing;
            if (member == 0 && taken(0) > all(0)) return false;
            if (member > 0 && borrowing && taken(member) > all(member) + *borrowing) return false;
        }
        return true;
    }
};

TEST(quota_tree, leaves_as_much_as_keeps_everybody_within_limits) {
    vgpualloc::rng random{5};
    int lent = 0;
    for (int i = 0; i < 500; ++i) {
        plain_tree plain;
        quota_tree tree;
        for (std::size_t member = 0; member < plain.limits.size(); ++member) {
            plain.limits[member] = drawn_limits(random, member > 0);
            ASSERT_EQ(tree.add({{gpus, plain.limits[member]}}), member);
            if (member == 0) continue;
            ASSERT_TRUE(tree.put_under(member, (member - 1) / 2));
        }
        tree.sum_up();
        for (int step = 0; step < 12; ++step) {
            const std::size_t queue = random.below(4);
            std::int64_t most = 0;
            for (plain_tree more = plain; ++more.used[queue], more.is_allowed();) ++most;
            ASSERT_EQ(tree.available(queue + 3, gpus), most) << "seed 5, tree " << i << ", step " << step;
            if (std::accumulate(plain.used.begin(), plain.used.end(), std::int64_t{0}) == 0) {
                EXPECT_EQ(tree.capacity(queue + 3, gpus), most);
            }
            if (most == 0) continue;
            const auto amount = 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most)));
            const bool is_own = plain.used[queue] + amount <= plain.limits[queue + 3].nominal;
            EXPECT_EQ(tree.borrowing_height(queue + 3, gpus, amount) == 0, is_own);
            tree.use(queue + 3, gpus, amount);
            plain.used[queue] += amount;
            lent += is_own ? 0 : 1;
        }
    }
    EXPECT_GT(lent, 500);
}

TEST(quota_tree, says_from_how_far_up_is_borrowed) {
    quota_tree tree;
    const std::size_t root = tree.add({{gpus, {.nominal = 4}}});
    const std::size_t cohort = tree.add({{gpus, {.nominal = 2}}});
    const std::size_t queue = tree.add({{gpus, {.nominal = 1}}});
    ASSERT_TRUE(tree.put_under(cohort, root) && tree.put_under(queue, cohort));
    EXPECT_FALSE(tree.put_under(root, queue)) << "it is above itself then";
    EXPECT_EQ(tree.root_of(queue), root);
    tree.sum_up();
    EXPECT_EQ(tree.borrowing_height(queue, gpus, 1), 0);
    EXPECT_EQ(tree.borrowing_height(queue, gpus, 3), 1);
    EXPECT_EQ(tree.borrowing_height(queue, gpus, 4), 2);
    EXPECT_EQ(tree.borrowing_height(queue, gpus, 99), 2);
    EXPECT_EQ(tree.available(queue, {"f", "cpu"}), 0) << "of which there is none";
}

} // namespace
} // namespace quota_tree_test
