// A list that nearly always is empty.
#include "vgpualloc/core/rare_list.hpp"

#include <utility>

#include <gtest/gtest.h>

namespace vgpualloc {
namespace {

TEST(rare_list, is_a_value_in_the_room_of_a_pointer) {
    static_assert(sizeof(rare_list<int>) == sizeof(void*));
    rare_list<int> list;
    EXPECT_TRUE(list.empty() && list.begin() == list.end() && list == rare_list<int>({}));
    list.push_back(3);
    list.push_back(5);
    rare_list<int> copy = list;
    EXPECT_EQ(copy, (rare_list<int>{3, 5}));
    copy.push_back(7);
    EXPECT_EQ(list.size(), 2U) << "a copy is its own";
    EXPECT_NE(copy, list);
    EXPECT_NE(rare_list<int>{}, list);
    list = copy;
    EXPECT_EQ(list, copy);
    const rare_list<int> moved = std::move(copy);
    EXPECT_EQ(moved.size(), 3U);
    list = rare_list<int>{};
    EXPECT_TRUE(list.empty());
}

} // namespace
} // namespace vgpualloc
