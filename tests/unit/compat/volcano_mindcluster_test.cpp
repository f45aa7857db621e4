// Volcano's 310P devices in MindCluster mode, above all what the recordings do not decide.
#include "volcano_mindcluster_fixture.hpp"

#include <array>
#include <tuple>

namespace vgpualloc::compat::volcano {
namespace {

TEST_F(volcano_mindcluster, the_table_of_templates) {
    using row = std::tuple<std::int64_t, std::string, std::string, std::string>;
    chips(2);
    for (const auto& [cores, dvpp, level, annotation] :
         {row{1, "null", "low", "0-vir01"}, row{1, "null", "high", "0-vir01"}, row{1, "", "", "0-vir01"},
          row{2, "null", "low", "0-vir02_1c"}, row{2, "null", "other", "0-vir02_1c"}, row{2, "null", "high", "0-vir02"},
          row{4, "yes", "low", "0-vir04_4c_dvpp"}, row{4, "yes", "other", "0-vir04_4c_dvpp"},
          row{4, "no", "low", "0-vir04_3c_ndvpp"}, row{4, "null", "low", "0-vir04_3c"},
          row{4, "", "other", "0-vir04_3c"}, row{4, "yes", "high", "0-vir04_4c_dvpp"},
          row{4, "no", "high", "0-vir04_3c_ndvpp"}, row{4, "null", "high", "0-vir04"}, row{8, "yes", "low", "0"},
          row{8, "no", "high", "0"}, row{16, "", "", "0,1"}}) {
        cache.reset(); // the template cache outlives a session
        EXPECT_EQ(annotation_for(asks("a", cores, level, dvpp)), annotation) << cores << ' ' << dvpp << ' ' << level;
    }
    EXPECT_EQ(refusal(asks("a", 4, "", "maybe")), "bad_dvpp");
    cache.reset();
    EXPECT_EQ(annotation_for(asks("a", 8, "", "maybe")), "0") << "the label counts for parts of a chip only";
    cache.reset();
    EXPECT_EQ(annotation_for(asks("a", 2, "", "yes")), "0-vir02_1c") << "and of the templates for 4 cores only";
}

TEST_F(volcano_mindcluster, the_rows_with_a_downgrade) {
    for (int i = 0; i < 3; ++i) holds("0-vir02", "Ascend310P-2c-100-0_" + std::to_string(i));
    EXPECT_EQ(free(*session()), (amounts{{0, {2, 1}}}));
    EXPECT_EQ(annotation_for(asks("a", 2, "high")), "0-vir02_1c");

    on_node.clear();
    cache.reset();
    holds("0-vir04");
    EXPECT_EQ(free(*session()), (amounts{{0, {4, 3}}}));
    EXPECT_EQ(annotation_for(asks("a", 4, "high")), "0-vir04_3c");
    cache.reset();
    const auto fresh = session();
    ASSERT_TRUE(fresh->filter(asks("b", 4, "high", "yes"), "").fits) << "Q17";
    EXPECT_FALSE(npu(*fresh).downgraded("b")) << "a pod that needs the video unit is not downgraded";
}

TEST_F(volcano_mindcluster, a_mark_lasts_for_the_session_whatever_becomes_of_the_pod) {
    holds("0-vir04");
    cache = make_mindcluster_310p(where, info, options);
    cache->add_resource([] {
        pod other = asks("other", 1);
        other.annotations[npu_core] = "0-vir01";
        return other;
    }());
    const auto fresh = session();
    EXPECT_EQ(fresh->filter(asks("a", 4, "high"), "").reason, "different_template_on_node");
    EXPECT_EQ(fresh->state().downgrade_cache, std::vector<std::string>{"a"});
    EXPECT_EQ(session()->state().downgrade_cache, std::vector<std::string>{});
}

TEST_F(volcano_mindcluster, what_makes_a_node_invalid) {
    const node good = where;
    const auto reason = [this](const pod& pending) {
        cache.reset();
        return refusal(pending);
    };
    EXPECT_EQ(reason(asks("a", 1)), "");
    for (const char* const label : {"accelerator", "servertype", "node.kubernetes.io/npu.chip.name"}) {
        where = good;
        where.labels.erase(label);
        EXPECT_EQ(reason(asks("a", 1)), "invalid_vnode") << label;
        EXPECT_EQ(reason(asks("a", 4, "", "maybe")), "invalid_vnode") << "before the cores are counted";
    }
    for (const auto& [label, value] : {std::pair{"accelerator", "Ascend310P"},
                                       {"accelerator", "huawei-Ascend910"},
                                       {"servertype", "Ascend310P"},
                                       {"servertype", "Ascend310P-7"}}) {
        where = good;
        where.labels[label] = value;
        EXPECT_EQ(reason(asks("a", 1)), "invalid_vnode") << value;
    }
    EXPECT_EQ(reason(asks("a", 4, "", "maybe")), "bad_dvpp") << "the total of cores is known by then";
    where = good;
    where.capacity[npu_core] = "12";
    EXPECT_EQ(reason(asks("a", 1)), "invalid_vnode") << "no multiple of 8";
    where = good;
    info.device_list.erase("huawei.com/Ascend310P");
    EXPECT_EQ(reason(asks("a", 1)), "invalid_vnode");
}

TEST_F(volcano_mindcluster, the_order_of_the_filters_tests) {
    where.labels["servertype"] = "Ascend310P-7"; // invalid, with a total of cores
    info.noded_status = "PreSeparate";
    const pod large = asks("a", 9, "", "maybe");
    EXPECT_EQ(refusal(large), "noded_preseparate");
    info.noded_status.clear();
    where.allocatable.clear();
    cache.reset();
    EXPECT_EQ(refusal(large), "no_npu_core_resource");
    where.allocatable[npu_core] = "8";
    EXPECT_EQ(refusal(large), "idle_core_insufficient");
    where.allocatable[npu_core] = "9";
    EXPECT_EQ(refusal(large), "bad_dvpp");
    EXPECT_EQ(refusal(asks("a", 9)), "invalid_vnode");
}

TEST_F(volcano_mindcluster, the_chips_of_a_session) {
    chips(6);
    where.annotations["baseDeviceInfos"] =
        R"({"Ascend310P-0":{},"Ascend310P-1":{},"Ascend310P-2":{},"Ascend310P-3":{},"Ascend310P-1c-4-0":{}})";
    info.device_list["huawei.com/Ascend310P-Unhealthy"] = "Ascend310P-1";
    info.device_list["huawei.com/Ascend310P-Recovering"] = "Ascend310P-2";
    holds("3", "");
    on_node.back().annotations["huawei.com/Ascend310P"] = "Ascend310P-3";
    holds("5-vir02");
    holds("1-vir02");
    const auto state = session()->state();
    ASSERT_EQ(state.devices.size(), 3U) << "0, and 3 and 5 because of pods";
    EXPECT_EQ(state.unhealthy_chips, numbers{1});
    EXPECT_EQ(state.devices[0].npu_free, (npu_resource{.core = 8, .cpu = 7, .dvpp = "yes"}));
    EXPECT_EQ(state.devices[1].index, 3);
    EXPECT_EQ(state.devices[1].npu_free, (npu_resource{.core = 0, .cpu = 0, .dvpp = "yes"}));
    EXPECT_TRUE(state.devices[1].unstable) << "without AscendReal";
    EXPECT_FALSE(state.devices[1].segment);
    EXPECT_EQ(state.devices[2].npu_free, (npu_resource{.core = 6, .cpu = 5, .dvpp = "null"}));
    EXPECT_TRUE(state.devices[2].segment);
    EXPECT_FALSE(state.devices[2].unstable);
}

TEST_F(volcano_mindcluster, idle_counts_all_containers_and_the_request_the_first_that_asks) {
    pod pending = asks("a", 0);
    pending.containers.push_back(asks("b", 2).containers.front());
    pending.containers.push_back(asks("b", 4).containers.front());
    const auto fresh = session();
    ASSERT_TRUE(fresh->filter(pending, "").fits);
    EXPECT_EQ(fresh->allocate(pending, "").annotations.at(npu_core), "0-vir02_1c");
    EXPECT_EQ(npu(*fresh).idle_cores(), 2);
    fresh->unallocate(pending);
    fresh->unallocate(pending);
    EXPECT_EQ(npu(*fresh).idle_cores(), 8) << "given back once";
}

TEST_F(volcano_mindcluster, three_groups_leave_no_room_for_4_cores_and_four_none_for_2) {
    chips(1, 10);
    options.quirks = options.quirks.without(quirk::q17); // so that the filter says it
    for (const char* const group : {"0", "1", "2"}) holds("0-vir01", std::string{"Ascend310P-1c-100-0_"} + group);
    EXPECT_EQ(refusal(asks("a", 4)), "no_chip");
    EXPECT_EQ(refusal(asks("a", 2)), "");
    holds("0-vir01", "Ascend310P-1c-100-0_2");
    EXPECT_EQ(refusal(asks("a", 2)), "") << "different groups count";
    holds("0-vir01", "Ascend310P-1c-100-0_3");
    EXPECT_EQ(refusal(asks("a", 2)), "no_chip");
    EXPECT_EQ(refusal(asks("a", 1)), "");
    on_node.resize(1);
    holds("0-vir01", "no group");
    EXPECT_EQ(refusal(asks("a", 4)), "");
}

TEST_F(volcano_mindcluster, the_video_unit) {
    options.quirks = options.quirks.without(quirk::q17).without(quirk::q18);
    using row = std::tuple<const char*, std::string, std::string, std::string, std::string>;
    // What is on the chip, and what is then said to a request with yes, no and null, and the unit's free state.
    for (const auto& [held, yes, no, null, free_state] :
         {row{"0-vir04_4c_dvpp", "no_chip", "", "no_chip", "no"}, row{"0-vir04_3c_ndvpp", "", "", "", "yes"},
          row{"0-vir04_3c", "no_chip", "", "", "null"}}) {
        on_node.clear();
        holds(held);
        EXPECT_EQ(session()->state().devices[0].npu_free->dvpp, free_state) << held;
        EXPECT_EQ(refusal(asks("a", 4, "", "yes")), yes) << held;
        EXPECT_EQ(refusal(asks("a", 4, "", "no")), no) << held;
        EXPECT_EQ(refusal(asks("a", 4)), null) << held;
    }
}

TEST_F(volcano_mindcluster, what_a_session_takes_back) {
    using row = std::tuple<const char*, npu_resource>;
    const npu_resource whole{.core = 8, .cpu = 7, .dvpp = "yes"};
    npu_resource null = whole;
    null.dvpp = "null";
    for (const auto& [dvpp, left] : {row{"yes", whole}, {"no", whole}, {"null", null}}) {
        const auto fresh = session();
        const pod pending = asks("a", 4, "", dvpp);
        ASSERT_TRUE(fresh->filter(pending, "").fits);
        ASSERT_TRUE(fresh->allocate(pending, "").ok);
        fresh->unallocate(pending);
        const auto state = fresh->state();
        EXPECT_EQ(state.devices[0].npu_free, left) << dvpp;
        EXPECT_TRUE(state.devices[0].segment) << "for the rest of the session";
        EXPECT_TRUE(state.con_cache.empty());
        EXPECT_TRUE(state.pod_allocation.empty());
        EXPECT_EQ(fresh->filter(asks("b", 8), "").fits, true) << "Q17";
        EXPECT_EQ(fresh->allocate(asks("b", 8), "").reason, "no_whole_chip");
        EXPECT_FALSE(session()->state().devices[0].segment) << "the next begins clean";
    }
}

TEST_F(volcano_mindcluster, the_chip_with_least_left_comes_first) {
    chips(3);
    holds("1-vir02");
    holds("2-vir02");
    holds("2-vir02", "Ascend310P-2c-100-0_1");
    EXPECT_EQ(annotation_for(asks("a", 4)), "2-vir04_3c");
    cache.reset();
    holds("2-vir02", "Ascend310P-2c-100-0_2");
    EXPECT_EQ(annotation_for(asks("a", 4)), "1-vir04_3c") << "2 has no 4 cores left";
    cache.reset();
    EXPECT_EQ(annotation_for(asks("a", 8)), "0") << "a chip that is cut is no whole card";
    cache.reset();
    holds("1-vir01", "");
    EXPECT_EQ(annotation_for(asks("a", 4)), "0-vir04_3c") << "1 has a vNPU that is not confirmed";
}

TEST_F(volcano_mindcluster, a_node_without_chips_says_so_before_all_else) {
    info.device_list["huawei.com/Ascend310P-Unhealthy"] = "Ascend310P-0";
    for (const std::int64_t cores : {1, 3, 8}) EXPECT_EQ(annotation_for(asks("a", cores)), "no_chips") << cores;
}

TEST_F(volcano_mindcluster, the_batch_score) {
    std::vector<std::unique_ptr<device_object>> nodes;
    for (const int number : {3, 1, 2, 1}) {
        chips(number);
        cache.reset();
        nodes.push_back(session());
    }
    const auto scores = [&](const pod& pending) {
        std::vector<const mindcluster_object*> candidates;
        for (const auto& object : nodes) candidates.push_back(&npu(*object));
        return batch_score(candidates, pending, options);
    };
    const pod pending = asks("a", 4, "high");
    EXPECT_EQ(scores(pending), (std::vector<double>{0, 8, 0, 0})) << "the first with the least idle cores";
    options.weight = 0;
    EXPECT_EQ(scores(pending), (std::vector<double>{0, 0, 0, 0}));
    options.weight = 1;
    EXPECT_TRUE(batch_score({}, pending, options).empty());

    // The second of the two smallest nodes has 4 cores and 3 CPUs left: the pod is downgraded there.
    holds("0-vir04");
    on_node.back().containers = asks("h", 4).containers;
    chips(1);
    cache.reset();
    nodes[3] = session();
    for (const auto& object : nodes) ASSERT_TRUE(object->filter(pending, "").fits);
    EXPECT_EQ(scores(pending), (std::vector<double>{0, 16, 0, 8})) << "up to the first without a downgrade";
    EXPECT_EQ(scores(asks("b", 4, "high")), (std::vector<double>{0, 0, 0, 8})) << "by the name of the pod";
}

TEST_F(volcano_mindcluster, the_template_cache_outlives_sessions_and_a_copy_shares_it) {
    const pod pending = asks("a", 1);
    const auto first = session();
    const auto answer = first->allocate(pending, "");
    using cached = std::map<std::string, std::vector<std::string>>;
    EXPECT_EQ(session()->state().con_cache, (cached{{"vir01", {"a"}}}));
    pod bound = pending;
    bound.annotations = answer.annotations;
    cache->add_resource(bound);
    EXPECT_EQ(cache->state().con_cache, (cached{{"vir01", {"a"}}}));
    cache->sub_resource(pending);
    EXPECT_EQ(session()->state().con_cache, cached{}) << "without an annotation by uid";
}

} // namespace
} // namespace vgpualloc::compat::volcano
