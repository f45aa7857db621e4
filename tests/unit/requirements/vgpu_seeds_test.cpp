// GPU sharing through Volcano: statements of docs/requirements.md, with their numbers.
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "seeds.hpp"
#include "vgpualloc/dialect/hami.hpp"
#include "vgpualloc/explain/deviceshare.hpp"
#include "vgpualloc/kube/scheduler_config.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using testing::HasSubstr;

std::string ids_of(const site& here, const kubernetes::pod& pod, const vgpu::options& with = {}) {
    const auto written = test::spoken<vgpu::options>::write_assignment(
        pod, here.registered(), {.node = "n", .time = "1", .shares = here.shares()}, with);
    return written.at(vgpu::assignment_annotation);
}

/// n_hami shares in software, n_mig by MIG.
site mixed(std::string_view policy = "binpack") {
    site here{policy};
    here.add("n_hami", vgpu_node(card("H", "hami-core")));
    here.add("n_mig", vgpu_node(card("M", "mig"), a100_geometry()));
    return here;
}

/// The scheduler configuration of the seeds' examples: a policy, and no weight.
std::string config_map_with(std::string_view policy) {
    return "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: volcano-scheduler-configmap\n  namespace: "
           "volcano-system\n"
           "data:\n  volcano-scheduler.conf: |\n    actions: \"enqueue, allocate, backfill\"\n    tiers:\n    - "
           "plugins:\n"
           "      - name: predicates\n      - name: deviceshare\n        arguments:\n"
           "          deviceshare.VGPUEnable: true\n          deviceshare.SchedulePolicy: " +
           std::string{policy} + "\n";
}

/// What ranks the cards and nodes of that configuration.
std::unique_ptr<policy> ranking_of(const std::string& config) {
    const auto read = kube::parse_scheduler_config(config, "volcano-scheduler-configmap");
    if (!read) throw std::invalid_argument{read.error().message()};
    return explaining::make_deviceshare_policy(
        deviceshare_ranking::gpus,
        {.policy = read->deviceshare.schedule_policy, .weight = read->deviceshare.schedule_weight});
}

TEST(seeds, volcano_has_two_sharing_modes) {
    covers({"R001"});
    std::set<std::string> modes;
    auto as_volcano = a100_geometry();
    as_volcano.mps_as_hami_core = true;
    for (const char* text : {"hami-core", "mig", "mps", "time-slicing", ""}) {
        for (const auto& device : vgpu_node(card("A", text), as_volcano).devices) modes.insert(device.mode);
    }
    EXPECT_EQ(modes, (std::set<std::string>{"hami_core", "mig"}));
    auto here = mixed();
    for (const char* text : {"mps", "exclusive", "hami_core"}) {
        EXPECT_EQ(here.place(vgpu_ask(1, 3000, 0, text)), "mode_not_offered") << text;
    }
    EXPECT_EQ(here.place(vgpu_ask(1, 3000, 0, "hami-core")), "n_hami");
    EXPECT_EQ(here.place(vgpu_ask(1, 3000, 0, "mig")), "n_mig");
}

TEST(seeds, hami_core_limits_memory_and_compute) {
    covers({"R002"});
    site here;
    here.add("n", vgpu_node(card("A", "hami-core")));
    EXPECT_EQ(here.place(vgpu_ask(1, 30000, 60)), "n");
    EXPECT_EQ(ids_of(here, vgpu_pod(1, 30000, 60)), "A,NVIDIA,30000,60:") << "what the container is limited to";
    EXPECT_EQ(here.place(vgpu_ask(1, 10961, 10)), "insufficient_device_memory");
    EXPECT_EQ(here.place(vgpu_ask(1, 10960, 41)), "insufficient_device_cores");
    EXPECT_EQ(here.place(vgpu_ask(1, 10960, 40)), "n") << "all of it";
}

TEST(seeds, hami_core_takes_any_gpu) {
    covers({"R003", "R004"});
    std::vector<std::string> types{"NVIDIA-Tesla V100-PCIE-32GB", "NVIDIA-Tesla T4", "NVIDIA-Tesla P4",
                                   "NVIDIA-NVIDIA GeForce RTX 4090", "NVIDIA-some later GPU"};
    for (const mig_model& model : built_in_mig_catalog().models) types.push_back("NVIDIA-" + model.name);
    for (const std::string& type : types) {
        site here;
        here.add("n", vgpu_node(card("A", "hami-core", type)));
        EXPECT_EQ(here.place(vgpu_ask(1, 3000, 50, "hami-core")), "n") << type;
        EXPECT_EQ(here.part(), (partition{slice{.memory = mib{3000}, .cores = core_percent{50}}})) << type;
    }
}

