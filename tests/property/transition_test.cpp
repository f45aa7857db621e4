// Drawn live states of an A100: plans with moves cost what trying finds, and can be carried out.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/plan/moves_by_trying.hpp"

namespace vgpualloc::property {
namespace {

using plan::mig_live_state;
using plan::mig_transition_options;
using plan::mig_transitions;
using test::legal_sets;

/// Live states of an A100 as they are drawn, with moves, with pods that wait, with costs of every proportion.
RC_GTEST_PROP(transitions, with_moves_cost_what_trying_finds, ()) {
    static const mig_model& gpu = test::model("A100-40GB");
    static const legal_sets sets{gpu};
    static const std::vector<std::uint64_t> all{sets.all().begin(), sets.all().end()};
    const auto cost = [] { return ticks{*rc::gen::inRange<std::int64_t>(1, 5'000'000)}; };
    auto planner = mig_transitions::make(gpu, {.create = cost(), .destroy = cost(), .restart = cost()}).value();
    const std::uint64_t instances = *rc::gen::elementOf(all);
    const std::uint64_t busy = instances & *rc::gen::arbitrary<std::uint64_t>();
    const std::uint64_t pinned = busy & *rc::gen::arbitrary<std::uint64_t>() & *rc::gen::arbitrary<std::uint64_t>();
    const std::uint64_t wanted = sets.places_of(*rc::gen::inRange<std::size_t>(0, gpu.profiles.size()));
    const mig_transition_options options{*rc::gen::inRange<std::int64_t>(0, 3), *rc::gen::arbitrary<bool>()};
    const mig_live_state live{instances, busy, pinned};
    const auto cheapest = test::pods_by_name{sets, planner}.cheapest(live, wanted, options);
    test::expect_cheapest(sets, planner, live, wanted, options, cheapest);
    RC_ASSERT(!testing::Test::HasFailure());
}

/// Pods of which some may not move, beside instances without one.
RC_GTEST_PROP(fewest_moves, of_pods_with_names_are_what_trying_finds, ()) {
    static const mig_model& gpu = test::model("A100-40GB");
    static const legal_sets sets{gpu};
    static auto planner = mig_transitions::make(gpu).value();
    static const std::vector<std::uint64_t> all{sets.all().begin(), sets.all().end()};
    const std::uint64_t instances = *rc::gen::elementOf(all);
    const std::uint64_t busy = instances & *rc::gen::arbitrary<std::uint64_t>();
    const std::uint64_t pinned = busy & *rc::gen::arbitrary<std::uint64_t>() & *rc::gen::arbitrary<std::uint64_t>();
    const auto profile = *rc::gen::inRange<std::size_t>(0, gpu.profiles.size());
    const mig_transition_options options{*rc::gen::inRange<std::int64_t>(0, 4), *rc::gen::arbitrary<bool>(), true};
    const mig_live_state live{instances, busy, pinned};
    const auto fewest = test::arrangements_by_trying{sets, live, options}.fewest(profile);
    test::expect_fewest(sets, planner, live, profile, options, fewest);
    RC_ASSERT(!testing::Test::HasFailure());
}

} // namespace
} // namespace vgpualloc::property
