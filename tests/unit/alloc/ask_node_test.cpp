// What one node says to one request: the answer, the placement, and what every device refuses, with its numbers.
#include "model/nodes.hpp"

#include <optional>

#include "alloc/reference.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

/// A node with two shared devices of one kind and one of another.
class ask_node_test : public testing::Test {
protected:
    ask_node_test() {
        cluster owned = cluster_of_kinds();
        owned.nodes = {node_with("n", {"u0", "u1", "u2"})};
        owned.nodes[0].devices[2].kind = kind_b;
        book.emplace(std::move(owned));
        scorer = make("binpack");
        decider.emplace(*book, policy_pair{scorer.get(), scorer.get()});
    }
    [[nodiscard]] node_decision ask(const pod_request& request) { return decider->ask_node(where, request); }
    void describe(const node& described) { ASSERT_TRUE(book->update_node(where, described).has_value()); }

    node_index where{0};
    std::optional<ledger> book;
    std::unique_ptr<policy> scorer;
    std::optional<allocator> decider;
};

TEST_F(ask_node_test, a_node_that_fits_says_what_the_pod_would_get) {
    ASSERT_TRUE(run_on(*book, 1, where, 1, 3000));
    const pod_request request = pod({want(1, 2000)});
    const node_decision decision = ask(request);
    EXPECT_EQ(decision.answer.code, none);
    EXPECT_EQ(decision.refusal, rejection_detail{});
    EXPECT_EQ(decision.where.node, where);
    ASSERT_EQ(decision.where.shares.size(), 1U);
    EXPECT_EQ(decision.where.shares[0], share_of_device(1, part(2000)));
    EXPECT_FALSE(decision.stopped_at.has_value());
    EXPECT_TRUE(decision.stopped_by.empty());
    const auto decided = decider->decide(decider->intern(request).value());
    ASSERT_TRUE(decided.has_value());
    EXPECT_EQ(decision.where, *decided);
    EXPECT_EQ(decision.answer.score, decider->evaluate(decider->intern(request).value())[0].score);
}

TEST_F(ask_node_test, trying_a_node_gives_its_answer_and_its_devices_alone) {
    ASSERT_TRUE(run_on(*book, 1, where, 1, 3000));
    const request_id fits = decider->intern(pod({want(1, 2000)})).value();
    const auto tried = decider->try_node(where, fits);
    ASSERT_TRUE(tried.has_value());
    EXPECT_EQ(tried->shares, ask(pod({want(1, 2000)})).where.shares);
    EXPECT_EQ(tried->answer.score, decider->evaluate(fits)[0].score);
    const request_id too_large = decider->intern(pod({want(4, 2000)})).value();
    EXPECT_EQ(decider->try_node(where, too_large).error(), too_few_devices);
    EXPECT_EQ(decider->try_node(node_index{1}, fits).error(), node_not_known);
    EXPECT_EQ(decider->try_node(where, request_id{99, 0}).error(), request_not_known);
    ASSERT_TRUE(book->remove_node(where).has_value());
    EXPECT_EQ(decider->try_node(where, fits).error(), node_gone);
}

TEST_F(ask_node_test, every_device_says_what_it_could_give_and_how_good_that_is) {
    ASSERT_TRUE(run_on(*book, 1, where, 1, 9000));
    ASSERT_TRUE(book->set_service(where, device_index{2}, service_state::draining).value());
    device_request container = want(1, 2000);
    const node_decision decision = ask(pod({container}));
    ASSERT_EQ(decision.containers.size(), 1U);
    ASSERT_EQ(decision.containers[0].size(), 3U);
    const auto& devices = decision.containers[0];
    EXPECT_EQ(devices[0].refusal, rejection_detail{});
    EXPECT_EQ(devices[0].parts, (std::vector<partition>{part(2000)}));
    EXPECT_EQ(devices[1].refusal, (rejection_detail{insufficient_device_memory, 2000, 1000}));
    EXPECT_TRUE(devices[1].parts.empty());
    EXPECT_EQ(devices[2].refusal.code, device_draining);
    container.memory = mib{1000};
    ASSERT_TRUE(book->set_service(where, device_index{2}, service_state::in_service).value());
    const node_decision smaller = ask(pod({container}));
    EXPECT_EQ(smaller.containers[0][1].refusal, rejection_detail{});
    EXPECT_GT(smaller.containers[0][1].score, smaller.containers[0][0].score) << "binpack likes the fuller device";
    EXPECT_EQ(smaller.where.shares[0].device, device_index{1});
}