// Types that do not name their maker, which HAMi registers as the driver names them.
TEST(seeds, hami_core_takes_gpus_whatever_they_are_called) {
    covers({"R003", "R004"});
    for (const std::string type : {"Tesla T4", "GeForce GTX 1080", "H20", "A100-SXM4-40GB", "PG506-232", "x"}) {
        kubernetes::node object;
        object.name = "n";
        object.annotations["hami.io/node-nvidia-register"] =
            R"([{"id":"A","count":10,"devmem":40960,"devcore":100,"type":")" + type +
            R"(","mode":"hami-core","health":true}])";
        object.allocatable["nvidia.com/gpu"] = "10";
        site here;
        here.add("n", test::spoken<dialects::hami::options>::read_node(object, {}));
        const auto pod = pod_with({{"nvidia.com/gpu", 1}, {"nvidia.com/gpumem", 3000}, {"nvidia.com/gpucores", 50}});
        EXPECT_EQ(here.place(test::spoken<dialects::hami::options>::read_pod(pod, {})), "n") << type;
        EXPECT_EQ(here.part(), (partition{slice{.memory = mib{3000}, .cores = core_percent{50}}})) << type;
    }
}

TEST(seeds, a_node_is_in_the_mode_that_it_registers) {
    covers({"R009"});
    auto here = mixed(); // two A100, alike but for the mode
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(here.place(vgpu_ask(1, 3000, 0, "hami-core")), "n_hami");
        EXPECT_EQ(here.mode(), "hami_core");
        EXPECT_EQ(here.place(vgpu_ask(1, 3000, 0, "mig")), "n_mig");
        EXPECT_EQ(here.mode(), "mig");
    }
    // The node's word is that of all its cards: the device plugin registers each of them in the mode it was told.
    for (const auto& [word, mode] : {std::pair{"mig", "mig"}, std::pair{"hami-core", "hami_core"}}) {
        const auto node = vgpu_node(card("A", word) + card("B", word) + card("C", word), a100_geometry());
        ASSERT_EQ(node.devices.size(), 3U);
        for (const auto& device : node.devices) EXPECT_EQ(device.mode, mode) << device.uuid;
    }
}

TEST(seeds, nodes_of_both_modes_make_one_cluster) {
    covers({"R010"});
    auto here = mixed();
    const int both = here.place_many(vgpu_ask(1, 3000), 100);
    EXPECT_EQ(both, 10 + 7) << "ten containers on the card of one node, seven instances on that of the other";
    EXPECT_EQ(here.state(0, 0).slots, 10);
    EXPECT_EQ(here.state(1, 0).slots, 7);
}

TEST(seeds, schedule_policy_is_binpack_or_spread) {
    covers({"R021"});
    EXPECT_FALSE(kube::parse_scheduler_config(config_map_with("best"), "cm").has_value());
    for (const auto& [text, nodes] : {std::pair{"binpack", 1U}, std::pair{"spread", 2U}}) {
        site here{ranking_of(config_map_with(text))};
        here.add("n0", vgpu_node(card("A", "hami-core"))).add("n1", vgpu_node(card("A", "hami-core")));
        const std::set<std::string> used{here.place(vgpu_ask(1, 3000)), here.place(vgpu_ask(1, 3000))};
        EXPECT_EQ(used.size(), nodes) << text;
    }
}

TEST(seeds, the_hami_core_example) {
    covers({"R023"});
    auto here = mixed();
    const auto pod = vgpu_pod(1, 3000, 50, "hami-core");
    EXPECT_EQ(here.place(test::spoken<vgpu::options>::read_pod(pod, {})), "n_hami");
    EXPECT_EQ(here.shares().size(), 1U);
    EXPECT_EQ(here.part(), (partition{slice{.memory = mib{3000}, .cores = core_percent{50}}}));
    EXPECT_EQ(ids_of(here, pod), "H,NVIDIA,3000,50:");
}

