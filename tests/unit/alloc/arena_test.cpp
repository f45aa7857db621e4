#include "alloc/arena.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace vgpualloc {
namespace {

using small_arena = arena<std::uint64_t, 4>;

TEST(arena, what_is_given_out_stays_where_it_is) {
    small_arena numbers;
    std::vector<std::uint64_t*> rooms;
    for (std::uint64_t i = 0; i < 50; ++i) {
        rooms.push_back(numbers.room_for(1 + i % 3));
        for (std::uint64_t place = 0; place < 1 + i % 3; ++place) rooms.back()[place] = 10 * i + place;
    }
    for (std::uint64_t i = 0; i < 50; ++i) {
        for (std::uint64_t place = 0; place < 1 + i % 3; ++place) EXPECT_EQ(rooms[i][place], 10 * i + place);
    }
}

TEST(arena, after_a_rewind_the_same_room_is_given_out) {
    small_arena numbers;
    const auto fill = [&] {
        std::vector<std::uint64_t*> rooms;
        for (const std::size_t count : {3U, 3U, 1U, 9U, 2U}) rooms.push_back(numbers.room_for(count));
        return rooms;
    };
    const auto rooms = fill();
    for (int round = 0; round < 3; ++round) {
        numbers.rewind();
        EXPECT_EQ(fill(), rooms);
    }
}

TEST(arena, more_than_a_block_is_given_out_in_one_piece) {
    small_arena numbers;
    std::uint64_t* const room = numbers.room_for(100);
    for (std::uint64_t i = 0; i < 100; ++i) room[i] = i;
    EXPECT_NE(numbers.room_for(1), nullptr);
    EXPECT_EQ(room[99], 99U);
}

} // namespace
} // namespace vgpualloc
