#include "vgpusim/workload/requested.hpp"

#include <string_view>

#include <gtest/gtest.h>

#include "../../support.hpp"

namespace {

using vgpualloc::device_kinds;
using vgpualloc::mib;
using vgpualloc::milli_gpu;
using vgpualloc::test::gpu;
using vgpualloc::test::pod;
using vgpualloc::test::want;
using vgpusim::requested_of;

/// Of 10,000 and of 40,000 MiB.
device_kinds two_kinds() {
    device_kinds kinds;
    auto large = gpu("L");
    large.memory = mib{40000};
    kinds.kind_of(large);
    kinds.kind_of(gpu("S"));
    return kinds;
}

TEST(requested, is_the_larger_share_of_the_smallest_device_that_serves_it) {
    const auto kinds = two_kinds();
    EXPECT_EQ(requested_of(kinds, pod({want(1, 2500)})).milli, milli_gpu{250});
    EXPECT_EQ(requested_of(kinds, pod({want(1, 2500, 60)})).milli, milli_gpu{600});
    EXPECT_EQ(requested_of(kinds, pod({want(1, 20000)})).milli, milli_gpu{500}) << "only the large one has so much";
    EXPECT_EQ(requested_of(kinds, pod({want(2, 1), want(1, 10000)})).milli, milli_gpu{1002});
    auto of_large = want(1, 1000);
    of_large.models = {"L"};
    EXPECT_EQ(requested_of(kinds, pod({of_large})).milli, milli_gpu{25});
    EXPECT_EQ(requested_of(kinds, pod({})).milli, milli_gpu{0});
}

TEST(requested, a_device_that_no_kind_serves_counts_as_a_whole_one) {
    const auto amount = requested_of(two_kinds(), pod({want(3, 50000)}));
    EXPECT_EQ(amount.milli, milli_gpu{3000});
    EXPECT_FALSE(amount.can_be_served);
    EXPECT_TRUE(requested_of(two_kinds(), pod({want(9, 100)})).can_be_served) << "how many there are does not count";
    EXPECT_FALSE(requested_of(device_kinds{}, pod({want(1, 1)})).can_be_served);
}

TEST(requested, a_whole_device_is_one_whatever_is_asked_of_it) {
    device_kinds kinds;
    kinds.kind_of(gpu("A", 1, "exclusive"));
    EXPECT_EQ(requested_of(kinds, pod({want(2, 100)})).milli, milli_gpu{2000});
}

} // namespace
