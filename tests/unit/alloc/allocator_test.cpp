// The allocator's promises one at a time, and the counter-examples that the property suite found. That it decides like
// the reference path in general is shown there.
#include "support.hpp"

#include "alloc/reference.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

TEST(allocator, equal_requests_are_one_number) {
    cluster owned;
    add_node(owned, many(1));
    placer here{owned, "binpack"};
    const request_id one = here.decider.intern(pod({want(1, 100)})).value();
    EXPECT_EQ(here.decider.intern(pod({want(1, 100)})).value(), one);
    EXPECT_NE(here.decider.intern(pod({want(1, 100)}, 999)).value(), one);
    EXPECT_EQ(*here.decider.find_request(one), pod({want(1, 100)}));
}

TEST(allocator, containers_that_need_devices_of_their_own_find_too_few) {
    cluster owned;
    add_node(owned, many(2));
    placer here{owned, "binpack"};
    pod_request apart = pod({want(1, 10), want(1, 10), want(1, 10)});
    apart.containers_apart = true;
    const auto refused = here.decide(apart);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().main_code(), too_few_devices);
    apart.containers.pop_back();
    EXPECT_TRUE(here.decide(apart).has_value());
}

TEST(allocator, deciding_books_nothing_and_placing_books_and_commits) {
    cluster owned;
    const node_index where = add_node(owned, many(2));
    placer here{owned, "binpack"};
    ASSERT_TRUE(here.decide(pod({want(2, 6000)})).has_value());
    EXPECT_EQ(here.book.live_count(), 0U);
    const auto placed = here.place(pod({want(2, 6000)}));
    ASSERT_TRUE(placed.has_value());
    EXPECT_TRUE(here.book.is_committed(pod_id{1000U}));
    EXPECT_EQ(placed->shares,
              (small_vector<device_share, 1>{share_of_device(0, part(6000)), share_of_device(1, part(6000))}));
    EXPECT_EQ(here.book.host(where).cpu, milli_cpu{1000});
    const auto refused = here.place(pod({want(1, 6000)}));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().main_code(), insufficient_device_memory);
    EXPECT_FALSE(here.book.is_live(pod_id{1001U}));
}

TEST(allocator, counts_the_nodes_per_reason) {
    cluster owned;
    add_node(owned, {});                              // too few devices
    add_node(owned, many(1), milli_cpu{999});         // CPU
    add_node(owned, {gpu("B")});                      // model
    const node_index sick = add_node(owned, many(1)); // unhealthy
    add_node(owned, {gpu("A", 1, "exclusive")});      // mode
    add_node(owned, many(3));                         // slots, memory, memory: memory
    owned.nodes[sick.at()].devices[0].service = service_state::failed;
    const node_index full_of_pods = add_node(owned, many(1));
    owned.nodes[full_of_pods.at()].pods_max = 0;
    const node_index little_memory = add_node(owned, many(1));
    owned.nodes[little_memory.at()].memory = bytes{999};
    placer here{owned, "binpack"};
    for (std::uint32_t i = 0; i < 10; ++i) {
        ASSERT_TRUE(here.book.reserve(book_on(i, node_index{5U}, {share_of_device(0, part(1))})));
    }
    ASSERT_TRUE(here.book.reserve(
        book_on(10, node_index{5U}, {share_of_device(1, part(5000)), share_of_device(2, part(5000))})));
    device_request request = want(1, 6000);
    request.models = {"A"};
    request.mode = "hami_core";
    const auto refused = here.decide(pod({request}));
    ASSERT_FALSE(refused.has_value());
    const std::vector<rejection_code> codes{too_few_devices,  insufficient_cpu,   model_not_accepted,
                                            device_unhealthy, mode_not_offered,   insufficient_device_memory,
                                            too_many_pods,    insufficient_memory};
    for (const rejection_code code : codes) EXPECT_EQ(nodes_refused(refused.error(), code), 1) << to_string(code);
    const auto answers = here.decider.evaluate(here.decider.intern(pod({request})).value());
    for (std::size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(answers[i].code, codes[i]) << i;
    const reference_allocator reference{here.book, {here.scorer.get(), here.scorer.get()}};
    EXPECT_EQ(reference.decide(pod({request})).error(), refused.error());
}

TEST(allocator, an_empty_cluster_has_no_nodes) {
    const cluster owned;
    placer here{owned, "spread"};
    EXPECT_EQ(here.decide(pod({want(1, 1)})).error().main_code(), no_nodes);
    EXPECT_TRUE(here.scores(pod({})).empty());
}

TEST(allocator, notices_changes_that_others_made) {
    cluster owned;
    const node_index first = add_node(owned, many(1));
    const node_index second = add_node(owned, many(1));
    placer here{owned, "best_fit"};
    EXPECT_EQ(here.decide(pod({want(1, 2000)}))->node, first);
    ASSERT_TRUE(here.book.reserve(book_on(1, second, {share_of_device(0, part(5000))})));
    EXPECT_EQ(here.decide(pod({want(1, 2000)}))->node, second);
    EXPECT_EQ(here.decider.view_of(second).config->used, milli_gpu{500});
    EXPECT_EQ(here.decider.view_of(second).cpu_left, milli_cpu{31000});
    here.book.rollback(pod_id{1U});
    EXPECT_EQ(here.decider.view_of(second).config->used, milli_gpu{0});
    EXPECT_EQ(here.decide(pod({want(1, 2000)}))->node, first);
    // An allocator that is made later reads the state as it is and tells the policy what happened before.
    ASSERT_TRUE(here.book.reserve(book_on(2, second, {share_of_device(0, part(5000))})));
    allocator late{here.book, {here.scorer.get(), here.scorer.get()}};
    EXPECT_EQ(late.decide(late.intern(pod({want(1, 2000)})).value())->node, second);
}

TEST(allocator, node_and_device_are_chosen_by_the_policy_of_each_level) {
    cluster owned;
    add_node(owned, many(2));
    const node_index busy = add_node(owned, many(2));
    ledger book{owned};
    ASSERT_TRUE(book.reserve(book_on(1, busy, {share_of_device(0, part(5000))})));
    const auto node_policy = make("binpack");
    const auto device_policy = make("spread");
    allocator both{book, {node_policy.get(), device_policy.get()}};
    const auto decided = both.decide(both.intern(pod({want(1, 2000)})).value());
    EXPECT_EQ(decided->node, busy) << "the fuller node";
    EXPECT_EQ(decided->shares[0].device.at(), 1U) << "on it the emptier device";
}

/// Prefers the node that it is told to prefer, and says so by its epoch.
class told final : public policy {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "told"; }
    [[nodiscard]] double node_score(const request_view&, const node_view& before, const node_view&) override {
        ++scored;
        return before.node == preferred ? 1.0 : 0.0;
    }
    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view&) override {
        return 0.0;
    }
    [[nodiscard]] policy_traits traits() const noexcept override { return {.history = true}; }
    [[nodiscard]] std::uint64_t epoch() const noexcept override { return version; }
    void forget_ids() override { ++forgotten; }

    node_index preferred{0U};
    std::uint64_t version = 0;
    int scored = 0;
    int forgotten = 0;
};

