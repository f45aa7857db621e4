// What is a character of UTF-8, and what is none.
#include "vgpualloc/core/utf8.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace {

using vgpualloc::first_character;
using vgpualloc::first_not_utf8;

TEST(utf8, characters_have_one_to_four_bytes) {
    EXPECT_EQ(first_character("a\x80").code, 0x61U);
    EXPECT_EQ(first_character("\xC3\xBC|").code, 0xFCU);
    EXPECT_EQ(first_character("\xE2\x82\xAC|").code, 0x20ACU);
    EXPECT_EQ(first_character("\xF0\x9F\x98\x80|").code, 0x1F600U);
    EXPECT_EQ(first_character("\xF0\x9F\x98\x80|").length, 4U);
}

TEST(utf8, overlong_forms_surrogates_and_parts_are_none) {
    for (const std::string_view text :
         {"\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80", "\xFF"}) {
        EXPECT_EQ(first_character(text).length, 0U) << testing::PrintToString(std::string{text});
    }
}

TEST(utf8, the_first_byte_that_is_none_is_named) {
    EXPECT_EQ(first_not_utf8(""), std::string_view::npos);
    EXPECT_EQ(first_not_utf8("a\xC3\xBC\xE2\x82\xAC"), std::string_view::npos);
    EXPECT_EQ(first_not_utf8("a\xC3\xBC\xE2\x82"), 3U);
    EXPECT_EQ(first_not_utf8("\xFF"), 0U);
}

} // namespace
