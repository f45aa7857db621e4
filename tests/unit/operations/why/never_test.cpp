// A pod that can never run as things are has no counterexample, and others have one.
#include <cstdlib>

#include <gtest/gtest.h>

#include "alloc/reference.hpp"
#include "random_clusters.hpp"
#include "vgpualloc/policy/parse.hpp"
#include "vgpuops/show/overview.hpp"

namespace {

using namespace cluster_test;
namespace show = vgpuops::show;

/// A tenth of what a campaign has, whose number VGPUALLOC_CLUSTERS says.
int clusters_of_campaign() {
    const char* const number = std::getenv("VGPUALLOC_CLUSTERS");
    return number == nullptr ? clusters_to_draw(50) : std::atoi(number);
}

/// Whether the reference finds a place for a pod once all that run are gone.
bool has_place_alone(kube::snapshot& state, const kube::snapshot_pod& pod) {
    for (std::size_t i = 0; i < state.bound.size(); ++i) static_cast<void>(state.book->release(vgpualloc::pod_id{i}));
    const auto policies = vgpualloc::make_policies("best_fit", "", {});
    const vgpualloc::reference_allocator decider{*state.book, policies->pair()};
    return decider.decide(pod.request).has_value();
}

TEST(why_never, a_pod_that_can_never_run_fits_nowhere_when_all_others_are_gone_and_every_other_pod_does) {
    vgpualloc::rng random{53};
    int never = 0;
    int others = 0;
    for (int i = 0; i < clusters_of_campaign(); ++i) {
        const std::string text =
            i % 2 == 0 ? random_cluster_with_rules(random, 4) : random_cluster_of_nvidia(random, 4);
        const auto seen = show::overview_of(objects(text), {});
        ASSERT_TRUE(seen.has_value()) << seen.error().message() << text;
        for (const show::waiting_pod& waiting : seen->waiting) {
            if (waiting.why == show::verdict::gate) continue; // before which nothing else is looked at
            auto state = snapshot_of(text);
            const auto pod = std::ranges::find(state.pending, waiting.name, &kube::snapshot_pod::full_name);
            ASSERT_NE(pod, state.pending.end());
            const bool is_never = waiting.why == show::verdict::never;
            ASSERT_EQ(has_place_alone(state, *pod), !is_never) << waiting.name << text;
            ++(is_never ? never : others);
        }
    }
    EXPECT_GT(never, 0);
    EXPECT_GT(others, 0);
}

} // namespace
