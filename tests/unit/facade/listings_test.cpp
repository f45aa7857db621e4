#include "vgpufacade/listings.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace {

using vgpufacade::listing_of;

bool lists(const char* what, const char* name) {
    const auto list = listing_of(what);
    return list && std::ranges::find(*list, name, &vgpufacade::listed_name::name) != list->end();
}

TEST(listings, have_the_names_of_each_kind) {
    EXPECT_TRUE(lists("policies", "fgd"));
    EXPECT_TRUE(lists("policies", "compat:volcano"));
    EXPECT_TRUE(lists("modes", "mig"));
    EXPECT_TRUE(lists("dialects", "volcano_vgpu"));
    EXPECT_TRUE(lists("disciplines", "easy"));
    EXPECT_TRUE(lists("reasons", "insufficient_cpu"));
    EXPECT_FALSE(lists("modes", "fgd"));
}

TEST(listings, say_what_there_is_to_list) {
    const auto refused = listing_of("policy");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("policies, modes"), std::string::npos);
}

} // namespace
