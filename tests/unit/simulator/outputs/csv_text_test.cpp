#include "vgpusim/outputs/csv_text.hpp"

#include <gtest/gtest.h>

namespace {

TEST(csv_text, is_in_quotes_only_where_it_would_be_more_than_one_cell) {
    EXPECT_EQ(vgpusim::csv_text("weighted:fgd=1"), "weighted:fgd=1");
    EXPECT_EQ(vgpusim::csv_text("a,b"), "\"a,b\"");
    EXPECT_EQ(vgpusim::csv_text("a \"b\""), "\"a \"\"b\"\"\"");
    EXPECT_EQ(vgpusim::csv_text("a\nb"), "\"a\nb\"");
    EXPECT_EQ(vgpusim::csv_text(""), "");
}

} // namespace
