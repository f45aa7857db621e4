// YAML texts: scalars as Kubernetes' tools read them, places, and texts made to hang or to exhaust memory.
#include "vgpuformats/yaml.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "vgpuformats/json.hpp"

namespace vgpuformats {
namespace {

using testing::HasSubstr;
using vgpualloc::error;
using vgpualloc::error_code;

/// The documents as JSON texts, one a line; or the message of the error.
std::string read(const std::string& text) {
    const auto documents = parse_documents(text, "f.yaml");
    if (!documents) return documents.error().message();
    std::string all;
    for (const document& value : *documents) all += (all.empty() ? "" : "\n") + print_json(value);
    return all;
}

error refusal_of(const std::string& text) {
    const auto documents = parse_documents(text, "f.yaml");
    EXPECT_FALSE(documents.has_value()) << text.substr(0, 60);
    return documents ? error{} : documents.error();
}

std::int64_t peak_memory_kib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/// Refuses the text within seconds and a bounded amount of memory.
error refused_cheaply(const std::string& text) {
    constexpr std::int64_t memory_kib_max = 1'500'000; // a sanitizer takes a few times what a plain build does
    constexpr std::chrono::seconds time_max{60};
    const auto begin = std::chrono::steady_clock::now();
    const std::int64_t memory = peak_memory_kib();
    error failure = refusal_of(text);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, time_max);
    EXPECT_LT(peak_memory_kib() - memory, memory_kib_max);
    return failure;
}

TEST(parse_yaml, scalars_are_told_apart) {
    EXPECT_EQ(read("[1, -2.5, yes, Off, ~, null, '5', \"no\", a b, 1.2.3, !!str 7, '']"),
              R"([1,-2.5,true,false,null,null,"5","no","a b","1.2.3","7",""])");
    EXPECT_EQ(read("- +3\n- .5\n- 5.\n- 0x10\n- 010\n- 1e3\n- 089\n- .\n- e3\n- 0x\n- 1e\n"),
              R"([3,0.5,5,16,8,1e3,89,".","e3","0x","1e"])");
    const auto documents = parse_yaml("a: yes\nb: 010\n", "f.yaml");
    EXPECT_EQ((*documents)[0].find("a")->text, "true");
    EXPECT_EQ((*documents)[0].find("b")->text, "010"); // as written
}

TEST(parse_yaml, lists_maps_and_several_documents) {
    EXPECT_EQ(read("# a comment\n---\na:\n- b: 1\n  c: [x, {d: e}]\n-\n---\n\n---\n{}\n...\n---\ntext\n"),
              "{\"a\":[{\"b\":1,\"c\":[\"x\",{\"d\":\"e\"}]},null]}\n{}\n\"text\"");
    EXPECT_EQ(read(""), "");
    EXPECT_EQ(read("a: |\n  one\n  two\nb: >-\n  x\n  y\n"), R"({"a":"one\ntwo\n","b":"x y"})");
}

TEST(parse_yaml, every_value_knows_line_and_column) {
    const auto documents = parse_yaml("a: 1\nb:\n  - x\n  - {c: y}\n---\nd: z\n", "f.yaml");
    ASSERT_TRUE(documents.has_value());
    const document& list = *(*documents)[0].find("b");
    EXPECT_EQ((*documents)[0].find("a")->place.line, 1);
    EXPECT_EQ((*documents)[0].find("a")->place.column, 4);
    EXPECT_EQ(list.items[0].place.line, 3);
    EXPECT_EQ(list.items[1].find("c")->place.line, 4);
    EXPECT_EQ(list.items[1].find("c")->place.column, 9);
    EXPECT_EQ((*documents)[1].place.line, 6);
}

TEST(parse_yaml, anchors_aliases_and_merges) {
    EXPECT_EQ(read("base: &b {a: 1, c: x}\nuse: {<<: *b, a: 2}\nlist: [*b, &s x, *s]\n"),
              R"({"base":{"a":1,"c":"x"},"use":{"a":2,"c":"x"},"list":[{"a":1,"c":"x"},"x","x"]})");
    EXPECT_EQ(read("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b], z: 3}\n"),
              R"({"a":{"x":1},"b":{"x":2,"y":2},"c":{"z":3,"x":1,"y":2}})");
    EXPECT_EQ(read("&k key: 1\nother: *k\n"), R"({"key":1,"other":"key"})");
    EXPECT_EQ(read("a: &k key\n*k : 1\n"), R"({"a":"key","key":1})");
    EXPECT_EQ(read("a: {'<<': 1}\n"), R"({"a":{"<<":1}})");
    EXPECT_EQ(refusal_of("a: {<<: 1}\n").message(), "f.yaml:1: got '<<', expected a map to merge");
    EXPECT_EQ(refusal_of("a: &a {x: 1}\nb: {<<: *a, <<: *a}\n").code, error_code::duplicate);
    EXPECT_EQ(refusal_of("a: &a [*a]\n").code, error_code::malformed);
    EXPECT_EQ(refusal_of("a: &a 1\n---\nb: *a\n").code, error_code::malformed); // anchors end with their document
}

TEST(parse_yaml, errors_name_file_and_line) {
    EXPECT_THAT(read("kind: Pod\n  bad: indent\n"), HasSubstr("f.yaml:2: YAML: "));
    EXPECT_EQ(read("a: 1\nb: 2\na: 3\n"), "f.yaml:3:1: a: the key is given twice");
    EXPECT_THAT(read("a: *nowhere\n"), HasSubstr("f.yaml:1: "));
    EXPECT_EQ(read("a: 1\nb: !ruby/object x\n"), "f.yaml:2: got '!ruby/object', expected no tags but !!str");
    for (const char* const key : {"? [a]\n: b\n", "? {a: b}\n: c\n", "~: 1\n", ": 1\n", "a: &l [1]\n*l : 2\n"}) {
        EXPECT_THAT(read(key), HasSubstr("a text for a key")) << key;
    }
}

TEST(parse_yaml, a_stray_comma_does_not_hang) {
    for (const std::string text : {",", "\n ,\n", "---\n, b", "a: 1\n---\n,", ", a: 1\nb: 2\n", "]", "}", "---\n]"}) {
        const error failure = refused_cheaply(text);
        EXPECT_EQ(failure.code, error_code::malformed) << text;
        EXPECT_THAT(failure.message(), HasSubstr("YAML: ")) << text;
    }
    EXPECT_EQ(refusal_of("a: 1\n---\n\n, b").where, "f.yaml:4");
}

TEST(parse_yaml, values_are_counted_while_they_come) {
    std::string flow = "a: [1";
    std::string block;
    while (flow.size() < 3 * yaml_values_max) flow += ",1";
    while (block.size() < 5 * yaml_values_max) block += "- 1\n";
    for (const std::string& text : {flow, flow + "]", block}) {
        const error failure = refused_cheaply(text);
        EXPECT_EQ(failure.code, error_code::out_of_range);
        EXPECT_THAT(failure.message(), HasSubstr("at most 2000000 values"));
    }
}

TEST(parse_yaml, aliases_count_as_what_they_stand_for) {
    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
        for (int j = 0; j < 9; ++j) bomb += ", " + before;
        bomb += "]\n";
    }
    EXPECT_THAT(refused_cheaply(bomb).message(), HasSubstr("at most 200000 values"));
    std::string texts = "text: &text " + std::string(1000, 'x') + "\nlist: [*text";
    for (int i = 0; i < 3000; ++i) texts += ", *text";
    EXPECT_THAT(refused_cheaply(texts + "]\n").message(), HasSubstr("at most 2097152 bytes"));
    std::string anchors = "a: ";
    for (int i = 0; i < 60; ++i) anchors += "&a" + std::to_string(i) + " [";
    while (anchors.size() < 200'000) anchors += "1, ";
    EXPECT_THAT(refused_cheaply(anchors + std::string(60, ']')).message(), HasSubstr("at most 200000 values"));
}

TEST(parse_yaml, what_the_parser_holds_at_once_is_limited) {
    // yaml-cpp holds a list that begins a document until its end, because it could be a key.
    std::string list = "[a";
    while (list.size() < 3 * yaml_stretch_bytes_max) list += ",1";
    const std::string comment = "# " + std::string(2 * yaml_stretch_bytes_max, 'x') + "\na: 1\n";
    const std::string scalar = "a: " + std::string(2 * yaml_stretch_bytes_max, 'x');
    for (const std::string& text : {list, list + "]", "---\n" + list, comment, scalar}) {
        const error failure = refused_cheaply(text);
        EXPECT_EQ(failure.code, error_code::out_of_range) << text.substr(0, 20);
        EXPECT_THAT(failure.message(), HasSubstr("at most 2 MiB of text")) << text.substr(0, 20);
    }
    EXPECT_TRUE(parse_yaml("a: " + std::string(yaml_stretch_bytes_max / 2, 'x'), "f.yaml").has_value());
}

TEST(parse_yaml, nesting_and_size_are_limited) {
    const auto nested = [](int depth) {
        const auto brackets = static_cast<std::size_t>(depth);
        return std::string(brackets, '[') + "x" + std::string(brackets, ']');
    };
    EXPECT_TRUE(parse_documents(nested(depth_max), "f.yaml").has_value());
    EXPECT_THAT(refusal_of(nested(depth_max + 1)).message(), HasSubstr("64 deep"));
    EXPECT_FALSE(refused_cheaply("a: " + std::string(100'000, '[')).message().empty());
    std::string deep;
    for (int i = 0; i < 2000; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
    EXPECT_THAT(refused_cheaply(deep).message(), HasSubstr("64 deep"));
    EXPECT_EQ(parse_yaml(std::string(document_bytes_max + 1, ' '), "f.yaml").error().code, error_code::out_of_range);
}

// Found by fuzzing: it was printed as a number that JSON does not have.
TEST(parse_yaml, a_number_that_no_double_holds_is_a_text) {
    EXPECT_EQ(read("[9e307, 1e-999, 99999e999, -1e400]"), R"([9e307,1e-999,"99999e999","-1e400"])");
}

// Found by fuzzing: two keys of other bytes were one when they were printed.
TEST(parse_yaml, a_text_that_is_not_utf8_is_refused_with_its_place) {
    const error failure = refusal_of("kind: Pod\nname: \xff\n");
    EXPECT_EQ(failure.message(), R"(f.yaml:2:7: got '\xff', expected a text in UTF-8)");
    EXPECT_EQ(refusal_of("--\xff: 1\n--\xfe: 2\n").where, "f.yaml:1:3");
    EXPECT_EQ(read("name: \u00fc\u20ac\n"), "{\"name\":\"\u00fc\u20ac\"}");
}

TEST(parse_documents, a_bracket_may_begin_json_or_yaml) {
    EXPECT_EQ(read("{apiVersion: v1, kind: Pod, metadata: {name: p}}"),
              R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}})");
    EXPECT_EQ(read("[a, b]\n---\nc: d\n"), "[\"a\",\"b\"]\n{\"c\":\"d\"}");
    EXPECT_EQ(read("{\"a\": 1}\n{\"b\": 2}\n"), "{\"a\":1}\n{\"b\":2}");
    EXPECT_EQ(read("{\"a\": \"\\/\"}"), R"({"a":"/"})"); // an escape that YAML 1.1 does not have
}

TEST(parse_documents, the_error_is_of_the_parser_that_came_further) {
    EXPECT_THAT(read("{\"a\": 1,\n\"b\": \"\\x\"}"), HasSubstr("f.yaml:2:"));
    EXPECT_THAT(read("{a: 1,\nb: 2,\nc: }: 3}"), HasSubstr("f.yaml:3: "));
    EXPECT_THAT(read("{\"a\": 1,\n\"a\": 2}"), HasSubstr("f.yaml:2:1: a: the key is given twice"));
    EXPECT_THAT(read("{\"a\": [1, 2"), HasSubstr("the text ends inside a list"));
}

} // namespace
TEST(yaml, what_is_printed_is_read_as_the_same) {
    for (
        const char* const json :
        {R"({"kind":"Pod","metadata":{"name":"yes","labels":{"on":"1","a b":"x: y","12":"# no","":"e"}},"list":[1,-2.5,null,true]})",
         R"([[1,[2,{"a":[]}]],{},[],{"b":{"c":{"d":"line\n\u0007"}}},"text",[{"x":[{"y":1,"z":[3]}]}]])", "3",
         R"("only")", "{}", "null", R"({"null":"null","True":"~","~":[{"-":"-"}]})"}) {
        const auto value = vgpuformats::parse_json(json, "j");
        ASSERT_TRUE(value) << json;
        const std::string text = vgpuformats::print_yaml(*value);
        const auto again = vgpuformats::parse_yaml(text, "y");
        ASSERT_TRUE(again) << text << again.error().message();
        if (value->is_null()) continue; // such a document is left out
        ASSERT_EQ(again->size(), 1U) << text;
        EXPECT_EQ(again->front(), *value) << text;
    }
    EXPECT_EQ(vgpuformats::print_yaml(vgpuformats::parse_json(R"({"a":[{"b":1,"c":"x"}]})", "j").value()),
              "a:\n- b: 1\n  c: \"x\"\n");
}

} // namespace vgpuformats
