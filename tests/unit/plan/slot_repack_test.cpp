// Moves for a request that would be lost: what is proposed, when, and that it can be carried out step by step.
#include "vgpualloc/plan/slot_repack.hpp"

#include <map>

#include "policy/mig_gpus.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/verify/placements.hpp"

namespace vgpualloc::plan {
namespace {

using namespace test;

/// A ledger with prices, and what every pod asked for.
struct crowd {
    explicit crowd(const mig_cluster& nodes) : gpus{&nodes}, book{nodes.nodes} {}

    void add(std::string_view profile, std::size_t node, std::uint32_t start) {
        requests.emplace(pods, mig_cluster::pod_of(profile));
        prices.note_arrival(requests.at(pods), book);
        const booking entry = book_on(pods, node_index{node}, {share_of_device(0, gpus->at(profile, start))});
        ASSERT_TRUE(book.reserve(entry));
        book.commit(pod_id{pods});
        prices.observe({.kind = ledger_event_kind::reserve, .entry = &entry, .where = node_index{node}, .book = &book});
        ++pods;
    }
    void demand(std::string_view profile, int times) {
        const pod_request request = mig_cluster::pod_of(profile);
        for (int i = 0; i < times; ++i) prices.note_arrival(request, book);
    }
    [[nodiscard]] std::optional<move_plan> find(std::string_view profile, double tokens = 10.0) {
        wanted = mig_cluster::pod_of(profile);
        slot_repack planner{prices};
        return planner.find({.book = &book, .request = &wanted, .tokens = tokens, .movable = [this](pod_id pod) {
                                 const auto known = requests.find(pod.at());
                                 return known == requests.end() ? nullptr : &known->second;
                             }});
    }
    /// Carries a plan out, both places of a pod held while it is copied; the request must fit at the end.
    void carry_out(const move_plan& plan) {
        for (const pod_move& move : plan.moves) {
            ASSERT_EQ(book.booking_of(move.pod).where, move.from);
            booking copy = book.booking_of(move.pod);
            copy.owner = pod_id{pods++};
            copy.cpu = {}; // both are the same pod
            copy.memory = {};
            copy.where = move.to;
            ASSERT_TRUE(book.reserve(copy)) << "the new place is free while the old one is taken";
            ASSERT_EQ(verify::first_violation(book), "");
            const booking old = book.booking_of(move.pod);
            book.release(move.pod);
            book.rollback(copy.owner);
            booking moved = old;
            moved.where = move.to;
            ASSERT_TRUE(book.reserve(moved));
            book.commit(move.pod);
        }
        booking placed = book_on(pods++, plan.where.node);
        placed.where = plan.where;
        ASSERT_TRUE(book.reserve(placed));
        ASSERT_EQ(verify::first_violation(book), "");
    }

    const mig_cluster* gpus;
    slot_scarcity prices{{}};
    ledger book;
    std::map<std::size_t, pod_request> requests;
    pod_request wanted;
    std::uint32_t pods = 0;
};

TEST(slot_repack, one_instance_goes_to_the_other_gpu) {
    const mig_cluster gpus{"A100-40GB", 2};
    crowd here{gpus};
    here.add("1g.5gb", 0, 0);
    here.add("4g.20gb", 1, 0);
    here.demand("7g.40gb", 100);
    const auto plan = here.find("7g.40gb");
    ASSERT_TRUE(plan.has_value());
    ASSERT_EQ(plan->moves.size(), 1U);
    EXPECT_EQ(plan->moves[0].from.node.at(), 0U);
    EXPECT_EQ(plan->moves[0].to.node.at(), 1U);
    EXPECT_EQ(plan->where.node.at(), 0U);
    here.carry_out(*plan);
}

TEST(slot_repack, an_instance_may_move_inside_its_gpu) {
    const mig_cluster gpus{"A100-40GB", 1};
    crowd here{gpus};
    here.add("1g.5gb", 0, 0);
    here.demand("4g.20gb", 100);
    const auto plan = here.find("4g.20gb");
    ASSERT_TRUE(plan.has_value());
    ASSERT_EQ(plan->moves.size(), 1U);
    EXPECT_EQ(plan->where.shares[0].part, gpus.at("4g.20gb", 0));
    here.carry_out(*plan);
}

TEST(slot_repack, nothing_is_proposed_that_may_not_be) {
    const mig_cluster gpus{"A100-40GB", 2};
    crowd here{gpus};
    here.add("1g.5gb", 0, 0);
    here.add("4g.20gb", 1, 0);
    here.demand("7g.40gb", 100);
    EXPECT_FALSE(here.find("7g.40gb", 0.5).has_value()) << "no token for a move";
    here.requests.clear();
    EXPECT_FALSE(here.find("7g.40gb").has_value()) << "no pod may move";
}

TEST(slot_repack, a_full_cluster_has_no_plan) {
    const mig_cluster gpus{"A100-40GB", 2};
    crowd here{gpus};
    here.add("7g.40gb", 0, 0);
    here.add("7g.40gb", 1, 0);
    here.demand("1g.5gb", 100);
    EXPECT_FALSE(here.find("1g.5gb").has_value());
}

/// Random clusters: whatever is proposed can be carried out, and is within what was allowed.
TEST(slot_repack, every_plan_can_be_carried_out) {
    const mig_cluster gpus{"A100-40GB", 5};
    const std::vector<std::string> profiles{"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"};
    rng numbers{11};
    int plans = 0;
    for (int round = 0; round < 300; ++round) {
        crowd here{gpus};
        for (int i = 0; i < 30; ++i) {
            const std::string& profile = profiles[numbers.below(5)];
            const std::size_t node = numbers.below(5);
            const auto& starts = (*find_profile(gpus.model, profile))->starts;
            const auto start = static_cast<std::uint32_t>(starts[numbers.below(starts.size())].count());
            const partition part = gpus.at(profile, start);
            const auto& spec = here.book.nodes().kinds[0];
            if (spec.mode->why_not(spec, here.book.devices(node_index{node})[0], part).code != rejection_code::none)
                continue;
            if (numbers.below(3) != 0) here.add(profile, node, start);
        }
        for (const std::string& profile : profiles) here.demand(profile, 1);
        const double tokens = 1.0 + static_cast<double>(numbers.below(4));
        const auto plan = here.find(profiles[3 + numbers.below(3)], tokens);
        if (!plan) continue;
        ++plans;
        EXPECT_LE(static_cast<double>(plan->moves.size()), tokens);
        EXPECT_LE(plan->moves.size(), 3U);
        here.carry_out(*plan);
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(plans, 50);
}

} // namespace
} // namespace vgpualloc::plan
