#include "vgpualloc/explain/catalog.hpp"

#include <gtest/gtest.h>

#include "catalog_text/texts.hpp"

namespace {

using namespace vgpualloc;

TEST(catalog_file, is_read_as_it_was_written) {
    const auto more = catalog_texts::merge_text(
        built_in_catalog(),
        R"({"schema": "vgpualloc-catalog/1", "power": [{"key": "G2", "idle_w": 25, "busy_w": 250}]})", "f.json");
    ASSERT_TRUE(more.has_value()) << more.error().message();
    const auto again = catalog_texts::merge_text({}, explaining::catalog_file(*more), "again.json");
    ASSERT_TRUE(again.has_value()) << again.error().message();
    EXPECT_EQ(again->power.devices, more->power.devices);
}

} // namespace
