// What the policies of living clusters learn of the pods that come and go.
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "live_pods.hpp"
#include "vgpualloc/policy/bid_price.hpp"

using namespace live_test;

namespace {

/// Pods of three kinds that come, are placed where they fit and go again.
class comings_and_goings {
public:
    explicit comings_and_goings(live_cluster& live) : live_{&live} {}

    void come() {
        static constexpr int memory[] = {1000, 2000, 40'000};
        const std::string number = std::to_string(pods_++);
        const std::string uid = "u" + number;
        ASSERT_EQ(live_->upsert(objects(named_pod("p" + number, uid, vgpu(1, memory[pods_ % 3])))[0]), told::changed);
        last_ = uid;
        std::vector<node_index> all;
        for (std::size_t n = 0; n < live_->book().nodes().nodes.size(); ++n) all.emplace_back(n);
        const auto best = live_->choose(uid, all);
        ASSERT_TRUE(best);
        if (!*best) return;
        ASSERT_TRUE(live_->reserve(uid, **best).fits());
        ASSERT_EQ(live_->commit(uid).code, rejection_code::none);
        running_.push_back(uid);
    }
    void go() {
        if (running_.empty()) return;
        ASSERT_TRUE(live_->remove_pod(running_.front()));
        running_.erase(running_.begin());
    }
    void turn_over(int times, std::size_t together = 4) {
        for (int i = 0; i < times; ++i) {
            if (running_.size() >= together) go();
            come();
        }
    }
    [[nodiscard]] const std::string& last() const { return last_; }

private:
    live_cluster* live_;
    int pods_ = 0;
    std::string last_;
    std::vector<std::string> running_;
};

const std::string three_nodes =
    gpu_node("n0", card("A") + card("B")) + gpu_node("n1", card("C") + card("D")) + gpu_node("n2", card("E"));

std::string waiting(int memory) { return named_pod("waits", "w", vgpu(1, memory)); }

} // namespace

TEST(live_learning, prices_follow_from_what_was_told_alone) {
    const auto live = live_of(three_nodes, "bid_price");
    const auto again = live_of(three_nodes, "bid_price");
    comings_and_goings first{*live};
    comings_and_goings second{*again};
    const auto fresh = live_of(three_nodes, "bid_price");
    for (int i = 0; i < 60; ++i) {
        first.turn_over(1);
        // What is only tried is not told, and changes nothing.
        const auto best = live->find_node("n2");
        if (live->state_of(first.last()) == live_pod_state::waiting) continue;
        live->begin_trial();
        static_cast<void>(live->release(first.last()));
        static_cast<void>(live->ask_node(first.last(), best));
        EXPECT_TRUE(live->end_trial(false));
    }
    second.turn_over(60);
    for (live_cluster* cluster : {live.get(), again.get(), fresh.get()}) {
        EXPECT_EQ(cluster->upsert(objects(waiting(2000))[0]), told::changed);
    }
    EXPECT_EQ(scores_of(*live, "w"), scores_of(*again, "w"));
    for (const std::string& uid : fresh->pods()) EXPECT_EQ(uid, "w");
    for (const std::string& uid : live->pods()) {
        if (uid == "w") continue;
        EXPECT_TRUE(live->remove_pod(uid));
    }
    EXPECT_NE(scores_of(*live, "w"), scores_of(*fresh, "w")) << "the same pods, but not the same arrivals before";
}

TEST(live_learning, a_reservation_that_is_rolled_back_teaches_nothing) {
    const auto live = live_of(three_nodes, "bid_price");
    const auto again = live_of(three_nodes, "bid_price");
    comings_and_goings first{*live};
    comings_and_goings second{*again};
    first.turn_over(20);
    second.turn_over(20);
    for (live_cluster* cluster : {live.get(), again.get()}) {
        EXPECT_EQ(cluster->upsert(objects(waiting(1000))[0]), told::changed);
    }
    for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(live->reserve("w", live->find_node("n0")).fits());
        ASSERT_EQ(live->rollback("w").code, rejection_code::none);
    }
    first.turn_over(40);
    second.turn_over(40);
    EXPECT_EQ(scores_of(*live, "w"), scores_of(*again, "w"));
}

