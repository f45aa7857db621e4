// A list that copies share.
#include "vgpualloc/core/shared_list.hpp"

#include <numeric>

#include <gtest/gtest.h>

namespace vgpualloc {
namespace {

TEST(shared_list, copies_share_elements_until_one_changes) {
    shared_list<int> first;
    EXPECT_TRUE(first.empty());
    first.push_back(1);
    first.push_back(2);
    shared_list<int> second = first;
    EXPECT_EQ(second.data(), first.data());
    second.push_back(3);
    EXPECT_EQ(first.items(), (std::vector<int>{1, 2}));
    EXPECT_EQ(second.items(), (std::vector<int>{1, 2, 3}));
    first.own_items()[0] = 7;
    EXPECT_EQ(first.front(), 7);
    EXPECT_EQ(second.front(), 1);
    const int* const place = second.data();
    second.pop_back();
    EXPECT_EQ(second.data(), place) << "nobody else has it: it is not copied";
    EXPECT_EQ(second.back(), 2);
    EXPECT_EQ(std::accumulate(first.begin(), first.end(), 0), 9);
    EXPECT_EQ(second.size(), 2U);
    EXPECT_EQ(second[1], 2);
}

} // namespace
} // namespace vgpualloc
