// Slot-scarcity prices: what is counted, what is learned, and what the policy prefers by them.
#include "vgpualloc/policy/ssp.hpp"

#include <cmath>

#include "mig_gpus.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpualloc {
namespace {

using namespace test;

/// A policy with a ledger that it follows.
struct followed {
    followed(const mig_cluster& gpus, slot_scarcity_options options = {}) : prices{{}, options}, book{gpus.nodes} {}

    void reserve(std::uint32_t pod, std::size_t node, const partition& part) {
        const booking entry = book_on(pod, node_index{node}, {share_of_device(0, part)});
        ASSERT_TRUE(book.reserve(entry));
        tell(ledger_event_kind::reserve, pod);
    }
    void release(std::uint32_t pod) {
        const booking entry = book.booking_of(pod_id{pod});
        book.rollback(pod_id{pod});
        prices.observe({.kind = ledger_event_kind::release, .entry = &entry, .where = entry.where.node, .book = &book});
    }
    void tell(ledger_event_kind kind, std::uint32_t pod) {
        const booking& entry = book.booking_of(pod_id{pod});
        prices.observe({.kind = kind, .entry = &entry, .where = entry.where.node, .book = &book});
    }
    void arrive(std::string_view profile, int times = 1) {
        const pod_request request = mig_cluster::pod_of(profile);
        for (int i = 0; i < times; ++i) prices.note_arrival(request, book);
    }

