// Volcano's cache and sessions over all kinds of devices: choice of a node, rollback, and the quirks of timing.
#include "vgpualloc/compat/volcano/scheduler.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace vgpualloc::compat::volcano {
namespace {

const std::string shared_memory_name = "volcano.sh/gpu-memory";
const std::string npu_core = "huawei.com/npu-core";

pod limited_pod(const std::string& uid, const kubernetes::amount_map& limits) {
    pod pending;
    pending.name = pending.uid = uid;
    pending.ns = "team";
    pending.containers.push_back({.name = "c", .limits = limits, .requests = limits});
    return pending;
}
pod memory_pod(const std::string& uid, std::int64_t memory) { return limited_pod(uid, {{shared_memory_name, memory}}); }
pod npu_pod(const std::string& uid, std::int64_t cores) {
    pod pending = limited_pod(uid, {{npu_core, cores}});
    pending.labels["ring-controller.atlas"] = "ascend-310P";
    return pending;
}

plugin_options enabled(bool plugin_options::* plugin) {
    plugin_options options;
    options.*plugin = true;
    return options;
}
plugin_options gpushare_options() { return enabled(&plugin_options::gpushare_memory); }
plugin_options npu_options() { return enabled(&plugin_options::ascend_mindcluster); }
plugin_options without(plugin_options options, quirk which) {
    options.quirks = options.quirks.without(which);
    return options;
}
node gpushare_node(const std::string& memory) {
    node registered;
    registered.name = "n";
    registered.capacity = {{shared_memory_name, memory}, {"volcano.sh/gpu-number", "1"}};
    return registered;
}
node npu_node_of(int chips) {
    node registered;
    registered.name = "n";
    registered.labels = {{"accelerator", "huawei-Ascend310P"},
                         {"servertype", "Ascend310P-8"},
                         {"node.kubernetes.io/npu.chip.name", "310P3"}};
    std::string infos;
    for (int i = 0; i < chips; ++i)
        infos += (i == 0 ? "\"Ascend310P-" : ",\"Ascend310P-") + std::to_string(i) + "\":{}";
    registered.annotations["baseDeviceInfos"] = "{" + infos + "}";
    registered.capacity[npu_core] = registered.allocatable[npu_core] = std::to_string(8 * chips);
    return registered;
}
npu_node_info npu_info() { return {.device_list = {{"huawei.com/Ascend310P", ""}}, .noded_status = {}}; }

std::int64_t used(const scheduler& of, std::size_t where = 0) { return of.cache_state(where).devices.at(0).used_mem; }

/// One node of chips in MindCluster mode, and a session that has it.
class npu_session : public scheduler {
public:
    npu_session() : scheduler{{}, npu_options()} {
        add_node(npu_node_of(1), npu_info());
        open_session();
    }
};

TEST(volcano_scheduler, of_equal_scores_the_first_node_that_fits_wins) {
    scheduler upstream{{}, gpushare_options()};
    for (const char* const memory : {"100", "1000", "1000"}) upstream.add_node(gpushare_node(memory));
    upstream.add_node(node{});
    upstream.open_session();
    const auto result = upstream.schedule(memory_pod("a", 500), false);
    EXPECT_EQ(result.chosen, 1U);
    EXPECT_TRUE(result.bound);
    EXPECT_FALSE(result.nodes[0].fits());
    EXPECT_TRUE(result.nodes[0].requested);
    EXPECT_FALSE(result.nodes[3].requested) << "no device object";
    EXPECT_EQ(upstream.schedule(memory_pod("b", 5000), false).chosen, std::nullopt);
}

TEST(volcano_scheduler, a_session_is_a_copy_and_a_rollback_binds_nothing) {
    scheduler upstream{{}, gpushare_options()};
    upstream.add_node(gpushare_node("1000"));
    upstream.open_session();
    EXPECT_FALSE(upstream.schedule(memory_pod("a", 800), true).bound);
    EXPECT_EQ(used(upstream), 0);
    EXPECT_TRUE(upstream.schedule(memory_pod("b", 800), false).bound);
    EXPECT_EQ(upstream.remove("b"), 0U);
    EXPECT_EQ(upstream.remove("b"), std::nullopt);
    EXPECT_EQ(used(upstream), 0);
    EXPECT_FALSE(upstream.schedule(memory_pod("c", 800), false).bound) << "the session does not see that b has left";
    upstream.open_session();
    EXPECT_TRUE(upstream.schedule(memory_pod("c", 800), false).bound);
}

TEST(volcano_scheduler, the_batch_score_is_weighted_and_wins) {
    plugin_options options = npu_options();
    for (const auto& [weight, chosen, weighted] : {std::tuple{5, 1U, 40}, {0, 0U, 0}}) {
        options.weight = weight;
        scheduler upstream{{}, options};
        upstream.add_node(npu_node_of(2), npu_info());
        upstream.add_node(npu_node_of(1), npu_info());
        upstream.open_session();
        const auto result = upstream.schedule(npu_pod("a", 1), true);
        EXPECT_EQ(result.chosen, chosen);
        EXPECT_EQ(result.nodes[1].weighted, weighted);
    }
}

TEST(volcano_scheduler, what_the_device_plugin_adds_is_on_the_bound_pod) {
    npu_session upstream;
    ASSERT_TRUE(upstream.schedule(npu_pod("a", 1), false, {{"huawei.com/AscendReal", "Ascend310P-1c-100-0_0"}}).bound);
    ASSERT_TRUE(upstream.schedule(npu_pod("b", 1), false).bound);
    upstream.open_session();
    const auto state = upstream.session_state(0);
    EXPECT_EQ(state.devices.at(0).ids, std::vector<std::string>{"Ascend310P-1c-100-0_0"});
    EXPECT_TRUE(state.devices.at(0).unstable) << "because of b";
}

/// One card that can be cut into seven small instances or two large ones.
scheduler& add_mig_node(scheduler& to) {
    node where;
    where.name = "n";
    where.annotations["volcano.sh/node-vgpu-register"] = "GPU-0,10,40960,NVIDIA-A100,true,mig:";
    for (const char* const name : {"number", "cores", "memory"}) {
        where.allocatable[std::string{"volcano.sh/vgpu-"} + name] = "10";
    }
    to.add_node(std::move(where));
    return to;
}
device_config mig_config() {
    device_config config;
    config.mig_geometries = {{.models = {"A100"},
                              .groups = {{.name = "group1", .instances = {{"1g.5gb", 5120, 7}}},
                                         {.name = "group2", .instances = {{"3g.20gb", 20480, 2}}}}}};
    return config;
}

TEST(volcano_scheduler, q8_a_node_update_rebuilds_the_ledger) {
    for (const bool has : {true, false}) {
        plugin_options options;
        options.vgpu = true;
        if (!has) options = without(options, quirk::q8);
        scheduler upstream{mig_config(), options};
        add_mig_node(upstream).open_session();
        const auto asks = [](const std::string& uid, std::int64_t memory) {
            return limited_pod(uid, {{"volcano.sh/vgpu-number", 1}, {"volcano.sh/vgpu-memory", memory}});
        };
        ASSERT_TRUE(upstream.schedule(asks("a", 5000), false).bound);
        upstream.remove("a");
        upstream.open_session();
        EXPECT_FALSE(upstream.schedule(asks("b", 20000), false).bound) << "Q1a: the card stays as it was cut";
        upstream.update_node(0);
        upstream.open_session();
        EXPECT_EQ(upstream.schedule(asks("c", 20000), false).bound, has);
    }
}

TEST(volcano_scheduler, q9_a_terminating_pod_leaves_the_device_ledger_at_once) {
    for (const bool has : {true, false}) {
        scheduler upstream{{}, has ? gpushare_options() : without(gpushare_options(), quirk::q9)};
        upstream.add_node(gpushare_node("1000"));
        upstream.open_session();
        ASSERT_TRUE(upstream.schedule(memory_pod("a", 800), false).bound);
        EXPECT_TRUE(upstream.terminate("a"));
        EXPECT_TRUE(upstream.terminate("a")) << "again, which changes nothing";
        EXPECT_FALSE(upstream.terminate("x"));
        upstream.update_node(0);
        EXPECT_EQ(used(upstream), has ? 0 : 800);
        upstream.open_session();
        EXPECT_EQ(upstream.schedule(memory_pod("b", 800), false).bound, has) << "beside a process that still runs";
        EXPECT_EQ(upstream.remove("a"), 0U);
        EXPECT_EQ(used(upstream), has ? 800 : 0);
    }
}

TEST(volcano_scheduler, q9_the_nodes_idle_amount_waits_for_the_process) {
    npu_session upstream;
    ASSERT_TRUE(upstream.schedule(npu_pod("a", 8), false).bound);
    upstream.terminate("a");
    EXPECT_TRUE(upstream.cache_state(0).con_cache.empty());
    EXPECT_EQ(upstream.cache_state(0).idle_npu_core, 0);
    upstream.remove("a");
    EXPECT_EQ(upstream.cache_state(0).idle_npu_core, 8);
}

TEST(volcano_scheduler, q21_until_the_informer_comes_another_session_gives_the_same_again) {
    for (const bool has : {true, false}) {
        scheduler upstream{{}, has ? gpushare_options() : without(gpushare_options(), quirk::q21)};
        upstream.add_node(gpushare_node("1000"));
        upstream.open_session();
        upstream.hold_updates();
        ASSERT_TRUE(upstream.schedule(memory_pod("a", 800), false).bound);
        EXPECT_EQ(used(upstream), has ? 0 : 800);
        EXPECT_FALSE(upstream.schedule(memory_pod("b", 800), false).bound) << "the same session knows";
        upstream.open_session();
        EXPECT_EQ(upstream.schedule(memory_pod("c", 800), false).bound, has);
        upstream.deliver_updates();
        EXPECT_EQ(used(upstream), has ? 1600 : 800);
        upstream.remove("a");
        upstream.remove("c");
        EXPECT_EQ(used(upstream), 0);
        upstream.open_session();
        EXPECT_TRUE(upstream.schedule(memory_pod("d", 800), false).bound);
        EXPECT_EQ(used(upstream), 800) << "the informer is in time again";
    }
}

TEST(volcano_scheduler, q21_of_a_310p_node_only_the_idle_amount_and_the_template_are_known) {
    npu_session upstream;
    upstream.hold_updates();
    ASSERT_TRUE(upstream.schedule(npu_pod("a", 4), false).bound);
    upstream.open_session();
    EXPECT_EQ(upstream.session_state(0).idle_npu_core, 4);
    EXPECT_EQ(upstream.session_state(0).con_cache.size(), 1U);
    EXPECT_EQ(upstream.session_state(0).devices.at(0).npu_free->core, 8);
    upstream.terminate("a");
    upstream.deliver_updates();
    EXPECT_TRUE(upstream.session_state(0).con_cache.empty()) << "it was told to end meanwhile";
    upstream.open_session();
    EXPECT_EQ(upstream.session_state(0).devices.at(0).npu_free->core, 4);
}

} // namespace
} // namespace vgpualloc::compat::volcano
