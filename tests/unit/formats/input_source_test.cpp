#include "vgpuformats/input_source.hpp"

#include <string>

#include <gtest/gtest.h>

namespace {

TEST(memory_source, has_what_was_added) {
    vgpuformats::memory_source source;
    const std::string text = "a,b\n";
    source.add("folder/list.csv", text);
    const auto read = source.read("folder/list.csv", {.hashed = true});
    ASSERT_TRUE(read);
    EXPECT_EQ(read->text, text);
    EXPECT_EQ(read->name, "folder/list.csv");
    EXPECT_EQ(read->table, nullptr);
    EXPECT_TRUE(source.has("folder/list.csv"));
    EXPECT_FALSE(source.has("list.csv"));
    EXPECT_EQ(source.read("list.csv", {}).error().message(), "list.csv: missing; expected an input of that name");
    EXPECT_EQ(source.read("folder/list.csv", {.bytes_max = 2}).error().code, vgpualloc::error_code::out_of_range);
}

TEST(memory_source, finds_names_from_where_they_are_named) {
    vgpuformats::memory_source source;
    source.add("folder/list.csv", "");
    source.add("other.csv", "");
    EXPECT_EQ(source.resolve_from("folder/run.json", "list.csv"), "folder/list.csv");
    EXPECT_EQ(source.resolve_from("folder/run.json", "other.csv"), "other.csv");
    EXPECT_EQ(source.resolve_from("folder/run.json", ""), "");
    EXPECT_EQ(source.resolve("list.csv"), "list.csv");
}

TEST(memory_source, gives_columns_as_they_are) {
    vgpuformats::memory_source source;
    const vgpuformats::column_table table;
    source.add("pods", table);
    EXPECT_EQ(source.read("pods", {})->table, &table);
}

} // namespace
