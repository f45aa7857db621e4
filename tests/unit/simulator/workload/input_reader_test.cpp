#include "vgpusim/workload/input_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using vgpusim::input_reader;

TEST(input_reader, records_what_it_has_read_where_that_is_wanted) {
    vgpuformats::memory_source source;
    source.add("a", "text");
    input_reader silent{source};
    ASSERT_TRUE(silent.read("a"));
    EXPECT_TRUE(silent.records().empty());
    input_reader from{source, vgpusim::records_kept::all};
    EXPECT_EQ(from.read_text("a",
                             [](std::string_view text, const std::string&) -> vgpualloc::expected<std::string> {
                                 return std::string{text};
                             })
                  .value(),
              "text");
    EXPECT_FALSE(from.read("b"));
    ASSERT_EQ(from.records().size(), 1U);
    EXPECT_EQ(from.records().front().path, "a");
}

TEST(input_reader, takes_columns_for_lists_alone) {
    vgpuformats::memory_source source;
    const vgpuformats::column_table table;
    source.add("pods", table);
    input_reader from{source};
    EXPECT_EQ(from.read("pods").error().code, vgpualloc::error_code::unsupported);
    const auto seen = from.read_list(
        "pods", [](const vgpuformats::list_content& list, const std::string&) -> vgpualloc::expected<bool> {
            return list.table != nullptr;
        });
    EXPECT_TRUE(seen.value());
}

TEST(input_reader, reads_nothing_once_it_is_to_stop) {
    vgpuformats::memory_source source;
    source.add("a", "text");
    const std::function<bool()> wanted = [] { return true; };
    input_reader from{source, vgpusim::records_kept::none, vgpualloc::stop_signal{wanted}};
    EXPECT_EQ(from.read("a").error().code, vgpualloc::error_code::stopped);
}

} // namespace
