#include "vgpusim/engine/quota_book.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace {

using vgpusim::device_amounts;
using vgpusim::job_queue;
using vgpusim::quota_book;

TEST(quota_book, without_quotas_everything_is_admitted) {
    const std::vector<job_queue> queues{{.name = "a", .guaranteed = {}, .limit = {}}};
    const quota_book book{queues};
    EXPECT_FALSE(book.limits());
    EXPECT_TRUE(book.admits(0, {.devices = 1'000'000}));
}

TEST(quota_book, a_queue_borrows_what_others_leave_up_to_its_limit) {
    const std::vector<job_queue> queues{{.name = "a", .guaranteed = {.devices = 4}, .limit = {.devices = 6}},
                                        {.name = "b", .guaranteed = {.devices = 4}, .limit = {}}};
    quota_book book{queues};
    book.add(0, {.devices = 4});
    EXPECT_FALSE(book.borrows(0));
    EXPECT_TRUE(book.admits(0, {.devices = 2}));
    EXPECT_FALSE(book.admits(0, {.devices = 3})) << "its limit";
    book.add(1, {.devices = 3});
    EXPECT_TRUE(book.admits(0, {.devices = 1}));
    EXPECT_FALSE(book.admits(0, {.devices = 2})) << "the others use theirs";
    book.add(0, {.devices = 1});
    EXPECT_TRUE(book.borrows(0));
    EXPECT_TRUE(book.admits(1, {.devices = 1})) << "what is guaranteed is given although it is lent out";
    EXPECT_FALSE(book.admits(1, {.devices = 2})) << "more than that is not";
    book.remove(0, {.devices = 5});
    EXPECT_TRUE(book.admits(1, {.devices = 5}));
    EXPECT_FALSE(book.ever_admits(0, {.devices = 7}));
    EXPECT_TRUE(book.ever_admits(1, {.devices = 8}));
    EXPECT_FALSE(book.ever_admits(1, {.devices = 9}));
}

TEST(quota_book, every_dimension_counts_by_itself) {
    const std::vector<job_queue> queues{
        {.name = "a", .guaranteed = {.memory_mib = 1000}, .limit = {.cores_percent = 150}}};
    quota_book book{queues};
    EXPECT_TRUE(book.admits(0, {.devices = 99, .memory_mib = 1000, .cores_percent = 150}));
    EXPECT_FALSE(book.admits(0, {.devices = 1, .memory_mib = 1001}));
    EXPECT_FALSE(book.admits(0, {.devices = 1, .cores_percent = 151}));
    book.add(0, {.devices = 1, .memory_mib = 600});
    EXPECT_EQ(book.used(0), (device_amounts{.devices = 1, .memory_mib = 600}));
    EXPECT_FALSE(book.admits(0, {.devices = 1, .memory_mib = 401}));
}

} // namespace