TEST(seeds, the_number_is_of_different_cards) {
    covers({"R024"});
    site here;
    here.add("n", vgpu_node(card("A", "hami-core") + card("B", "hami-core") + card("C", "hami-core")));
    EXPECT_EQ(here.place(vgpu_ask(1, 3000)), "n");
    EXPECT_EQ(here.shares().size(), 1U);
    EXPECT_EQ(here.place(vgpu_ask(3, 3000)), "n");
    std::set<std::size_t> cards;
    for (const device_share& share : here.shares()) cards.insert(share.device.at());
    EXPECT_EQ(cards, (std::set<std::size_t>{0, 1, 2}));
    EXPECT_EQ(here.place(vgpu_ask(4, 3000)), "too_few_devices");
}

TEST(seeds, cores_are_optional_and_of_each_card) {
    covers({"R025"});
    site here;
    here.add("n", vgpu_node(card("A", "hami-core") + card("B", "hami-core")));
    EXPECT_EQ(here.place(vgpu_ask(2, 3000, 50)), "n");
    for (const std::size_t device : {0U, 1U}) EXPECT_EQ(here.state(0, device).cores, core_percent{50});
    EXPECT_EQ(here.place(vgpu_ask(2, 3000)), "n") << "without cores";
    for (const std::size_t device : {0U, 1U}) EXPECT_EQ(here.state(0, device).cores, core_percent{50});
    EXPECT_EQ(here.place(vgpu_ask(2, 3000, 51)), "insufficient_device_cores");
    EXPECT_EQ(here.place(vgpu_ask(2, 3000, 50)), "n") << "the other half of both";
}

TEST(seeds, memory_is_optional_and_of_each_card) {
    covers({"R026", "R059"});
    site here;
    here.add("n", vgpu_node(card("A", "hami-core") + card("B", "hami-core") + card("C", "hami-core")));
    EXPECT_EQ(here.place(vgpu_ask(2, 10240)), "n") << "two GPUs, 10240 each";
    ASSERT_EQ(here.shares().size(), 2U);
    for (const device_share& share : here.shares()) {
        EXPECT_EQ(share.part, (partition{slice{.memory = mib{10240}, .cores = core_percent{0}}}));
        EXPECT_EQ(here.state(0, share.device.at()).memory, mib{10240});
    }
    EXPECT_EQ(ids_of(here, vgpu_pod(2, 10240)), "A,NVIDIA,10240,0:B,NVIDIA,10240,0:");
    EXPECT_EQ(here.place(vgpu_ask(1, 0)), "n") << "without memory: all of a card";
    EXPECT_EQ(here.device(), 2U);
    EXPECT_EQ(here.state(0, 2).memory, mib{40960});
}

TEST(seeds, an_annotation_forces_the_mode) {
    covers({"R032", "R064"});
    auto here = mixed();
    for (int i = 0; i < 7; ++i) EXPECT_EQ(here.place(vgpu_ask(1, 3000, 0, "mig")), "n_mig") << i;
    EXPECT_NE(here.place(vgpu_ask(1, 3000, 0, "mig")), "n_hami") << "even where only the other mode has room";
    EXPECT_TRUE(here.shares().empty());
    for (int i = 0; i < 10; ++i) EXPECT_EQ(here.place(vgpu_ask(1, 3000, 0, "hami-core")), "n_hami") << i;
    EXPECT_NE(here.place(vgpu_ask(1, 100, 0, "hami-core")), "n_mig");
}

TEST(seeds, without_an_annotation_the_mode_follows_from_what_fits) {
    covers({"R033"});
    auto software_full = mixed();
    EXPECT_EQ(software_full.place(vgpu_ask(1, 40960, 0, "hami-core")), "n_hami");
    EXPECT_EQ(software_full.place(vgpu_ask(1, 3000)), "n_mig");
    EXPECT_EQ(software_full.mode(), "mig");
    auto instances_gone = mixed();
    EXPECT_EQ(instances_gone.place(vgpu_ask(1, 40960, 0, "mig")), "n_mig");
    EXPECT_EQ(instances_gone.place(vgpu_ask(1, 3000)), "n_hami");
    EXPECT_EQ(instances_gone.mode(), "hami_core");
}

