// Nothing that comes from an input can steer a terminal.
#include "vgpualloc/core/printable.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "vgpualloc/core/error.hpp"

namespace {

using vgpualloc::beginning_of;
using vgpualloc::printable;

// Escape sequences of names painted the terminal, and line ends faked lines.
TEST(printable, shows_controls_as_escapes) {
    EXPECT_EQ(printable("\x1b[31mred"), "\\x1b[31mred");
    EXPECT_EQ(printable("a\nb\r\tc"), "a\\x0ab\\x0d\\x09c");
    EXPECT_EQ(printable(std::string_view{"nul\0.", 5}), "nul\\x00.");
    EXPECT_EQ(printable("\x7f"), "\\x7f");
}

TEST(printable, shows_what_is_not_seen_as_escapes) {
    EXPECT_EQ(printable("\xC2\x80 \xC2\x9B[2J \xC2\x9F \xC2\xA0"), "\\u0080 \\u009b[2J \\u009f \xC2\xA0"); // C1
    EXPECT_EQ(printable("\xE2\x80\xAA|\xE2\x80\xAE|\xE2\x81\xA6|\xE2\x81\xA9"), "\\u202a|\\u202e|\\u2066|\\u2069");
    EXPECT_EQ(printable("\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\x8B\xEF\xBB\xBF"), "\\u2028\\u2029\\u200b\\ufeff");
    EXPECT_EQ(printable("\xE2\x80\xA7\xE2\x80\xAF"), "\xE2\x80\xA7\xE2\x80\xAF"); // their neighbours are text
}

TEST(printable, shows_bytes_that_are_no_utf8) {
    EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
    EXPECT_EQ(printable("\x9b[31m"), "\\x9b[31m");  // C1 as a byte of Latin-1
    EXPECT_EQ(printable("\xC0\x9B"), "\\xc0\\x9b"); // overlong
    EXPECT_EQ(printable("\xE0\x82\x9B"), "\\xe0\\x82\\x9b");
    EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80"); // a surrogate
    EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
    EXPECT_EQ(printable("a\xE2\x82"), "a\\xe2\\x82"); // cut off
    EXPECT_EQ(printable("\xE2\x82z"), "\\xe2\\x82z");
}

TEST(printable, leaves_text_as_it_is) {
    const std::string text = "GPU-1 \\x1b größer 昇腾 \xF0\x9F\x98\x80 \xEE\x80\x80";
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable(printable("\x1b\xff\xE2\x80\xAE")), printable("\x1b\xff\xE2\x80\xAE"));
    EXPECT_EQ(printable(""), "");
}

TEST(printable, cuts_between_characters) {
    EXPECT_EQ(beginning_of("abc", 3), "abc");
    EXPECT_EQ(beginning_of("abc", 2), "ab");
    EXPECT_EQ(beginning_of("a\xE2\x82\xAC\xE2\x82\xAC", 5), "a\xE2\x82\xAC");
    EXPECT_EQ(beginning_of("a\xE2\x82\xAC\xE2\x82\xAC", 4), "a\xE2\x82\xAC");
    EXPECT_EQ(beginning_of("\xF0\x9F\x98\x80", 3), "");
}

TEST(printable, is_how_errors_quote_their_input) {
    const vgpualloc::error failure{vgpualloc::error_code::malformed, "a\x1b[0m.csv", "na\nme", "\xE2\x80\xAE\xff", "b"};
    EXPECT_EQ(failure.message(), "a\\x1b[0m.csv: na\\x0ame: got '\\u202e\\xff', expected b");
    const std::string euros = [] {
        std::string text = "x";
        for (int i = 0; i < 100; ++i) text += "\xE2\x82\xAC";
        return text;
    }();
    const vgpualloc::error lengthy{vgpualloc::error_code::malformed, "", "", euros, "b"};
    EXPECT_EQ(lengthy.message(), "got '" + euros.substr(0, 199) + "…', expected b");
}

} // namespace
