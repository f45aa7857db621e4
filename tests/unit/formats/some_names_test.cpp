#include "vgpuformats/some_names.hpp"

#include <gtest/gtest.h>

namespace {

using vgpuformats::some_of;

TEST(some_of, tells_the_first_twenty_and_how_many_more_there_are) {
    EXPECT_EQ(some_of(std::vector<std::string>{}), "none");
    EXPECT_EQ(some_of(std::vector<std::string>{"a", "b"}), "a, b");
    const std::vector<std::string> many(23, "n");
    EXPECT_TRUE(some_of(many).ends_with("n, n and 3 more"));
}

TEST(some_of, takes_things_that_have_names) {
    struct thing {
        std::string name;
    };
    EXPECT_EQ(some_of(std::vector<thing>{{"x"}, {"y"}}, &thing::name), "x, y");
}

TEST(shell_word, is_read_back_by_a_shell_as_it_was) {
    EXPECT_EQ(vgpuformats::shell_word("a100-1,pool=dev"), "a100-1,pool=dev");
    EXPECT_EQ(vgpuformats::shell_word("pool in (train,dev)"), "'pool in (train,dev)'");
    EXPECT_EQ(vgpuformats::shell_word("it's"), "'it'\\''s'");
    EXPECT_EQ(vgpuformats::shell_word(""), "''");
}

} // namespace