TEST(live_learning, other_typical_pods_take_nothing_from_what_was_learned) {
    const auto live = live_of(three_nodes, "bid_price");
    comings_and_goings pods{*live};
    pods.turn_over(60);
    ASSERT_EQ(live->upsert(objects(waiting(2000))[0]), told::changed);
    const auto before = scores_of(*live, "w");
    EXPECT_TRUE(live->learn_workload());
    EXPECT_EQ(scores_of(*live, "w"), before);
    ASSERT_TRUE(live->renew_policies());
    EXPECT_EQ(scores_of(*live, "w"), before);
    live_options same{.policy = "bid_price"};
    same.config = dialects().config();
    ASSERT_TRUE(live->configure(std::move(same)));
    EXPECT_EQ(scores_of(*live, "w"), before);
}

TEST(live_learning, a_device_policy_goes_on_from_what_decided_about_devices) {
    const auto live = live_of(three_nodes, "bid_price");
    comings_and_goings pods{*live};
    pods.turn_over(200, 12);
    live_options apart{.policy = "fgd", .device_policy = "bid_price"};
    apart.config = dialects().config();
    ASSERT_TRUE(live->configure(std::move(apart)));
    const auto again = live_of(three_nodes, "bid_price");
    comings_and_goings same{*again};
    same.turn_over(200, 12);
    for (int i = 0; i < 4; ++i) {
        pods.go();
        same.go();
    }
    EXPECT_EQ(live->upsert(objects(waiting(2000))[0]), told::changed);
    EXPECT_EQ(again->upsert(objects(waiting(2000))[0]), told::changed);
    const auto device_scores = [](live_cluster& cluster) {
        std::vector<double> scores;
        const auto explained = cluster.question("w")->explain();
        for (const auto& node : explained->nodes) {
            for (const auto& device : node.devices) scores.push_back(device.containers.at(0).score);
        }
        return scores;
    };
    EXPECT_EQ(device_scores(*live), device_scores(*again));
}

TEST(live_learning, a_policy_that_comes_later_hears_of_the_pods_that_are_there) {
    const auto live = live_of(three_nodes, "binpack");
    comings_and_goings pods{*live};
    pods.turn_over(40);
    live_options other{.policy = "bid_price"};
    other.config = dialects().config();
    ASSERT_TRUE(live->configure(std::move(other)));
    ASSERT_EQ(live->upsert(objects(waiting(2000))[0]), told::changed);
    const auto explained = live->question("w")->explain();
    ASSERT_TRUE(explained && explained->chosen);
    const auto& parts = explained->nodes[*explained->chosen].terms.at(0).parts;
    ASSERT_EQ(parts.size(), 1U) << "nobody has left yet: leftovers alone";
    EXPECT_LT(parts[0].worth, 0.0);
}

TEST(live_learning, an_explanation_has_the_scores_of_the_scheduler_and_what_they_are_made_of) {
    const auto live = live_of(three_nodes, "bid_price");
    comings_and_goings pods{*live};
    pods.turn_over(200, 12);
    for (int i = 0; i < 4; ++i) pods.go();
    ASSERT_EQ(live->upsert(objects(waiting(2000))[0]), told::changed);
    const auto explained = live->question("w")->explain();
    ASSERT_TRUE(explained);
    const auto opinions = live->evaluate("w", false);
    ASSERT_TRUE(opinions);
    std::size_t with_slots = 0;
    for (const auto& node : explained->nodes) {
        if (!node.refused.fits()) continue;
        EXPECT_EQ(node.score, (*opinions)[live->find_node(node.name).at()].score) << node.name;
        double sum = 0.0;
        for (const auto& part : node.terms.at(0).parts) sum += part.worth;
        EXPECT_NEAR(sum, node.score, 1e-9);
        if (node.terms[0].parts.size() > 1) ++with_slots;
    }
    EXPECT_GT(with_slots, 0U);
}
