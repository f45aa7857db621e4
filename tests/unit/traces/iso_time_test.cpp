#include "vgputraces/iso_time.hpp"

#include <gtest/gtest.h>

namespace {

using vgpualloc::ticks;

TEST(iso_time, reads_what_kubernetes_writes) {
    EXPECT_EQ(vgputraces::iso_time("1970-01-02T00:00:01Z"), ticks{86'401'000'000});
    EXPECT_EQ(vgputraces::iso_time("1970-01-01T01:00:00+01:00"), ticks{0});
    EXPECT_EQ(vgputraces::iso_time("1970-01-02"), ticks{86'400'000'000});
}

TEST(iso_time, is_nothing_for_other_texts) {
    EXPECT_FALSE(vgputraces::iso_time(""));
    EXPECT_FALSE(vgputraces::iso_time("yesterday"));
    EXPECT_FALSE(vgputraces::iso_time("2026-02-30T00:00:00Z"));
}

} // namespace