TEST_F(ask_node_test, the_host_refuses_with_its_numbers) {
    const auto refusal = [&](const pod_request& request) {
        const node_decision decision = ask(request);
        EXPECT_EQ(decision.answer.code, decision.refusal.code);
        EXPECT_TRUE(decision.where.shares.empty());
        EXPECT_EQ(decision.containers.size(), request.containers.size()) << "devices are asked all the same";
        return decision.refusal;
    };
    EXPECT_EQ(refusal(pod({want(1, 1)}, 32001)), (rejection_detail{insufficient_cpu, 32001, 32000}));
    pod_request greedy = pod({want(1, 1)});
    greedy.memory = bytes{64001};
    EXPECT_EQ(refusal(greedy), (rejection_detail{insufficient_memory, 64001, 64000}));
    EXPECT_EQ(refusal(pod({want(4, 1)})), (rejection_detail{too_few_devices, 4, 3}));
    device_request foreign = want(1, 1);
    foreign.models = {"C"};
    EXPECT_EQ(refusal(pod({foreign})).code, model_not_accepted);
    greedy.rules.node_selector = {{"zone", "a"}};
    EXPECT_EQ(refusal(greedy).code, node_selector_differs) << "before the host's amounts";
    node described = book->nodes().nodes[0];
    described.pods_max = 0;
    describe(described);
    EXPECT_EQ(refusal(pod({want(1, 1)})), (rejection_detail{too_many_pods, 1, 0}));
    described.host.taints = {{.key = "gpu"}};
    describe(described);
    EXPECT_EQ(refusal(pod({want(1, 1)})).code, taint_not_tolerated);
    ASSERT_TRUE(book->set_schedulable(where, false).value());
    EXPECT_EQ(refusal(pod({want(1, 1)})).code, node_unschedulable);
}

TEST_F(ask_node_test, a_node_that_is_gone_says_nothing_else) {
    ASSERT_TRUE(run_on(*book, 1, where, 0));
    ASSERT_TRUE(book->remove_node(where).has_value());
    const node_decision decision = ask(pod({want(1, 1)}));
    EXPECT_EQ(decision.answer.code, node_gone);
    EXPECT_EQ(decision.refusal.code, node_gone);
    EXPECT_TRUE(decision.containers.empty());
    EXPECT_FALSE(decision.stopped_at.has_value());
}

/// Two containers fit alone; the second does not once the first has its devices.
TEST_F(ask_node_test, the_container_that_stops_the_pod_is_named_with_what_stops_it) {
    const node_decision decision = ask(pod({want(3, 6000), want(1, 5000)}));
    EXPECT_EQ(decision.answer.code, insufficient_device_memory);
    for (const auto& container : decision.containers) {
        for (const device_answer& alone : container) EXPECT_EQ(alone.refusal, rejection_detail{});
    }
    ASSERT_EQ(decision.stopped_at, 1U);
    ASSERT_EQ(decision.stopped_by.size(), 3U);
    for (const auto& device : decision.stopped_by) {
        ASSERT_TRUE(device.has_value());
        EXPECT_EQ(device->refusal, (rejection_detail{insufficient_device_memory, 5000, 4000}));
        EXPECT_TRUE(device->parts.empty());
    }
}

TEST_F(ask_node_test, the_first_container_may_be_the_one_that_stops_it) {
    const node_decision decision = ask(pod({want(1, 20000), want(1, 1)}));
    EXPECT_EQ(decision.answer.code, insufficient_device_memory);
    EXPECT_EQ(decision.stopped_at, 0U);
    EXPECT_EQ(decision.stopped_by[0]->refusal, (rejection_detail{insufficient_device_memory, 20000, 10000}));
}

