// Strict access to documents: what is read, and which mistake is named, with its place and path.
#include "vgpuformats/cursor.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpuformats/json.hpp"

namespace vgpuformats {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using vgpualloc::error;
using vgpualloc::error_code;

constexpr number_range any_number{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
constexpr std::array<std::string_view, 2> words{"low", "high"};

/// A text and what reading it came to.
class cursor_of {
public:
    explicit cursor_of(const std::string& json, place_style style = place_style::name)
        : document_{parse_json(json, "f").value()}, style_{style} {}

    [[nodiscard]] cursor root() { return {document_, "f", failure_, style_}; }
    [[nodiscard]] std::string message() const { return failure_ ? failure_->message() : ""; }
    [[nodiscard]] error_code code() const { return failure_.value().code; }

private:
    document document_;
    std::optional<error> failure_;
    place_style style_;
};

/// What is wrong with member `a` of an object when it is read so.
std::string wrong(const std::string& value, const std::function<void(const cursor&)>& read) {
    cursor_of text{"{\"a\": " + value + "}"};
    read(text.root().at("a"));
    return text.message();
}

TEST(cursor, reads_values_of_every_kind) {
    cursor_of text{R"({"n": -5, "u": 18446744073709551615, "d": 0.25, "h": 1.85, "t": "x", "w": "high", "f": true,
                       "list": [1, 2], "map": {"b": "2", "a": "1"}, "texts": ["p", "q"], "none": null})"};
    const cursor root = text.root();
    EXPECT_EQ(root.at("n").integer({-5, 5}), -5);
    EXPECT_EQ(root.at("u").unsigned_integer(), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(root.at("d").real(0, 1), 0.25);
    EXPECT_EQ(root.at("n").real(-10, 1), -5.0);
    EXPECT_EQ(root.at("h").hundredths({0, 2}), 185);
    EXPECT_EQ(root.at("t").text(), "x");
    EXPECT_EQ(root.at("t").filled_text(), "x");
    EXPECT_EQ(root.at("w").one_of(words), 1U);
    EXPECT_TRUE(root.at("f").flag());
    ASSERT_EQ(root.at("list").items(2, 2).size(), 2U);
    EXPECT_EQ(root.at("list").items(1)[1].integer(any_number), 2);
    EXPECT_EQ(root.at("map").entries()[0].first, "b");
    EXPECT_EQ(root.maybe_integer("n", any_number), -5);
    EXPECT_EQ(root.maybe_hundredths("h", {0, 2}), 185);
    EXPECT_EQ(root.maybe_text("t"), "x");
    EXPECT_THAT(root.maybe_texts("texts"), ElementsAre("p", "q"));
    EXPECT_THAT(root.maybe_dictionary("map"), ElementsAre(Pair("a", "1"), Pair("b", "2")));
    EXPECT_TRUE(root.has("n"));
    EXPECT_EQ(text.message(), "");
}

TEST(cursor, what_is_absent_or_null_may_be_left_out) {
    cursor_of text{R"({"none": null})"};
    const cursor root = text.root();
    for (const char* const key : {"none", "absent"}) {
        EXPECT_FALSE(root.has(key));
        EXPECT_EQ(root.maybe_integer(key, any_number), std::nullopt);
        EXPECT_EQ(root.maybe_hundredths(key, any_number), std::nullopt);
        EXPECT_EQ(root.maybe_text(key), "");
        EXPECT_THAT(root.maybe_texts(key), IsEmpty());
        EXPECT_THAT(root.maybe_dictionary(key), IsEmpty());
    }
    EXPECT_EQ(text.message(), "");
    EXPECT_EQ(root.at("none").integer({1, 2}), 1);
    EXPECT_EQ(text.message(), "f: none: got 'null', expected a whole number from 1 to 2");
}

TEST(cursor, numbers_outside_their_range_are_refused) {
    const auto integer = [](const cursor& value) { EXPECT_EQ(value.integer({1, 9}), 1); };
    EXPECT_EQ(wrong("0", integer), "f: a: got '0', expected a whole number from 1 to 9");
    EXPECT_EQ(wrong("10", integer), "f: a: got '10', expected a whole number from 1 to 9");
    EXPECT_EQ(wrong("99999999999999999999", integer),
              "f: a: got '99999999999999999999', expected a whole number from 1 to 9");
    EXPECT_EQ(wrong("1.0", integer), "f: a: got '1.0', expected a whole number from 1 to 9");
    EXPECT_EQ(wrong("\"5\"", integer), "f: a: got '5', expected a whole number from 1 to 9");
    EXPECT_EQ(wrong("[5]", integer), "f: a: got 'a list', expected a whole number from 1 to 9");
    const auto positive = [](const cursor& value) { EXPECT_EQ(value.unsigned_integer(), 0U); };
    EXPECT_EQ(wrong("-1", positive), "f: a: got '-1', expected a whole number from 0 to 18446744073709551615");
    EXPECT_EQ(wrong("18446744073709551616", positive),
              "f: a: got '18446744073709551616', expected a whole number from 0 to 18446744073709551615");
    EXPECT_EQ(wrong("1.5", positive), "f: a: got '1.5', expected a whole number from 0 to 18446744073709551615");
    const auto real = [](const cursor& value) { EXPECT_EQ(value.real(0.5, 2), 0.5); };
    EXPECT_EQ(wrong("0.25", real), "f: a: got '0.25', expected a number from 0.5 to 2.0");
    EXPECT_EQ(wrong("3", real), "f: a: got '3', expected a number from 0.5 to 2.0");
    EXPECT_EQ(wrong("true", real), "f: a: got 'true', expected a number from 0.5 to 2.0");
    const auto hundredths = [](const cursor& value) { static_cast<void>(value.hundredths({0, 2})); };
    EXPECT_EQ(wrong("1.855", hundredths), "f: a: got '1.855', expected a number from 0 to 2 with at most two decimals");
    EXPECT_EQ(wrong("2.01", hundredths), "f: a: got '2.01', expected a number from 0 to 2 with at most two decimals");
    EXPECT_EQ(wrong("\"1\"", hundredths), "f: a: got '1', expected a number from 0 to 2 with at most two decimals");
}

TEST(cursor, texts_and_flags_are_checked) {
    const auto text = [](const cursor& value) { static_cast<void>(value.text()); };
    EXPECT_EQ(wrong("1", text), "f: a: got '1', expected a text");
    EXPECT_EQ(wrong(R"("a\u001b")", text), R"(f: a: got 'a\x1b', expected a text without control characters)");
    EXPECT_EQ(wrong(R"("a\n")", [](const cursor& value) { EXPECT_EQ(value.any_text(), "a\n"); }), "");
    EXPECT_EQ(wrong("\"\"", [](const cursor& value) { static_cast<void>(value.filled_text()); }),
              "f: a: a text that is not empty");
    EXPECT_EQ(wrong("\"none\"", [](const cursor& value) { EXPECT_EQ(value.one_of(words), 0U); }),
              "f: a: got 'none', expected one of low, high");
    EXPECT_EQ(wrong("1", [](const cursor& value) { EXPECT_FALSE(value.flag()); }),
              "f: a: got '1', expected true or false");
    EXPECT_EQ(wrong("\"" + std::string(100, 'x') + "\"", [](const cursor& value) { EXPECT_FALSE(value.flag()); }),
              "f: a: got '" + std::string(60, 'x') + "...', expected true or false");
}

TEST(cursor, lists_and_maps_are_checked) {
    const auto some = [](const cursor& value) { static_cast<void>(value.items(1)); };
    EXPECT_EQ(wrong("{}", some), "f: a: got 'an object', expected a list");
    EXPECT_EQ(wrong("[]", some), "f: a: got 'a list', expected at least 1 entry");
    const auto pair = [](const cursor& value) { EXPECT_THAT(value.items(2, 2), IsEmpty()); };
    EXPECT_EQ(wrong("[1]", pair), "f: a: got 'a list', expected 2 entries, there are 1");
    EXPECT_EQ(wrong("[1,2,3]", pair), "f: a: got 'a list', expected 2 entries, there are 3");
    EXPECT_EQ(wrong("[]", [](const cursor& value) { static_cast<void>(value.items(1, 3)); }),
              "f: a: got 'a list', expected from 1 to 3 entries, there are 0");
    EXPECT_EQ(wrong("[]", [](const cursor& value) { value.only({"b"}); }), "f: a: got 'a list', expected an object");
    EXPECT_EQ(wrong("3", [](const cursor& value) { static_cast<void>(value.entries()); }),
              "f: a: got '3', expected an object");
    EXPECT_EQ(wrong("3", [](const cursor& value) { static_cast<void>(value.at("b")); }),
              "f: a: got '3', expected an object");
    EXPECT_EQ(wrong(R"({"b": 1, "c": 2})", [](const cursor& value) { value.only({"b", "d"}); }),
              "f: a.c: unknown key, the keys here are b, d");
    EXPECT_EQ(wrong("{}", [](const cursor& value) { static_cast<void>(value.at("b").integer(any_number)); }),
              "f: a.b: missing; expected this key");
    EXPECT_EQ(wrong(R"({"t": ["x", "x"]})", [](const cursor& value) { static_cast<void>(value.maybe_texts("t")); }),
              "f: a.t[1]: got 'x', expected every text once");
}

TEST(cursor, the_first_failure_wins_and_the_rest_is_harmless) {
    cursor_of text{R"({"a": "x", "b": {"c": [1]}})"};
    const cursor root = text.root();
    EXPECT_EQ(root.at("a").integer({7, 9}), 7);
    EXPECT_TRUE(root.failed());
    EXPECT_FALSE(root.has("b"));
    EXPECT_EQ(root.at("zzz").at("y").text(), "");
    EXPECT_THAT(root.at("b").at("c").items(5), IsEmpty());
    EXPECT_FALSE(root.at("b").flag());
    root.fail(error_code::missing, "something else");
    root.fail_key(error_code::missing, "b", "something else");
    EXPECT_EQ(text.message(), "f: a: got 'x', expected a whole number from 7 to 9");
    EXPECT_EQ(text.code(), error_code::malformed);
}

TEST(cursor, places_name_lines_where_that_is_wished) {
    cursor_of text{"{\n \"a\": [\n  {\"b\": 1},\n  {\"b\": 2}]}", place_style::line};
    const cursor second = text.root().at("a").items(0)[1];
    EXPECT_EQ(second.at("b").problem(error_code::mismatch, "3").message(), "f:4: a[1].b: got '2', expected 3");
    EXPECT_EQ(text.message(), "");
    static_cast<void>(second.at("c"));
    EXPECT_EQ(text.message(), "f:4: a[1].c: missing; expected this key");
}

TEST(cursor, a_label_becomes_part_of_the_place_and_paths_begin_anew) {
    cursor_of text{R"({"list": [{"name": "x", "inner": {"n": 1}}]})"};
    const cursor entry = text.root().at("list").items(1)[0].called("entry 'x'");
    EXPECT_EQ(entry.problem(error_code::mismatch, "a list").message(),
              "f: entry 'x': got 'an object', expected a list");
    entry.at("inner").at("n").fail(error_code::mismatch, "2");
    EXPECT_EQ(text.message(), "f: entry 'x': inner.n: got '1', expected 2");
}

} // namespace
} // namespace vgpuformats
