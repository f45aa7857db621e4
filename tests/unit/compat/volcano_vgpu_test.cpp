// Volcano's vGPU devices in hami-core mode: what the recordings do not decide.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compat/volcano_builders.hpp"

namespace vgpualloc::compat::volcano {
namespace {

using namespace building;

/// Memory booked per card.
std::vector<std::int64_t> used(const device_object& of) {
    std::vector<std::int64_t> result;
    for (const card_state& card : of.state().devices) result.push_back(card.used_mem);
    return result;
}
using numbers = std::vector<std::int64_t>;

bool fits(const card& on, const std::string& key, const std::string& value, bool q24 = true) {
    setup with{{node_of({on})}};
    if (!q24) with.without(quirk::q24);
    return with.object()->filter(annotated(pod_of("a", {mib(4000)}), key, value), "binpack").fits;
}

TEST(volcano_vgpu, items_of_the_type_lists_keep_their_blanks) {
    const card joined{.type = "NVIDIA-A100"};
    const card apart{.type = "NVIDIA A100"};
    for (const bool q24 : {true, false}) {
        EXPECT_FALSE(fits(joined, "nvidia.com/use-gputype", "H100, A100", q24));
        EXPECT_TRUE(fits(apart, "nvidia.com/use-gputype", "H100, A100", q24));
        EXPECT_FALSE(fits(apart, "nvidia.com/use-gputype", "A100 ", q24));
        EXPECT_TRUE(fits(joined, "nvidia.com/nouse-gputype", "H100, A100", q24));
        EXPECT_FALSE(fits(apart, "nvidia.com/nouse-gputype", "H100, A100", q24));
        EXPECT_TRUE(fits(joined, "nvidia.com/use-gputype", "H100,a100", q24)) << "letters of any case";
    }
    EXPECT_TRUE(fits(joined, "nvidia.com/use-gputype", ""));
    EXPECT_TRUE(fits(joined, "nvidia.com/use-gputype", "", false)) << "a list of nothing asks for nothing";
}

TEST(volcano_vgpu, uuid_lists_are_trimmed_and_exact) {
    const card one{.uuid = "GPU-1"};
    EXPECT_TRUE(fits(one, "volcano.sh/vgpu-use-gpuuuid", " , GPU-1 ,"));
    EXPECT_FALSE(fits(one, "volcano.sh/vgpu-use-gpuuuid", "GPU-12"));
    EXPECT_TRUE(fits(one, "volcano.sh/vgpu-nouse-gpuuuid", "GPU-12"));
    EXPECT_TRUE(fits(one, "volcano.sh/vgpu-use-gpuuuid", " , ")) << "a blank list is no filter";
}

TEST(volcano_vgpu, q22_a_bound_pod_is_booked_on_the_first_card_whose_uuid_is_in_its_id) {
    for (const auto& [q22, booked] : {std::pair{true, numbers{4000, 0}}, {false, numbers{0, 4000}}}) {
        setup with{{node_of({card{.uuid = "U-1"}, card{.uuid = "GPU-U-1"}})}};
        if (!q22) with.without(quirk::q22);
        const auto object = with.object();
        const pod running = bound(pod_of("a", {mib(4000)}), "GPU-U-1,NVIDIA,4000,0:");
        object->add_resource(running);
        EXPECT_EQ(used(*object), booked);
        object->sub_resource(running);
        EXPECT_EQ(used(*object), (numbers{0, 0}));
    }
}

TEST(volcano_vgpu, q22_allocate_enters_the_pod_into_every_card_whose_uuid_is_in_its_id) {
    for (const bool q22 : {true, false}) {
        setup with{{node_of({card{.uuid = "GPU-1"}, card{.uuid = "GPU-12"}})}};
        if (!q22) with.without(quirk::q22);
        const auto object = with.object();
        ASSERT_TRUE(
            object->allocate(annotated(pod_of("a", {mib(4000)}), "volcano.sh/vgpu-use-gpuuuid", "GPU-12"), "").ok);
        EXPECT_EQ(used(*object), (numbers{0, 4000})) << "what is booked is the chosen card";
        EXPECT_EQ(object->state().devices[0].pods.contains("a"), q22);
        EXPECT_TRUE(object->state().devices[1].pods.contains("a"));
    }
}

TEST(volcano_vgpu, a_second_add_of_a_pod_changes_nothing) {
    for (const bool q2 : {true, false}) {
        setup with{{node_of({card{}})}};
        if (!q2) with.without(quirk::q2);
        const auto object = with.object();
        const pod running = bound(pod_of("a", {}), "GPU-00,NVIDIA,4000,0:;GPU-00,NVIDIA,3000,0:");
        object->add_resource(running);
        EXPECT_EQ(used(*object), numbers{q2 ? 4000 : 7000});
        object->add_resource(running);
        EXPECT_EQ(used(*object), numbers{q2 ? 4000 : 7000});
        object->sub_resource(running);
        object->sub_resource(running);
        EXPECT_EQ(used(*object), numbers{0});
        EXPECT_EQ(object->state().devices[0].used_num, 0);
    }
}

TEST(volcano_vgpu, containers_are_what_a_reader_of_the_annotation_finds) {
    const setup with{{node_of({card{}})}};
    const auto answer = [&with](std::vector<kubernetes::amount_map> containers) {
        return with.object()->allocate(pod_of("a", std::move(containers)), "");
    };
    const auto none = answer({mib(4000, 0)});
    EXPECT_TRUE(none.ok);
    EXPECT_EQ(kubernetes::value_of(none.annotations, ids_name), "");
    EXPECT_TRUE(none.containers.empty()) << "an empty annotation has no container";
    const auto two = answer({mib(4000, 0), mib(4000, 0)});
    EXPECT_EQ(kubernetes::value_of(two.annotations, ids_name), ";");
    EXPECT_EQ(two.containers.size(), 2U);
}

/// Two containers that find their cards in one order of visits and not in the other: so a filter passes, and Allocate,
/// which reads the plugin's policy, fails after it has booked for the first container.
struct unlucky {
    setup with{{node_of({card{}, card{.uuid = "GPU-01", .memory_mib = 20000}})}};
    pod pending = pod_of("a", {mib(5000), mib(40000)});
};

TEST(volcano_vgpu, q7_a_failed_allocate_leaves_nothing_on_hami_core_cards) {
    for (const bool q7 : {true, false}) {
        unlucky these;
        if (!q7) these.with.without(quirk::q7);
        const auto object = these.with.object();
        ASSERT_TRUE(object->filter(these.pending, "").fits);
        EXPECT_EQ(used(*object), (numbers{0, 0})) << "a filter books nothing";
        const auto failed = object->allocate(these.pending, "");
        EXPECT_FALSE(failed.ok);
        EXPECT_EQ(failed.reason, "not_enough_fit");
        EXPECT_EQ(failed.error, "not enough gpu fitted on this node");
        EXPECT_TRUE(failed.annotations.empty());
        object->unallocate(these.pending);
        EXPECT_EQ(used(*object), (numbers{0, 0}));
        EXPECT_EQ(object->state().devices[0].used_num, 0);
        EXPECT_TRUE(object->state().devices[0].pods.empty());
    }
}

TEST(volcano_vgpu, q3_off_gives_back_only_the_discarded_pod) {
    setup with{{node_of({card{}})}};
    const auto object = with.without(quirk::q3).object();
    const pod first = pod_of("a", {mib(4000)});
    const pod second = pod_of("b", {mib(3000), mib(2000)});
    ASSERT_TRUE(object->allocate(first, "").ok);
    ASSERT_TRUE(object->allocate(second, "").ok);
    EXPECT_EQ(used(*object), numbers{9000});
    object->unallocate(second);
    object->unallocate(second);
    EXPECT_EQ(used(*object), numbers{4000});
    EXPECT_EQ(object->state().devices[0].used_num, 1);
    EXPECT_FALSE(object->state().devices[0].pods.contains("b"));
}

TEST(volcano_vgpu, q10_off_spread_prefers_nodes_by_their_unused_cards) {
    setup with{{node_of({card{}, card{.uuid = "GPU-01"}})}};
    with.policy("spread").without(quirk::q10);
    EXPECT_EQ(story{with}.add(pod_of("a", {mib(4000)})).add(pod_of("b", {mib(4000, 2)})).text(),
              "a scores 100: GPU-00,NVIDIA,4000,0:\nb scores 100: GPU-01,NVIDIA,4000,0:GPU-00,NVIDIA,4000,0:");
}

TEST(volcano_vgpu, q12_a_configured_name_stays_the_only_one) {
    for (const bool q12 : {true, false}) {
        setup with{{node_of({card{}})}};
        with.config.percent_name = "example.com/percent";
        if (!q12) with.without(quirk::q12);
        EXPECT_EQ(story{with}.add(pod_of("a", {{{number_name, 1}, {percent_name, 50}}})).text(),
                  "a scores 100: GPU-00,NVIDIA,40960,0:");
        EXPECT_EQ(story{with}.add(pod_of("a", {{{number_name, 1}, {"example.com/percent", 50}}})).text(),
                  "a scores 50: GPU-00,NVIDIA,20480,0:");
    }
}

} // namespace
} // namespace vgpualloc::compat::volcano