TEST(allocator, scores_again_what_changed_or_everything_when_the_epoch_rises) {
    cluster owned;
    for (int i = 0; i < 5; ++i) add_node(owned, many(1));
    told scorer;
    ledger book{owned};
    allocator decider{book, {&scorer, &scorer}};
    const request_id request = decider.intern(pod({want(1, 100)})).value();
    EXPECT_EQ(decider.decide(request)->node.at(), 0U);
    const int first = scorer.scored;
    EXPECT_GE(first, 5);
    scorer.preferred = node_index{3U};
    EXPECT_EQ(decider.decide(request)->node.at(), 0U) << "kept: nothing says that it changed";
    EXPECT_LE(scorer.scored, first + 1);
    ++scorer.version;
    EXPECT_EQ(decider.decide(request)->node.at(), 3U);
    const int second = scorer.scored;
    ASSERT_TRUE(decider.place(book, pod_id{1U}, request).has_value());
    static_cast<void>(decider.decide(request));
    EXPECT_LE(scorer.scored - second, 4) << "one node changed, so one is scored, and its devices compared";
}

TEST(allocator, forgets_configurations_beyond_the_limit_and_tells_the_policy) {
    cluster owned;
    add_node(owned, many(2));
    told scorer;
    ledger book{owned};
    allocator decider{
        book, {&scorer, &scorer}, {.interned = {.configs_max = 3}, .index_bytes_max = std::size_t{1} << 20}};
    const std::uint64_t generation = decider.id_generation();
    const int forgotten = scorer.forgotten;
    for (std::uint32_t i = 0; i < 12; ++i) {
        ASSERT_TRUE(decider.place(book, pod_id{i}, decider.intern(pod({want(1, 500 + i)})).value()).has_value());
    }
    EXPECT_GT(decider.id_generation(), generation);
    EXPECT_EQ(static_cast<std::uint64_t>(scorer.forgotten - forgotten), decider.id_generation() - generation);
    static_cast<void>(decider.view_of(node_index{0U}));
    EXPECT_LE(decider.config_count(), 8U);
    EXPECT_EQ(book.live_count(), 12U);
}