TEST(seeds, without_an_annotation_the_node_score_chooses_the_mode) {
    covers({"R033", "R067"});
    for (const char* busy : {"hami-core", "mig"}) {
        for (const char* policy : {"binpack", "spread"}) {
            auto here = mixed(policy);
            const std::string full = here.place(vgpu_ask(1, 5120, 0, busy)); // both modes charge 5120 MiB for it
            const std::string empty = full == "n_hami" ? "n_mig" : "n_hami";
            const auto request = vgpu_ask(1, 3000);
            const auto scores = here.decider().scores(*request);
            EXPECT_NE(scores.at(0), scores.at(1));
            const std::string best = scores.at(0) > scores.at(1) ? "n_hami" : "n_mig";
            EXPECT_EQ(here.place(request), best) << busy << policy;
            EXPECT_EQ(best, std::string_view{policy} == "binpack" ? full : empty) << busy << policy;
        }
    }
}

TEST(seeds, binpack_concentrates_and_spread_distributes) {
    covers({"R034", "R035"});
    const auto nodes_used = [](std::string_view policy) {
        site here{ranking_of(config_map_with(policy))};
        for (const char* name : {"n0", "n1", "n2", "n3"}) {
            here.add(name, vgpu_node(card("A", "hami-core") + card("B", "hami-core")));
        }
        std::vector<int> pods(4);
        for (int i = 0; i < 8; ++i) ++pods.at(static_cast<std::size_t>(here.place(vgpu_ask(1, 3000, 5)).at(1) - '0'));
        return pods;
    };
    EXPECT_EQ(nodes_used("binpack"), (std::vector{8, 0, 0, 0}));
    EXPECT_EQ(nodes_used("spread"), (std::vector{2, 2, 2, 2}));
}

/// One row of the seeds' summary. Annotations are needed for neither (decided: without one either mode will do).
struct summary_row {
    const char* text; ///< in annotations
    const char* mode; ///< in the library
    bool needs_mig_gpu;
    mib memory_of_3000; ///< given for 3000 MiB: as the user says, or what the instance has
};

TEST(seeds, the_summary_table_of_both_modes) {
    covers({"R037"});
    for (const summary_row& row :
         {summary_row{"hami-core", "hami_core", false, mib{3000}}, summary_row{"mig", "mig", true, mib{5120}}}) {
        site here;
        here.add("n", vgpu_node(card("A", row.text), a100_geometry()));
        EXPECT_EQ(here.place(vgpu_ask(1, 3000)), "n") << "without an annotation";
        EXPECT_EQ(here.mode(), row.mode);
        EXPECT_EQ(here.state(0, 0).memory, row.memory_of_3000) << row.text;
        EXPECT_FALSE(mode(row.mode).shares_faults()) << "isolated, in software or in hardware";
        device_registration old;
        old.uuid = "B";
        old.model = v100;
        old.mode = row.mode;
        old.memory = mib{32768};
        cluster owned;
        node where;
        EXPECT_EQ(add_device(owned, where, old, built_in_mig_catalog()).has_value(), !row.needs_mig_gpu) << row.text;
    }
}

TEST(seeds, the_slides_have_three_sharing_modes) {
    covers({"R063"});
    auto with = a100_geometry();
    site here;
    for (const char* mode : {"hami-core", "mig", "mps"}) here.add(mode, vgpu_node(card("A", mode), with));
    for (const auto& [text, mode] : {std::pair{"hami-core", "hami_core"}, {"mig", "mig"}, {"mps", "mps"}}) {
        EXPECT_EQ(here.place(test::spoken<vgpu::options>::read_pod(vgpu_pod(1, 3000, 10, text), with)), text);
        EXPECT_EQ(here.mode(), mode);
    }
    EXPECT_EQ(here.place(test::spoken<vgpu::options>::read_pod(vgpu_pod(1, 3000, 10, "mps"), with)), "mps")
        << "and shared";
}

TEST(seeds, modes_come_from_a_factory) {
    covers({"R062"});
    for (const char* name : {"hami_core", "mig", "mps"}) {
        device_registration from;
        from.uuid = "A";
        from.model = a100;
        from.mode = name;
        from.memory = mib{40960};
        from.slots = 10;
        cluster owned;
        node where;
        ASSERT_TRUE(add_device(owned, where, from, built_in_mig_catalog())) << name;
        EXPECT_EQ(owned.kinds.at(0).mode->name(), name);
        from.uuid = "B";
        from.mode += "2";
        const auto unknown = add_device(owned, where, from, built_in_mig_catalog());
        ASSERT_FALSE(unknown) << name;
        EXPECT_EQ(unknown.error().code, error_code::unknown_name);
        EXPECT_THAT(unknown.error().expected, HasSubstr(name)) << "the known ones are listed";
    }
}

} // namespace
} // namespace vgpualloc
