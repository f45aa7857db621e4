#include "vgpualloc/explain/part_words.hpp"

#include <gtest/gtest.h>

#include "vgpualloc/mode/all.hpp"

namespace {

using namespace vgpualloc;

device_spec hami_card() {
    return {.model = "A100", .memory = mib{40960}, .slots = 10, .mode = *find_mode("hami_core")};
}

TEST(part_words, says_what_a_slice_has_and_whether_its_compute_is_limited) {
    const auto limited = explaining::describe_part(hami_card(), slice{.memory = mib{3000}, .cores = core_percent{50}});
    EXPECT_EQ(limited.words, "slice 3000 MiB, 50 % of compute");
    const auto free = explaining::describe_part(hami_card(), slice{.memory = mib{3000}, .cores = core_percent{0}});
    EXPECT_EQ(free.words, "slice 3000 MiB, compute not limited");
    EXPECT_EQ(explaining::describe_part(hami_card(), slice{}).words, "neither memory nor compute limited") << "turns";
}

} // namespace