/// Nodes of three groups, an index limit that holds none of them: every class has to be built again and again.
TEST(allocator, decides_alike_with_an_index_limit_that_holds_nothing) {
    for (const char* spelling : {"binpack", "spread", "random"}) {
        cluster owned;
        add_node(owned, many(2, gpu("A")));
        add_node(owned, many(2, gpu("B")));
        add_node(owned, {});
        placer roomy{owned, spelling};
        placer tight{owned, spelling, {}, {.interned = {.configs_max = 1000}, .index_bytes_max = 1}};
        for (int i = 0; i < 60; ++i) {
            const pod_request request = pod({want(1 + i % 2, 700 + i % 3 * 300)});
            const auto expected = roomy.place(request);
            const auto decision = tight.place(request);
            ASSERT_EQ(decision.has_value(), expected.has_value()) << spelling << " " << i;
            if (decision) {
                EXPECT_EQ(*decision, *expected) << spelling << " " << i;
            } else {
                EXPECT_EQ(decision.error(), expected.error()) << spelling << " " << i;
            }
        }
    }
}

/// One request on one ledger, asked of both paths.
struct both_answers {
    std::vector<node_answer> fast;
    std::vector<node_answer> reference;
    bool placed = false;
};
both_answers ask_both(const cluster& owned, std::string_view spelling, const pod_request& request) {
    placer here{owned, spelling};
    both_answers result;
    result.fast = here.decider.evaluate(here.decider.intern(request).value());
    const reference_allocator reference{here.book, {here.scorer.get(), here.scorer.get()}};
    result.reference = reference.evaluate(request);
    result.placed = here.place(request).has_value();
    return result;
}

TEST(allocator_counter_example, a_first_node_without_devices) {
    cluster owned;
    add_node(owned, {});
    add_node(owned, many(1));
    EXPECT_TRUE(ask_both(owned, "binpack", pod({want(1, 100)})).placed);
}

TEST(allocator_counter_example, a_container_that_asks_for_no_device_beside_one_that_asks_for_one) {
    cluster owned;
    add_node(owned, many(2));
    EXPECT_TRUE(ask_both(owned, "binpack", pod({want(0, 100), want(1, 100)})).placed);
}

/// Container 0 has a choice of unlike devices, container 1 finds none: the reason is container 1's, not "too few".
TEST(allocator_counter_example, the_reason_of_a_later_container_after_a_choice) {
    cluster owned;
    add_node(owned, {gpu("A"), gpu("B")});
    const auto answers = ask_both(owned, "binpack", pod({want(1, 1000), want(1, 20000)}));
    EXPECT_EQ(answers.reference[0].code, insufficient_device_memory);
    EXPECT_EQ(answers.fast[0].code, answers.reference[0].code);
}

/// Short of host memory and of devices at once: both paths name the same check first.
TEST(allocator_counter_example, a_node_that_lacks_memory_and_devices) {
    cluster owned;
    const node_index where = add_node(owned, many(1));
    owned.nodes[where.at()].memory = bytes{999};
    for (const pod_request& request : {pod({want(2, 100)}), pod({want(1, 20000)})}) {
        const auto answers = ask_both(owned, "binpack", request);
        EXPECT_EQ(to_string(answers.fast[0].code), to_string(answers.reference[0].code));
    }
}

/// A drawn device for container 0 may leave no device for container 1, though the node fits the pod: either the draw
/// is among the choices that lead to a placement, or the decision falls back on the one that answered yes.
TEST(allocator_counter_example, a_drawn_first_device_must_not_strand_a_later_container) {
    cluster owned;
    device_spec small = gpu("A");
    small.memory = mib{5000};
    add_node(owned, {small, gpu("B")});
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto scorer = make("random", {}, seed);
        ledger book{owned};
        allocator decider{book, {scorer.get(), scorer.get()}};
        const auto placed =
            decider.place(book, pod_id{0U}, decider.intern(pod({want(1, 1000), want(1, 10000)})).value());
        ASSERT_TRUE(placed.has_value());
        EXPECT_EQ(placed->shares[1].device.at(), 1U);
    }
}

TEST(allocator_death, a_score_that_is_not_a_number_is_a_bug) {
    class absurd final : public policy {
    public:
        [[nodiscard]] std::string_view name() const noexcept override { return "absurd"; }
        [[nodiscard]] double node_score(const request_view&, const node_view&, const node_view&) override {
            return infeasible_score;
        }
        [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                          const step_view&) override {
            return 0.0;
        }
    };
    cluster owned;
    add_node(owned, many(1));
    absurd scorer;
    ledger book{owned};
    EXPECT_DEATH(
        {
            allocator decider(book, {&scorer, &scorer});
            static_cast<void>(decider.decide(decider.intern(pod({want(1, 1)})).value()));
        },
        "a policy's score is a number");
}

} // namespace
} // namespace vgpualloc
