#include "vgpuformats/kept_values.hpp"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace vgpuformats {
namespace {

TEST(kept_values, has_the_value_of_that_version_and_type) {
    kept_values values;
    EXPECT_EQ(values.find<int>("a", "1"), nullptr);
    values.keep<int>("a", "1", std::make_shared<const int>(7));
    ASSERT_NE(values.find<int>("a", "1"), nullptr);
    EXPECT_EQ(*values.find<int>("a", "1"), 7);
    EXPECT_EQ(values.find<int>("a", "2"), nullptr) << "the input has changed";
    EXPECT_EQ(values.find<std::string>("a", "1"), nullptr);
    values.keep<int>("a", "2", std::make_shared<const int>(8));
    EXPECT_EQ(values.find<int>("a", "1"), nullptr);
    EXPECT_EQ(*values.find<int>("a", "2"), 8);
}

TEST(kept_values, forgets_what_was_not_used_for_longest) {
    kept_values values;
    std::weak_ptr<const int> first;
    for (std::size_t i = 0; i <= kept_values::values_max; ++i) {
        auto value = std::make_shared<const int>(static_cast<int>(i));
        if (i == 0) first = value;
        values.keep<int>(std::to_string(i), "1", std::move(value));
    }
    EXPECT_EQ(values.find<int>("0", "1"), nullptr);
    EXPECT_TRUE(first.expired()) << "its memory is free";
    EXPECT_EQ(*values.find<int>("1", "1"), 1);
    values.keep<int>("more", "1", std::make_shared<const int>(9));
    EXPECT_EQ(values.find<int>("2", "1"), nullptr);
    EXPECT_NE(values.find<int>("1", "1"), nullptr) << "it was used since";
}

} // namespace
} // namespace vgpuformats
