// Volcano's Ascend devices in HAMi mode: what the recordings do not decide, and each quirk switched off.
#include "compat/volcano/ascend_hami.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace vgpualloc::compat::volcano {
namespace {

struct npu {
    std::int64_t memory = 32768;
    std::string more = R"(,"health":true)";
};
constexpr auto network = [](int id) {
    return npu{.more = R"(,"health":true,"custominfo":{"NetworkID":)" + std::to_string(id) + "}"};
};

/// One node with cards of one kind, and what is configured.
class volcano_ascend_hami : public testing::Test {
protected:
    volcano_ascend_hami() {
        options.ascend_hami = true;
        kind.common_word = "Ascend910B4";
        kind.resource_name = "huawei.com/Ascend910B4";
        kind.resource_memory_name = "huawei.com/Ascend910B4-memory";
        kind.memory_allocatable = 32768;
        kind.memory_capacity = 32768;
        kind.templates = {{.name = "half", .memory = 16384, .ai_core = 10, .ai_cpu = 3},
                          {.name = "quarter", .memory = 8192, .ai_core = 5, .ai_cpu = 1}};
        where.name = "n";
        where.allocatable = {{kind.resource_name, "8"}};
    }

    std::unique_ptr<device_object> registered(const std::string& list) {
        where.annotations["hami.io/node-register-" + kind.common_word] = list;
        return make_ascend_hami(where, kind, config, options);
    }
    /// Cards u0, u1, ... of 20 cores that hold 4 pods each.
    std::unique_ptr<device_object> with(const std::vector<npu>& cards) {
        std::string list;
        for (std::size_t i = 0; i < cards.size(); ++i) {
            const std::string at = std::to_string(i);
            list += (list.empty() ? "[" : ",") + (R"({"id":"u)" + at) + R"(","index":)" + at +
                    R"(,"count":4,"devcore":20,"devmem":)" + std::to_string(cards[i].memory) + cards[i].more + "}";
        }
        return registered(list + "]");
    }
    [[nodiscard]] kubernetes::container asks(std::int64_t number, std::int64_t memory) const {
        kubernetes::container container{.name = "c", .limits = {{kind.resource_name, number}}, .requests = {}};
        if (memory != 0) container.limits[kind.resource_memory_name] = memory;
        return container;
    }
    static pod pod_of(std::string uid, std::vector<kubernetes::container> containers) {
        pod pending;
        pending.name = "p-" + uid;
        pending.uid = std::move(uid);
        pending.containers = std::move(containers);
        return pending;
    }
    void turn_off(quirk which) { options.quirks = options.quirks.without(which); }
    [[nodiscard]] std::string devices(const allocate_answer& answer) const {
        return kubernetes::value_of(answer.annotations, "hami.io/" + kind.common_word + "-devices-allocated");
    }
    [[nodiscard]] pod bound(std::string uid, std::string list) const {
        pod pending = pod_of(std::move(uid), {});
        pending.annotations["hami.io/" + kind.common_word + "-devices-allocated"] = std::move(list);
        return pending;
    }
    /// Card indices per container.
    static std::vector<std::vector<std::int64_t>> picked(const allocate_answer& answer) {
        std::vector<std::vector<std::int64_t>> result;
        for (const auto& container : answer.containers) {
            auto& list = result.emplace_back();
            for (const auto& card : container) list.push_back(card.index);
        }
        return result;
    }
    static std::vector<std::int64_t> used(const device_object& of) {
        std::vector<std::int64_t> result;
        for (const auto& shown : of.state().devices) result.push_back(shown.used_num);
        return result;
    }
    using lists = std::vector<std::vector<std::int64_t>>;
    using numbers = std::vector<std::int64_t>;

    node where;
    vnpu_kind kind;
    device_config config;
    plugin_options options;
};

TEST_F(volcano_ascend_hami, a_register_that_go_would_refuse_makes_no_object) {
    EXPECT_NE(registered(R"([{"id":"a"}])"), nullptr);
    for (const char* const bad :
         {"", "null", "{}", "[]", "[null]", "[1]", R"([{"id":1}])", R"([{"id":"a"}]x)", R"([{"count":1.0}])",
          R"([{"devmem":2147483648}])", R"([{"index":-1}])", R"([{"index":18446744073709551615}])",
          R"([{"health":"yes"}])", R"([{"custominfo":[]}])"}) {
        EXPECT_EQ(registered(bad), nullptr) << bad;
    }
    where.allocatable[kind.resource_name] = "0";
    EXPECT_EQ(registered(R"([{"id":"a"}])"), nullptr);
    where.allocatable.clear();
    EXPECT_EQ(registered(R"([{"id":"a"}])"), nullptr);
}

TEST_F(volcano_ascend_hami, names_of_fields_are_read_in_any_case_and_the_last_of_an_id_stays) {
    const auto devices = registered(
        R"([{"ID":"a","Count":3,"type":null},{"id":"b","index":1},{"id":"a","index":2,"count":5,"custominfo":{"NetworkID":2.9}}])");
    ASSERT_NE(devices, nullptr);
    const auto state = devices->state();
    ASSERT_EQ(state.devices.size(), 2U);
    EXPECT_EQ(state.devices[0].uuid, "b");
    EXPECT_EQ(state.devices[1].uuid, "a");
    EXPECT_EQ(state.devices[1].number, 5);
    EXPECT_EQ(state.devices[1].network_id, 2);
}

TEST_F(volcano_ascend_hami, the_nodes_word_on_core_mode_is_before_the_configurations) {
    pod pending = pod_of("a", {asks(1, 1000)});
    pending.annotations["huawei.com/vnpu-mode"] = "hami-core";
    config.hami_vnpu_core = true;
    EXPECT_TRUE(with({{}})->filter(pending, "").fits);
    where.annotations["hami-vnpu-core"] = "True";
    EXPECT_FALSE(with({{}})->filter(pending, "").fits) << "only \"true\" is true";
    where.annotations["hami-vnpu-core"] = "true";
    config.hami_vnpu_core = false;
    const auto fresh = with({{}});
    const auto answer = fresh->allocate(pending, "");
    ASSERT_TRUE(answer.ok);
    EXPECT_EQ(answer.annotations.at("huawei.com/Ascend910B4"), R"([{"UUID":"u0","memory":1000}])");
}

TEST_F(volcano_ascend_hami, an_earlier_shortage_wins_over_a_later_partial_request) {
    const auto fresh = with({{}, {}});
    const auto partial = fresh->filter(pod_of("a", {asks(1, 8192), asks(2, 8192)}), "");
    EXPECT_EQ(partial.code, 1);
    EXPECT_EQ(partial.reason, "multi_device_partial_memory");
    const auto shortage = fresh->filter(pod_of("a", {asks(3, 0), asks(2, 8192)}), "");
    EXPECT_EQ(shortage.code, 2);
    EXPECT_EQ(shortage.reason, "not_enough_fit");
}

TEST_F(volcano_ascend_hami, of_equal_networks_the_lower_number_comes_first) {
    for (const bool has : {true, false}) {
        if (!has) turn_off(quirk::q13);
        const auto tie = with({network(7), network(2), network(7), network(2)});
        EXPECT_EQ(picked(tie->allocate(pod_of("a", {asks(3, 0)}), "")), (lists{{1, 3, 0}}));
        const auto larger = with({network(2), network(7), network(7)});
        EXPECT_EQ(picked(larger->allocate(pod_of("a", {asks(2, 0)}), "")), (lists{{1, 2}}));
    }
}

TEST_F(volcano_ascend_hami, a_network_that_is_no_number_gives_no_cards_and_no_score) {
    const npu odd{.more = R"(,"custominfo":{"NetworkID":"a"})"};
    const auto fresh = with({odd, odd});
    const pod pending = pod_of("a", {asks(1, 0)});
    EXPECT_TRUE(fresh->filter(pending, "spread").fits);
    EXPECT_EQ(fresh->score(pending, "spread"), 0.0);
    EXPECT_EQ(picked(fresh->allocate(pending, "")), lists{{}});
}

TEST_F(volcano_ascend_hami, a_nodes_score_is_of_the_first_card_of_each_record_and_of_their_networks) {
    const pod one = pod_of("a", {asks(2, 0)});
    const pod three = pod_of("b", {asks(1, 8192), asks(1, 8192), asks(1, 8192)});
    const auto flat = with({{}, network(1), network(1)});
    EXPECT_EQ(flat->score(one, "spread"), 100.0) << "one card has no network";
    EXPECT_EQ(flat->score(three, "spread"), 300.0);
    const auto fresh = with({network(1), network(2), network(1)});
    EXPECT_EQ(fresh->score(one, "spread"), 110.0);
    EXPECT_EQ(fresh->score(three, ""), 2.0 / 3.0 * 10.0) << "two of three in one network";
    fresh->add_resource(bound("z", "u0,W,8192,0:;"));
    EXPECT_EQ(fresh->score(pod_of("a", {asks(1, 8192)}), "binpack"), 35.0) << "a quarter of the card was used before";

    kind.common_word = "Ascend310P";
    EXPECT_EQ(with({network(1)})->score(pod_of("a", {asks(1, 0)}), "spread"), 100.0) << "no topology for this word";
}

TEST_F(volcano_ascend_hami, cores_are_those_of_the_chip_or_100_when_soft_sliced) {
    const auto with_cores = [this](std::int64_t cores, bool soft) {
        pod pending = pod_of("a", {asks(1, 1000)});
        pending.containers[0].limits[kind.resource_name + "-core"] = cores;
        if (soft) pending.annotations["huawei.com/vnpu-mode"] = "hami-core";
        return pending;
    };
    config.hami_vnpu_core = true;
    const auto idle = with({{}});
    EXPECT_TRUE(idle->filter(with_cores(20, false), "").fits);
    EXPECT_FALSE(idle->filter(with_cores(21, false), "").fits);
    EXPECT_TRUE(idle->filter(with_cores(100, true), "").fits);
    EXPECT_FALSE(idle->filter(with_cores(101, true), "").fits);

    const auto begun = with({{}});
    begun->add_resource(bound("z", "u0,W,1000,0:;"));
    EXPECT_TRUE(begun->filter(with_cores(99, true), "").fits);
    EXPECT_FALSE(begun->filter(with_cores(100, true), "").fits) << "all cores means alone";
    EXPECT_TRUE(begun->filter(with_cores(20, false), "").fits) << "of 20 it does not";

    const auto full = with({{}});
    full->add_resource(bound("z", "u0,W,1000,20:;"));
    EXPECT_FALSE(full->filter(pod_of("a", {asks(1, 1000)}), "").fits) << "no cores asked for, none left";
    EXPECT_TRUE(full->filter(with_cores(0, true), "").fits);
}

TEST_F(volcano_ascend_hami, entries_of_an_annotation_are_read_as_go_reads_them) {
    const auto fresh = with({{}, {}});
    fresh->add_resource(bound("a", "u0,W,1x,99999999999:;junk:u1,W,-5,+3:u1,W,7,7:u9,W,1,1:;"));
    const auto state = fresh->state();
    EXPECT_EQ(state.devices[0].pods.at("a"), (std::pair<std::int64_t, std::int64_t>{0, 2147483647}));
    EXPECT_EQ(state.devices[1].pods.at("a"), (std::pair<std::int64_t, std::int64_t>{-5, 3})) << "once per pod";
    fresh->add_resource(bound("b", "u0,W,1,1:u1,W,1:;"));
    EXPECT_EQ(used(*fresh), (numbers{1, 1})) << "a field is missing: nothing is booked";
    fresh->sub_resource(pod_of("a", {}));
    EXPECT_EQ(used(*fresh), (numbers{0, 0})) << "without an annotation by uid";
}

TEST_F(volcano_ascend_hami, q15_at_weight_0_allocate_knows_no_policy) {
    const pod pending = pod_of("a", {asks(1, 8192)});
    const auto fresh = [this] {
        auto result = with({{}, {}});
        result->add_resource(bound("z", "u0,W,8192,0:;"));
        return result;
    };
    const auto unscored = fresh();
    ASSERT_TRUE(unscored->filter(pending, "spread").fits);
    EXPECT_EQ(picked(unscored->allocate(pending, "spread")), lists{{0}});

    const auto scored = fresh();
    EXPECT_EQ(scored->score(pending, "spread"), 100.0);
    EXPECT_EQ(picked(scored->copy()->allocate(pending, "")), lists{{1}}) << "ScoreNode's policy, not the one given";

    turn_off(quirk::q15);
    EXPECT_EQ(picked(fresh()->allocate(pending, "spread")), lists{{1}});
}

TEST_F(volcano_ascend_hami, q15_can_make_allocate_fail_after_the_filter) {
    // Without a policy the first card is the larger, so a whole card is more than is left on any.
    config.hami_vnpu_core = true;
    const auto capable = with({{.memory = 65536}, {.memory = 32768}});
    capable->add_resource(bound("z", "u0,W,1000,0:u1,W,1000,0:;"));
    pod pending = pod_of("a", {asks(1, 0)});
    pending.annotations["huawei.com/vnpu-mode"] = "hami-core";
    ASSERT_TRUE(capable->filter(pending, "binpack").fits);
    const auto failed = capable->allocate(pending, "binpack");
    EXPECT_FALSE(failed.ok);
    EXPECT_EQ(failed.error, "failed to select ascend devices for pod p-a: no enough ascend device available");
    EXPECT_EQ(failed.reason, "not_enough_fit");
    EXPECT_EQ(used(*capable), (numbers{1, 1}));
}

TEST_F(volcano_ascend_hami, q7b_a_request_for_no_cards_takes_one_and_on_a_topology_all) {
    const pod pending = pod_of("a", {asks(0, 8192)});
    const auto flat = with({{}, {}});
    const auto one = flat->allocate(pending, "");
    EXPECT_EQ(picked(one), lists{{0}});
    EXPECT_EQ(devices(one), "u0,Ascend910B4,8192,0:;");
    EXPECT_EQ(used(*flat), (numbers{1, 0}));
    EXPECT_EQ(picked(with({network(1), network(0), network(1)})->allocate(pending, "")), (lists{{0, 2, 1}}));
}

TEST_F(volcano_ascend_hami, q7b_where_no_card_fits_no_cards_are_given_and_score_does_not_panic) {
    const auto fresh = with({{.memory = 1000}});
    const pod pending = pod_of("a", {asks(0, 8192)});
    EXPECT_TRUE(fresh->filter(pending, "spread").fits);
    EXPECT_EQ(fresh->score(pending, "spread"), 0.0);
    const auto answer = fresh->allocate(pending, "");
    EXPECT_TRUE(answer.ok);
    EXPECT_EQ(devices(answer), ";");
    EXPECT_EQ(answer.annotations.at("huawei.com/Ascend910B4"), "null");
    EXPECT_EQ(used(*fresh), numbers{0});
}

TEST_F(volcano_ascend_hami, q7b_off_a_request_for_no_cards_takes_none) {
    turn_off(quirk::q7b);
    const auto fresh = with({network(0), network(0)});
    const auto answer = fresh->allocate(pod_of("a", {asks(0, 8192), asks(1, 8192)}), "");
    EXPECT_EQ(picked(answer), (lists{{}, {0}}));
}

TEST_F(volcano_ascend_hami, q2b_off_every_record_is_booked) {
    const pod pending = pod_of("a", {asks(1, 8192), asks(2, 0), asks(1, 16384)});
    const std::vector<npu> four(4);
    const auto upstream = with(four);
    ASSERT_TRUE(upstream->allocate(pending, "").ok);
    EXPECT_EQ(used(*upstream), (numbers{1, 0, 1, 0}));

    turn_off(quirk::q2b);
    const auto fresh = with(four);
    const auto answer = fresh->allocate(pending, "");
    EXPECT_EQ(used(*fresh), (numbers{1, 1, 1, 1}));
    fresh->sub_resource(bound("a", devices(answer)));
    EXPECT_EQ(used(*fresh), (numbers{0, 0, 0, 0}));
}

TEST_F(volcano_ascend_hami, q4_off_a_container_without_a_request_keeps_its_place) {
    const pod pending = pod_of("a", {{.name = "sidecar", .limits = {}, .requests = {}}, asks(1, 8192)});
    EXPECT_EQ(devices(with({{}})->allocate(pending, "")), "u0,Ascend910B4,8192,0:;");
    turn_off(quirk::q4);
    turn_off(quirk::q2b); // which otherwise drops the first card of the second place
    const auto fresh = with({{}});
    const auto answer = fresh->allocate(pending, "");
    EXPECT_EQ(devices(answer), ";u0,Ascend910B4,8192,0:;");
    EXPECT_EQ(picked(answer), lists{{0}}) << "per requesting container";
    EXPECT_EQ(used(*fresh), numbers{1});
}

TEST_F(volcano_ascend_hami, q5_off_unhealthy_cards_are_skipped) {
    const std::vector<npu> cards{{.more = R"(,"health":false)"}, {}, {.more = ""}};
    const pod pending = pod_of("a", {asks(2, 0)});
    EXPECT_EQ(picked(with(cards)->allocate(pending, "")), (lists{{0, 1}}));
    turn_off(quirk::q5);
    EXPECT_FALSE(with(cards)->filter(pending, "").fits);
    EXPECT_EQ(picked(with(cards)->allocate(pod_of("a", {asks(1, 0)}), "")), lists{{1}});
}

TEST_F(volcano_ascend_hami, q11_off_more_memory_than_a_card_has_does_not_fit) {
    const pod pending = pod_of("a", {asks(1, 32769)});
    const auto answer = with({{}})->allocate(pending, "");
    EXPECT_EQ(devices(answer), "u0,Ascend910B4,0,0:;");
    EXPECT_EQ(answer.annotations.at("huawei.com/Ascend910B4"), R"([{"UUID":"u0","temp":"quarter"}])");
    turn_off(quirk::q11);
    const auto refused = with({{}})->filter(pending, "");
    EXPECT_EQ(refused.code, 2);
    EXPECT_EQ(refused.reason, "not_enough_fit");
    EXPECT_TRUE(with({{}})->filter(pod_of("a", {asks(1, 32768)}), "").fits);
}

/// A quarter needs 5 AI cores and 1 AI CPU, a half 10 and 3.
TEST_F(volcano_ascend_hami, q32_off_templates_share_the_ai_cores_and_ai_cpus_of_a_card) {
    struct budget {
        std::int64_t ai_core;
        std::int64_t ai_cpu;
        bool fits;
    };
    for (const budget& card : {budget{.ai_core = 15, .ai_cpu = 4, .fits = true},
                               {.ai_core = 14, .ai_cpu = 4, .fits = false},
                               {.ai_core = 15, .ai_cpu = 3, .fits = false},
                               {.ai_core = 0, .ai_cpu = 0, .fits = true}}) {
        options = {};
        options.ascend_hami = true;
        kind.ai_core = card.ai_core;
        kind.ai_cpu = card.ai_cpu;
        const auto upstream = with({{}});
        ASSERT_TRUE(upstream->allocate(pod_of("a", {asks(1, 8192)}), "").ok);
        EXPECT_TRUE(upstream->filter(pod_of("b", {asks(1, 16384)}), "").fits);

        turn_off(quirk::q32);
        const auto fresh = with({{}});
        const auto first = fresh->allocate(pod_of("a", {asks(1, 8192)}), "");
        ASSERT_TRUE(first.ok);
        EXPECT_EQ(fresh->filter(pod_of("b", {asks(1, 16384)}), "").fits, card.fits) << card.ai_core << card.ai_cpu;
        fresh->sub_resource(bound("a", devices(first)));
        EXPECT_TRUE(fresh->filter(pod_of("b", {asks(1, 16384)}), "").fits) << "what a pod frees is there again";
    }
}

TEST_F(volcano_ascend_hami, q32_off_a_soft_slice_has_no_ai_cores) {
    kind.ai_core = 10;
    kind.ai_cpu = 3;
    config.hami_vnpu_core = true;
    turn_off(quirk::q32);
    const auto fresh = with({{}});
    pod soft = pod_of("a", {asks(1, 8192)});
    soft.annotations["huawei.com/vnpu-mode"] = "hami-core";
    ASSERT_TRUE(fresh->allocate(soft, "").ok);
    EXPECT_TRUE(fresh->filter(pod_of("b", {asks(1, 16384)}), "").fits) << "all AI cores are left";
    ASSERT_TRUE(fresh->allocate(pod_of("b", {asks(1, 16384)}), "").ok);
    soft.uid = "c";
    EXPECT_TRUE(fresh->filter(soft, "").fits) << "nor does it need any";
}

} // namespace
} // namespace vgpualloc::compat::volcano