TEST_F(ask_node_test, devices_that_it_may_not_share_have_no_answer) {
    pod_request apart = pod({want(2, 100), want(2, 100)});
    apart.containers_apart = true;
    const node_decision decision = ask(apart);
    EXPECT_EQ(decision.answer.code, too_few_devices);
    ASSERT_EQ(decision.stopped_at, 1U);
    std::size_t unanswered = 0;
    for (const auto& device : decision.stopped_by) unanswered += device.has_value() ? 0U : 1U;
    EXPECT_EQ(unanswered, 2U);
    apart.containers[1].count = 1;
    EXPECT_EQ(ask(apart).answer.code, none);
}

TEST_F(ask_node_test, names_of_devices_and_tags_are_looked_at) {
    booking tagged = book_on(1, where, {share_of_device(0, part(10))});
    tagged.tags = {"alone"};
    ASSERT_TRUE(book->adopt(tagged));
    pod_request request = pod({want(1, 100)});
    request.avoids = {"alone"};
    request.containers[0].uuids_denied = {"u1"};
    const node_decision decision = ask(request);
    EXPECT_EQ(decision.containers[0][0].refusal.code, device_avoided);
    EXPECT_EQ(decision.containers[0][1].refusal.code, uuid_not_accepted);
    EXPECT_EQ(decision.where.shares[0].device, device_index{2});
    request.containers[0].uuids_allowed = {"u0", "u1"};
    const node_decision refused = ask(request);
    EXPECT_EQ(refused.containers[0][2].refusal.code, uuid_not_accepted);
    EXPECT_EQ(refused.answer.code, uuid_not_accepted);
    EXPECT_EQ(refused.stopped_at, 0U);
}

TEST_F(ask_node_test, asking_changes_nothing) {
    const ledger_image before = image_of(*book);
    const std::uint64_t next = book->next_event();
    static_cast<void>(ask(pod({want(2, 6000), want(2, 6000)})));
    EXPECT_EQ(image_of(*book), before);
    EXPECT_EQ(book->next_event(), next);
}

TEST_F(ask_node_test, another_policy_scores_a_placement_as_it_would_its_own) {
    ASSERT_TRUE(run_on(*book, 1, where, 0, 3000));
    const pod_request request = pod({want(1, 2000)});
    for (const char* spelling : {"binpack", "spread", "worst_fit", "best_fit"}) {
        const auto other = make(spelling);
        const reference_allocator of_other{*book, {other.get(), other.get()}};
        const node_decision decision = of_other.ask_node(where, request);
        EXPECT_EQ(decider->score_placement(*other, request, decision.where), decision.answer.score) << spelling;
    }
    const auto best_fit = make("best_fit");
    const auto score = [&](std::size_t device) {
        return decider->score_placement(*best_fit, request,
                                        {.node = where, .shares = {share_of_device(device, part(2000))}});
    };
    EXPECT_EQ(score(1).value(), score(2).value()) << "equal states";
    const std::size_t devices = book->nodes().nodes[where.at()].devices.size();
    EXPECT_EQ(score(devices).error().code, too_few_devices);
    EXPECT_EQ(decider->score_placement(*best_fit, pod({want(-1, -5)}), {.node = where, .shares = {}}).error().code,
              amount_not_valid);
    EXPECT_EQ(decider->score_placement(*best_fit, request, {.node = node_index{99U}, .shares = {}}).error().code,
              node_not_known);
    const placement of_another_mode{.node = where, .shares = {share_of_device(1, mig_instance{})}};
    EXPECT_EQ(decider->score_placement(*best_fit, request, of_another_mode).error().code, mode_not_offered);
}

TEST_F(ask_node_test, a_node_that_never_was_is_refused) {
    const node_decision decision = decider->ask_node(node_index{99U}, pod({want(1, 2000)}));
    EXPECT_EQ(decision.answer.code, node_not_known);
    EXPECT_EQ(decision.refusal.code, node_not_known);
}

TEST_F(ask_node_test, a_request_beyond_the_limits_is_refused) {
    const node_decision decision = ask(pod({want(-1, -5)}));
    EXPECT_EQ(decision.answer.code, amount_not_valid);
    EXPECT_EQ(decision.refusal.code, amount_not_valid);
}

} // namespace
} // namespace vgpualloc
