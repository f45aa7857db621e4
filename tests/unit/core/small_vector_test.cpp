// small_vector in place and on the heap: every special member from every storage to every storage.
#include "vgpualloc/core/small_vector.hpp"

#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace vgpualloc {
namespace {

using small = small_vector<int, 2>;

small counting(int size) {
    small result;
    for (int i = 0; i < size; ++i) result.push_back(i * 10);
    return result;
}

void expect_counting(const small& items, int size) {
    ASSERT_EQ(items.size(), static_cast<std::size_t>(size));
    EXPECT_EQ(items.empty(), size == 0);
    for (int i = 0; i < size; ++i) EXPECT_EQ(items[static_cast<std::size_t>(i)], i * 10);
    EXPECT_EQ(std::accumulate(items.begin(), items.end(), 0), 5 * size * (size - 1));
}

class small_vector_sizes : public testing::TestWithParam<int> {}; // 2 is the last size in place

TEST_P(small_vector_sizes, copies_and_moves) {
    const int size = GetParam();
    small original = counting(size);
    expect_counting(original, size);
    const small copy{original};
    expect_counting(copy, size);
    EXPECT_EQ(copy, original);
    const small moved{std::move(original)};
    expect_counting(moved, size);
    EXPECT_TRUE(original.empty()); // NOLINT: a moved-from sequence is promised to be empty
    original.push_back(0);         // and usable
    expect_counting(original, 1);
}

TEST_P(small_vector_sizes, assigns_over_any_storage) {
    const int size = GetParam();
    for (const int old_size : {0, 1, 2, 3, 9}) {
        small target = counting(old_size);
        const small source = counting(size);
        target = source;
        expect_counting(target, size);
        expect_counting(source, size);
        small taken = counting(old_size);
        small giver = counting(size);
        taken = std::move(giver);
        expect_counting(taken, size);
        for (int i = size; i < 12; ++i) taken.push_back(i * 10);
        expect_counting(taken, 12);
    }
}

TEST_P(small_vector_sizes, assigning_itself_changes_nothing) {
    small items = counting(GetParam());
    small& same = items;
    items = same;
    expect_counting(items, GetParam());
}

INSTANTIATE_TEST_SUITE_P(all, small_vector_sizes, testing::Values(0, 1, 2, 3, 5, 9));

TEST(small_vector, pushing_an_own_element_while_growing_is_safe) {
    small items{7, 8};
    items.push_back(items[0]);
    EXPECT_EQ(items, (small{7, 8, 7}));
}

TEST(small_vector, takes_from_its_end_what_was_pushed_last) {
    small_vector<int, 2> numbers{1, 2, 3};
    EXPECT_EQ(numbers.back(), 3);
    numbers.pop_back();
    EXPECT_EQ(numbers, (small_vector<int, 2>{1, 2}));
    numbers.push_back(4);
    EXPECT_EQ(numbers.back(), 4);
}

TEST(small_vector, equality_compares_elements_not_storage) {
    small grown = counting(5);
    grown.clear();
    EXPECT_TRUE(grown.empty());
    grown.push_back(1);
    EXPECT_EQ(grown, small{1});
    EXPECT_NE(grown, small{2});
    EXPECT_NE(grown, (small{1, 1}));
    *grown.begin() = 2;
    EXPECT_EQ(grown, small{2});
}

} // namespace
} // namespace vgpualloc
