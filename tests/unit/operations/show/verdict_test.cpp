#include "vgpuops/show/verdict.hpp"

#include <gtest/gtest.h>

namespace {

namespace show = vgpuops::show;
using show::verdict;

TEST(show_verdict, is_the_first_that_holds) {
    vgpualloc::kube::snapshot_pod pod;
    show::room room{.fits_alone = true, .more = 1, .asked_milli = 500};
    EXPECT_EQ(show::verdict_of(pod, room, false), verdict::fits_now);
    EXPECT_EQ(show::verdict_of(pod, room, true), verdict::gang);
    room.more = 0;
    EXPECT_EQ(show::verdict_of(pod, room, true), verdict::all_used) << "its gang is not what keeps it back";
    room.in_sum.is_enough = true;
    EXPECT_EQ(show::verdict_of(pod, room, false), verdict::scattered);
    room.idle[static_cast<std::size_t>(vgpualloc::idle_cause::host_full)] = 1;
    EXPECT_EQ(show::verdict_of(pod, room, false), verdict::host_full);
    room.fits_alone = false;
    EXPECT_EQ(show::verdict_of(pod, room, false), verdict::never);
    EXPECT_EQ(show::verdict_of(pod, {.is_readable = false, .fits_alone = true, .more = 1}, false), verdict::never);
    pod.gates = {"example.com/ready"};
    EXPECT_EQ(show::verdict_of(pod, room, false), verdict::gate);
    pod.gates.emplace_back("kueue.x-k8s.io/admission");
    EXPECT_EQ(show::verdict_of(pod, room, false), verdict::queue);
}

} // namespace
