// Which of many things goes first: those that were listed longest ago and not used since.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "alloc/use_list.hpp"

namespace vgpualloc {
namespace {

struct item : use_links<item> {
    char name = '?';
};

/// Items a, b, c and so on, listed one after the other at the times 1, 2, 3 and so on.
class use_list_test : public testing::Test {
protected:
    use_list_test() {
        for (std::size_t i = 0; i < items.size(); ++i) {
            items[i].name = static_cast<char>('a' + i);
            list.link(items[i], i + 1);
        }
    }
    /// The names in the order in which they go.
    std::string drain(std::uint64_t now) {
        std::string order;
        for (item* next = list.victim(now); next != nullptr; next = list.victim(now)) {
            order += next->name;
            list.unlink(*next);
        }
        return order;
    }

    std::array<item, 4> items;
    use_list<item> list;
};

TEST_F(use_list_test, what_was_listed_first_goes_first) {
    EXPECT_EQ(list.size(), 4U);
    EXPECT_EQ(drain(10), "abcd");
    EXPECT_EQ(list.size(), 0U);
    EXPECT_EQ(list.victim(10), nullptr);
}

TEST_F(use_list_test, what_was_used_since_it_was_listed_has_a_second_chance) {
    items[0].last_use = 7;
    items[2].last_use = 6;
    EXPECT_EQ(drain(10), "bdac") << "in the order of their turns, not of their uses";
}

TEST_F(use_list_test, a_second_chance_is_given_once_per_use) {
    items[0].last_use = 7;
    EXPECT_EQ(list.victim(10)->name, 'b');
    items[1].last_use = 8;
    items[2].last_use = 8;
    items[3].last_use = 8;
    EXPECT_EQ(list.victim(10)->name, 'a') << "not used since it was listed anew";
    items[0].last_use = 9;
    EXPECT_EQ(list.victim(10)->name, 'b');
}

TEST_F(use_list_test, what_is_in_use_now_stays) {
    items[0].last_use = 10;
    items[1].last_use = 10;
    items[3].last_use = 10;
    EXPECT_EQ(drain(10), "c");
    EXPECT_EQ(list.size(), 3U);
    EXPECT_EQ(list.victim(10), nullptr) << "all are";
    EXPECT_EQ(drain(11).size(), 3U) << "none was used since";
}

TEST_F(use_list_test, any_item_can_be_taken_out) {
    for (const std::size_t middle : {1U, 0U, 3U}) list.unlink(items[middle]);
    EXPECT_EQ(list.size(), 1U);
    list.link(items[0], 20);
    EXPECT_EQ(drain(30), "ca");
    list.link(items[3], 40);
    EXPECT_EQ(drain(50), "d");
}

TEST(use_list, of_many_things_those_in_use_survive) {
    std::vector<item> items(100);
    use_list<item> list;
    for (item& listed : items) list.link(listed, 0);
    for (std::uint64_t now = 1; now <= 1000; ++now) {
        items[0].last_use = now;
        items[static_cast<std::size_t>(1 + now % 9)].last_use = now;
        item* const victim = list.victim(now);
        ASSERT_NE(victim, nullptr);
        EXPECT_NE(victim, items.data());
        list.unlink(*victim);
        list.link(*victim, now);
    }
    EXPECT_EQ(list.size(), 100U);
}

} // namespace
} // namespace vgpualloc
