// Volcano's 310P devices in MindCluster mode: each quirk, and what is different with it switched off.
#include "volcano_mindcluster_fixture.hpp"

#include <tuple>

namespace vgpualloc::compat::volcano {
namespace {

using volcano_mindcluster_quirks = volcano_mindcluster;

TEST_F(volcano_mindcluster_quirks, q3_a_discarded_allocation_leaves_its_marks) {
    for (const bool has : {true, false}) {
        if (!has) turn_off(quirk::q3);
        cache.reset();
        const auto open = session();
        const auto reason_for = [&](const pod& pending) {
            static_cast<void>(open->filter(pending, ""));
            return open->allocate(pending, "").reason;
        };
        EXPECT_EQ(reason_for(asks("a", 2)), "");
        open->unallocate(asks("a", 2));
        EXPECT_EQ(free(*open), (amounts{{0, {8, 7}}})) << "amounts are given back either way";
        EXPECT_EQ(open->state().devices.front().segment, has);
        EXPECT_EQ(open->state().devices.front().npu_free->dvpp, has ? "null" : "yes");
        EXPECT_EQ(reason_for(asks("b", 8)), has ? "no_whole_chip" : "");
    }
}

TEST_F(volcano_mindcluster_quirks, q13_of_chips_that_do_not_cover_each_other_upstreams_sort_takes_either) {
    chips(2);
    holds("0-vir04"); // 4 cores and 3 CPUs left
    for (const char* const group : {"0", "1", "2"}) holds("1-vir02_1c", std::string{"Ascend310P-2c-100-1_"} + group);
    EXPECT_EQ(free(*session()), (amounts{{0, {4, 3}}, {1, {2, 4}}}));
    EXPECT_EQ(annotation_for(asks("a", 1)), "0-vir01") << "sorted twice, each time the other way round";
    cache.reset();
    turn_off(quirk::q13);
    EXPECT_EQ(annotation_for(asks("a", 1)), "1-vir01") << "fewest free cores";
}

TEST_F(volcano_mindcluster_quirks, q13_equal_chips_come_by_id_on_and_off) {
    chips(12);
    for (const bool has : {true, false}) {
        if (!has) turn_off(quirk::q13);
        cache.reset();
        EXPECT_EQ(annotation_for(asks("a", 1)), "0-vir01");
        cache.reset();
        EXPECT_EQ(annotation_for(asks("a", 24)), "0,1,2");
    }
}

TEST_F(volcano_mindcluster_quirks, q16_counts_without_a_template_pass_the_filter) {
    chips(2);
    for (const std::int64_t cores : {3, 5, 6, 7, 10}) {
        EXPECT_EQ(refusal(asks("a", cores)), "") << cores;
        EXPECT_EQ(annotation_for(asks("a", cores)), "zero_cards") << cores;
    }
    turn_off(quirk::q16);
    for (const std::int64_t cores : {3, 5, 6, 7, 10}) EXPECT_EQ(refusal(asks("a", cores)), "bad_core_count") << cores;
    for (const std::int64_t cores : {1, 2, 4, 8, 16}) EXPECT_EQ(refusal(asks("a", cores)), "") << cores;
    EXPECT_EQ(refusal(asks("a", 3, "", "maybe")), "bad_dvpp") << "what came before still does";
}

TEST_F(volcano_mindcluster_quirks, q17_the_filter_passes_what_no_chip_has) {
    const auto filtered_and_given = [this](const pod& pending) {
        cache.reset();
        const std::string filtered = refusal(pending);
        cache.reset();
        return std::pair{filtered, annotation_for(pending)};
    };
    using answers = std::pair<std::string, std::string>;
    for (const bool has : {true, false}) {
        if (!has) turn_off(quirk::q17);
        const auto late = [has](const std::string& reason) { return answers{has ? "" : reason, reason}; };
        on_node.clear();
        chips(2);
        info.device_list["huawei.com/Ascend310P-Unhealthy"] = "Ascend310P-1";
        EXPECT_EQ(filtered_and_given(asks("a", 16)), late("no_whole_chip"));
        info.device_list["huawei.com/Ascend310P-Unhealthy"] = "Ascend310P-0,Ascend310P-1";
        EXPECT_EQ(filtered_and_given(asks("a", 8)), late("no_chips"));
        chips(1);
        holds("0-vir04_4c_dvpp");
        EXPECT_EQ(filtered_and_given(asks("a", 4, "high", "yes")), late("no_chip"));
        EXPECT_EQ(filtered_and_given(asks("a", 4, "", "no")), (answers{"", "0-vir04_3c_ndvpp"}));
        on_node.clear();
        holds("0-vir01", "");
        EXPECT_EQ(filtered_and_given(asks("a", 1)), late("no_chip")) << "not confirmed";
        on_node.clear();
        holds("0-vir04");
        EXPECT_EQ(filtered_and_given(asks("a", 4, "high")), (answers{"", "0-vir04_3c"})) << "a downgrade helps";
        EXPECT_EQ(filtered_and_given(asks("a", 3)), (answers{"", "zero_cards"})) << "that is Q16";
    }
}

TEST_F(volcano_mindcluster_quirks, q18_one_template_at_a_time_and_one_whole_card_pod) {
    chips(3);
    for (const bool has : {true, false}) {
        if (!has) turn_off(quirk::q18);
        cache.reset();
        auto fresh = session();
        ASSERT_TRUE(fresh->allocate(asks("a", 1), "").ok);
        EXPECT_EQ(fresh->filter(asks("b", 1), "").reason, "");
        EXPECT_EQ(fresh->filter(asks("b", 2), "").reason, has ? "different_template_on_node" : "");
        const auto whole = fresh->filter(asks("b", 8), "");
        EXPECT_EQ(whole.reason, has ? "template_not_found_with_busy_node" : "");
        if (has) {
            EXPECT_EQ(whole.error, "vnpu.VResource{Aicore:8, Aicpu:7, DVPP:\"null\"} not get template");
            EXPECT_EQ(fresh->filter(asks("b", 3), "").error,
                      "vnpu.VResource{Aicore:0, Aicpu:0, DVPP:\"\"} not get template");
        }
        cache.reset();
        fresh = session();
        ASSERT_TRUE(fresh->allocate(asks("a", 8), "").ok);
        EXPECT_EQ(fresh->filter(asks("b", 8), "").reason, has ? "template_not_found_with_busy_node" : "");
        EXPECT_EQ(fresh->filter(asks("b", 1), "").reason, has ? "different_template_on_node" : "");
    }
}

TEST_F(volcano_mindcluster_quirks, q19_the_sessions_ledger_is_charged_what_was_asked) {
    for (const bool has : {true, false}) {
        if (!has) turn_off(quirk::q19);
        on_node.clear();
        cache.reset();
        for (const char* const group : {"0", "1", "2"}) holds("0-vir02", std::string{"Ascend310P-2c-100-0_"} + group);
        const pod pending = asks("a", 2, "high");
        const auto fresh = session();
        ASSERT_TRUE(fresh->filter(pending, "").fits);
        const auto answer = fresh->allocate(pending, "");
        EXPECT_EQ(answer.annotations.at(npu_core), "0-vir02_1c");
        EXPECT_EQ(free(*fresh), (amounts{{0, {0, has ? -1 : 0}}}));

        pod bound = pending;
        bound.annotations = answer.annotations;
        on_node.push_back(bound);
        EXPECT_EQ(free(*session()), (amounts{{0, {0, 0}}})) << "the next session goes by the template";
        fresh->unallocate(pending);
        EXPECT_EQ(free(*fresh), (amounts{{0, {2, 1}}})) << "as much is given back as was taken";
    }
}

TEST_F(volcano_mindcluster_quirks, q19_a_mark_counts_for_another_pod_of_that_name) {
    for (const bool has : {true, false}) {
        if (!has) turn_off(quirk::q19);
        on_node.clear();
        cache.reset();
        holds("0-vir04");
        const auto fresh = session();
        ASSERT_TRUE(fresh->filter(named(asks("a", 4, "high"), "train"), "").fits);
        const pod other = named(asks("b", 2, "high"), "train");
        ASSERT_TRUE(fresh->filter(other, "").fits);
        EXPECT_EQ(fresh->allocate(other, "").annotations.at(npu_core), "0-vir02_1c");
        EXPECT_EQ(free(*fresh), (amounts{{0, {2, has ? 1 : 2}}}));
    }
}

TEST_F(volcano_mindcluster_quirks, q26_a_node_without_base_device_infos_becomes_valid_in_the_second_session) {
    where.annotations.clear();
    EXPECT_EQ(refusal(asks("a", 8)), "invalid_vnode");
    EXPECT_EQ(annotation_for(asks("a", 8)), "0");
    turn_off(quirk::q26);
    cache.reset();
    EXPECT_EQ(refusal(asks("a", 8)), "invalid_vnode");
    EXPECT_EQ(refusal(asks("a", 8)), "invalid_vnode");
}

TEST_F(volcano_mindcluster_quirks, q28_the_use_of_dvpp_is_not_looked_at_for_1_and_2_cores) {
    chips(2);
    for (const bool has : {true, false}) {
        if (!has) turn_off(quirk::q28);
        for (const char* const word : {"yes", "no"}) {
            EXPECT_EQ(refusal(asks("a", 1, "", word)), has ? "" : "bad_dvpp") << word;
            EXPECT_EQ(refusal(asks("a", 2, "high", word)), has ? "" : "bad_dvpp") << word;
        }
        EXPECT_EQ(refusal(asks("a", 2, "", "null")), "");
        EXPECT_EQ(refusal(asks("a", 2)), "");
        EXPECT_EQ(refusal(asks("a", 4, "", "yes")), "") << "of 4 cores the table has such a template";
        EXPECT_EQ(refusal(asks("a", 8, "", "yes")), "") << "whole chips: no label matters";
        EXPECT_EQ(refusal(asks("a", 1, "", "maybe")), "bad_dvpp");
    }
    EXPECT_EQ(session()->filter(asks("a", 2, "", "yes"), "").error, "no template of 2 cores for vnpu-dvpp yes");
}

/// A pod whose containers ask for so many cores each.
pod with_containers(pod of, const std::vector<std::int64_t>& cores) {
    of.containers.clear();
    for (const std::int64_t amount : cores) {
        of.containers.push_back({.name = "c", .limits = {{npu_core, amount}}, .requests = {{npu_core, amount}}});
    }
    return of;
}

TEST_F(volcano_mindcluster_quirks, q29_the_first_container_stands_for_the_pod) {
    for (const bool has : {true, false}) {
        options.quirks = quirk_set::all();
        if (!has) turn_off(quirk::q29);
        const auto annotation_anew = [this](const pod& pending) {
            cache.reset();
            return annotation_for(pending);
        };
        chips(2);
        EXPECT_EQ(annotation_anew(with_containers(asks("a", 1), {0, 2, 4})),
                  has ? "0-vir02_1c" : "0-vir02_1c;0-vir04_3c");
        EXPECT_EQ(annotation_anew(with_containers(asks("a", 1), {8, 2})), has ? "0" : "0;1-vir02_1c");
        EXPECT_EQ(annotation_anew(with_containers(asks("a", 1), {2, 16})),
                  has ? "0-vir02_1c" : "idle_core_insufficient")
            << "16 cores are idle, and of 18 the first 2 are compared";
        EXPECT_EQ(annotation_anew(with_containers(asks("a", 4, "", "yes"), {4, 4})),
                  has ? "0-vir04_4c_dvpp" : "0-vir04_4c_dvpp;1-vir04_4c_dvpp");
        EXPECT_EQ(annotation_anew(with_containers(asks("a", 1), {2, 3})), has ? "0-vir02_1c" : "zero_cards")
            << "that of 3 cores is Q16";
        chips(1);
        EXPECT_EQ(annotation_anew(with_containers(asks("a", 4, "", "yes"), {4, 4})),
                  has ? "0-vir04_4c_dvpp" : "no_chip")
            << "one video unit for two";
    }
}

TEST_F(volcano_mindcluster_quirks, q29_every_container_is_booked_and_given_back) {
    turn_off(quirk::q29);
    const pod pending = with_containers(asks("a", 1, "high"), {4, 4});
    const auto fresh = session();
    ASSERT_TRUE(fresh->filter(pending, "").fits);
    const auto answer = fresh->allocate(pending, "");
    EXPECT_EQ(answer.annotations.at(npu_core), "0-vir04;0-vir04_3c") << "the first leaves 3 of 7 CPUs";
    EXPECT_EQ(answer.more_chips, (std::vector<picked_chips>{{.chips = {0}, .template_name = "vir04_3c"}}));
    EXPECT_EQ(free(*fresh), (amounts{{0, {0, -1}}})) << "Q19: charged what was asked";

    pod bound = pending;
    bound.annotations = answer.annotations;
    bound.annotations["huawei.com/AscendReal"] = "Ascend310P-4c-100-0_0;Ascend310P-4c.3cpu-101-0_1";
    on_node.push_back(bound);
    const auto next = session();
    EXPECT_EQ(free(*next), (amounts{{0, {0, 0}}}));
    EXPECT_EQ(next->state().devices.front().ids,
              (std::vector<std::string>{"Ascend310P-4c-100-0_0", "Ascend310P-4c.3cpu-101-0_1"}));
    fresh->unallocate(pending);
    EXPECT_EQ(free(*fresh), (amounts{{0, {8, 7}}}));
}

} // namespace
} // namespace vgpualloc::compat::volcano
