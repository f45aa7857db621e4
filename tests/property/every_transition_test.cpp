// Every legal set of an A100 and an H100, every part of it busy, every profile: plans cost what a search by another way
// finds.
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "unit/plan/brute_force.hpp"
#include "unit/plan/moves_by_trying.hpp"

namespace vgpualloc::property {
namespace {

using plan::mig_live_state;
using plan::mig_transition_options;
using plan::mig_transitions;
using test::legal_sets;

/// Distances of all legal sets that contain `busy` from the nearest one with a free instance of `wanted`, by Dijkstra's
/// algorithm on neighbours that the catalog gives.
class without_moves {
public:
    without_moves(const legal_sets& sets, const plan::mig_step_costs& costs)
        : costs_{costs}, all_{sets.all().begin(), sets.all().end()}, with_(all_.size()) {
        for (std::size_t i = 0; i < all_.size(); ++i) {
            for (std::size_t place = 0; place < sets.places(); ++place) {
                const auto larger = std::ranges::lower_bound(all_, legal_sets::with(all_[i], place));
                const bool legal = !legal_sets::has(all_[i], place) && larger != all_.end() &&
                                   *larger == legal_sets::with(all_[i], place);
                if (!legal) continue;
                const auto j = static_cast<std::size_t>(larger - all_.begin());
                with_[i].push_back(j);
                without_.resize(all_.size());
                without_[j].push_back(i);
            }
        }
    }

    [[nodiscard]] const std::vector<std::uint64_t>& all() const { return all_; }

    [[nodiscard]] std::vector<std::int64_t> distances(std::uint64_t busy, std::uint64_t wanted) const {
        std::vector<std::int64_t> best(all_.size(), unreachable);
        using entry = std::pair<std::int64_t, std::size_t>;
        std::priority_queue<entry, std::vector<entry>, std::greater<>> open;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if ((busy & ~all_[i]) == 0 && (all_[i] & ~busy & wanted) != 0) {
                best[i] = 0;
                open.push({0, i});
            }
        }
        while (!open.empty()) {
            const auto [cost, i] = open.top();
            open.pop();
            if (best[i] < cost) continue;
            const auto reach = [&, from = cost](std::size_t j, ticks length) { // the step that leads from j to i
                if ((busy & ~all_[j]) != 0 || best[j] <= from + length.count()) return;
                best[j] = from + length.count();
                open.push({best[j], j});
            };
            for (const std::size_t j : with_[i]) reach(j, costs_.destroy);
            for (const std::size_t j : without_[i]) reach(j, costs_.create);
        }
        return best;
    }

    static constexpr std::int64_t unreachable = std::numeric_limits<std::int64_t>::max();

private:
    plan::mig_step_costs costs_;
    std::vector<std::uint64_t> all_;                ///< ascending
    std::vector<std::vector<std::size_t>> with_;    ///< by set: those with one instance more
    std::vector<std::vector<std::size_t>> without_; ///< by set: those with one instance less
};

void every_set_and_profile(const mig_model& gpu) {
    const legal_sets sets{gpu};
    auto planner = mig_transitions::make(gpu).value();
    const without_moves search{sets, planner.costs()};
    for (const std::uint64_t busy : search.all()) {
        for (std::size_t profile = 0; profile < gpu.profiles.size(); ++profile) {
            const std::uint64_t wanted = sets.places_of(profile);
            const auto distances = search.distances(busy, wanted);
            for (std::size_t i = 0; i < search.all().size(); ++i) {
                if ((busy & ~search.all()[i]) != 0) continue;
                const mig_live_state live{search.all()[i], busy, 0};
                std::optional<std::int64_t> cheapest;
                if (distances[i] != without_moves::unreachable) cheapest = distances[i];
                test::expect_cheapest(sets, planner, live, wanted, {}, cheapest);
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

TEST(every_transition, of_an_a100) { every_set_and_profile(test::model("A100-40GB")); }
TEST(every_transition, of_an_h100) { every_set_and_profile(test::model("H100-80GB")); }
TEST(every_transition, of_an_rtx_pro_6000) { every_set_and_profile(test::model("RTX-PRO-6000-96GB")); }

/// Every part of every legal set as busy ones, every profile, up to 3 moves, with and without waiting.
TEST(every_transition, of_an_a30_with_moves) {
    const mig_model& gpu = test::model("A30-24GB");
    const legal_sets sets{gpu};
    auto planner = mig_transitions::make(gpu).value();
    const test::pods_by_name trying{sets, planner};
    for (const std::uint64_t instances : sets.all()) {
        test::for_each_part(instances, [&](std::uint64_t busy) {
            for (std::size_t profile = 0; profile < gpu.profiles.size(); ++profile) {
                for (const auto& options : {mig_transition_options{}, mig_transition_options{1, false},
                                            mig_transition_options{2, false}, mig_transition_options{3, false},
                                            mig_transition_options{1, true}, mig_transition_options{3, true}}) {
                    const mig_live_state live{instances, busy, 0};
                    const auto cheapest = trying.cheapest(live, sets.places_of(profile), options);
                    test::expect_cheapest(sets, planner, live, sets.places_of(profile), options, cheapest);
                    if (testing::Test::HasFatalFailure()) return;
                }
            }
        });
        if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(every_fewest_moves, of_an_a100) {
    test::expect_fewest_of_all(test::model("A100-40GB"), {.moves_max = 3, .fewest_moves = true});
    test::expect_fewest_of_all(test::model("A100-40GB"), {.moves_max = 3, .may_wait = true, .fewest_moves = true});
}
TEST(every_fewest_moves, of_an_h100) {
    test::expect_fewest_of_all(test::model("H100-80GB"), {.moves_max = 3, .fewest_moves = true});
}
TEST(every_fewest_moves, of_an_rtx_pro_6000) {
    test::expect_fewest_of_all(test::model("RTX-PRO-6000-96GB"), {.moves_max = 3, .fewest_moves = true});
}

} // namespace
} // namespace vgpualloc::property