    slot_scarcity prices;
    ledger book;
};

TEST(slot_scarcity, counts_the_places_of_the_whole_cluster) {
    const mig_cluster gpus{"A100-40GB", 3};
    followed here{gpus};
    here.arrive("1g.5gb");
    here.arrive("4g.20gb");
    here.arrive("7g.40gb");
    ASSERT_EQ(here.prices.class_count(), 3U);
    EXPECT_EQ(std::vector<std::int64_t>(here.prices.stock().begin(), here.prices.stock().end()),
              (std::vector<std::int64_t>{21, 3, 3}));
    here.reserve(0, 1, gpus.at("1g.5gb", 0));
    EXPECT_EQ(std::vector<std::int64_t>(here.prices.stock().begin(), here.prices.stock().end()),
              (std::vector<std::int64_t>{20, 2, 2}));
    here.release(0);
    EXPECT_EQ(here.prices.stock()[2], 3);
    static_cast<void>(here.book.set_service(node_index{2U}, device_index{0U}, service_state::draining));
    here.prices.observe(
        {.kind = ledger_event_kind::service_changed, .entry = nullptr, .where = node_index{2U}, .book = &here.book});
    EXPECT_EQ(here.prices.stock()[2], 2) << "a device that is drained has no place";
}

/// q_c R / r, with everything accepted: after many arrivals of equal shares, half of the running parts each.
TEST(slot_scarcity, learns_the_offered_load_by_littles_law) {
    const mig_cluster gpus{"A100-40GB", 4};
    followed here{gpus};
    for (std::uint32_t pod = 0; pod < 8; ++pod) here.reserve(pod, pod / 2, gpus.at("3g.20gb", pod % 2 * 4));
    for (int i = 0; i < 3000; ++i) {
        here.arrive("3g.20gb");
        here.arrive("1g.5gb", 3);
    }
    // Nothing of what came after the first eight was accepted, which is the least that is believed: 0.01.
    EXPECT_NEAR(here.prices.offered(0), 0.25 * 8.0 / 0.01, 0.5);
    EXPECT_NEAR(here.prices.offered(1), 0.75 * 8.0 / 0.01, 1.5);
    const double expected =
        std::exp(-static_cast<double>(here.prices.stock()[1]) / (0.125 * here.prices.offered(1))) + 1e-6 * 0.75;
    EXPECT_NEAR(here.prices.prices()[1], expected, 1e-9);
}

TEST(slot_scarcity, old_arrivals_fade) {
    const mig_cluster gpus{"A100-40GB", 1};
    followed here{gpus, {.window_arrivals = 100.0}};
    here.reserve(0, 0, gpus.at("1g.5gb", 6));
    here.arrive("3g.20gb", 1000);
    here.arrive("1g.5gb", 100);
    const double share = here.prices.offered(0) / (here.prices.offered(0) + here.prices.offered(1));
    EXPECT_NEAR(share, std::pow(0.99, 100), 1e-4);
    here.arrive("1g.5gb", 40'000); // far beyond where weights are scaled down
    EXPECT_LT(here.prices.offered(0), 1e-100);
    EXPECT_GT(here.prices.offered(1), 0.0);
}

TEST(slot_scarcity, the_least_asked_for_class_makes_room) {
    const mig_cluster gpus{"A100-40GB", 1};
    followed here{gpus, {.classes_max = 2}};
    here.arrive("3g.20gb", 3);
    here.arrive("1g.5gb");
    here.arrive("7g.40gb");
    EXPECT_EQ(here.prices.class_count(), 2U);
    EXPECT_EQ(here.prices.request_of(0), mig_cluster::want_profile("3g.20gb"));
    EXPECT_EQ(here.prices.request_of(1), mig_cluster::want_profile("7g.40gb")) << "1g.5gb is gone";
    EXPECT_EQ(here.prices.stock()[1], 1);
}

TEST(slot_scarcity, a_trial_that_is_undone_teaches_nothing) {
    const mig_cluster gpus{"A100-40GB", 2};
    followed here{gpus};
    here.arrive("3g.20gb", 5);
    here.reserve(0, 0, gpus.at("3g.20gb", 4));
    here.arrive("3g.20gb");
    const std::vector<double> before(here.prices.prices().begin(), here.prices.prices().end());
    here.prices.enter_trial();
    here.arrive("7g.40gb", 10);
    EXPECT_EQ(here.prices.class_count(), 2U);
    here.prices.leave_trial(false);
    EXPECT_EQ(here.prices.class_count(), 1U);
    EXPECT_EQ(std::vector<double>(here.prices.prices().begin(), here.prices.prices().end()), before);
    here.prices.enter_trial();
    here.arrive("7g.40gb", 10);
    here.prices.leave_trial(true);
    EXPECT_EQ(here.prices.class_count(), 2U);
}

TEST(slot_scarcity, expects_the_workload_until_somebody_arrives) {
    const mig_cluster gpus{"A100-40GB", 1};
    slot_scarcity prices{mig_cluster::mix({{"1g.5gb", 3}, {"7g.40gb", 1}})};
    EXPECT_EQ(prices.class_count(), 2U);
    const ledger book{gpus.nodes};
    prices.note_arrival(mig_cluster::pod_of("3g.20gb"), book);
    EXPECT_EQ(prices.class_count(), 1U) << "from then on what arrives is what is known";
}

/// An empty GPU, and one with 3g.20gb in its right half. A 1g.5gb on the empty one costs a start of 7g.40gb and, at its
/// best start, none of 4g.20gb; on the other one it is the other way round.
TEST(ssp, keeps_what_is_scarce) {
    const mig_cluster gpus{"A100-40GB", 2};
    for (const auto& [scarce, node] : {std::pair{"7g.40gb", 1U}, std::pair{"4g.20gb", 0U}}) {
        placer here{gpus.nodes, "ssp"};
        const auto scarce_id = here.decider.intern(mig_cluster::pod_of(scarce)).value();
        const auto small_id = here.decider.intern(mig_cluster::pod_of("1g.5gb")).value();
        ASSERT_TRUE(here.book.reserve(book_on(0, node_index{1U}, {share_of_device(0, gpus.at("3g.20gb", 4))})));
        for (int i = 0; i < 2000; ++i) here.decider.note_arrival(i % 10 == 0 ? small_id : scarce_id);
        const auto decided = here.decide(mig_cluster::pod_of("1g.5gb"));
        ASSERT_TRUE(decided.has_value());
        EXPECT_EQ(decided->node.at(), node) << scarce;
    }
}

/// A request of several devices and a sum of policies are scored node by node, one device by what changes: all agree.
TEST(ssp, scores_of_nodes_are_those_of_changes) {
    const mig_cluster gpus{"A100-40GB", 3};
    placer here{gpus.nodes, "ssp"};
    placer sum{gpus.nodes, "weighted:ssp=1"};
    std::uint32_t pods = 0;
    for (int i = 0; i < 40; ++i) {
        const char* const profile = i % 3 == 0 ? "1g.5gb" : i % 3 == 1 ? "2g.10gb" : "3g.20gb";
        const pod_request request = mig_cluster::pod_of(profile);
        for (placer* one : {&here, &sum}) one->decider.note_arrival(one->decider.intern(request).value());
        EXPECT_EQ(here.scores(request), sum.scores(request));
        const auto placed = here.place(request);
        const auto expected = sum.place(request);
        ASSERT_EQ(placed.has_value(), expected.has_value());
        if (placed) {
            EXPECT_EQ(static_cast<const placement&>(*placed), static_cast<const placement&>(*expected));
        } else {
            here.book.release(pod_id{1000 + pods});
            sum.book.release(pod_id{1000 + pods});
            ++pods;
        }
    }
}

} // namespace
} // namespace vgpualloc
