// Volcano's vGPU devices in MIG mode: what the recordings do not decide.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "compat/volcano_builders.hpp"

namespace vgpualloc::compat::volcano {
namespace {

using namespace building;

pod holder(std::string uid, std::string instance, std::int64_t memory = 5000) {
    return bound(pod_of(std::move(uid), {mib(memory)}),
                 "GPU-00[" + std::move(instance) + "],NVIDIA," + std::to_string(memory) + ",0:");
}
card_state only_card(const device_object& of) { return of.state().devices.front(); }

TEST(volcano_mig, a_pod_of_an_unknown_group_is_counted_without_memory) {
    const setup with = one_mig();
    const auto object = with.object();
    object->add_resource(holder("a", "other-0"));
    auto state = only_card(*object);
    EXPECT_EQ(state.used_num, 1);
    EXPECT_EQ(state.used_mem, 0);
    EXPECT_EQ(state.mig_index, -1);
    EXPECT_TRUE(state.usage.empty());
    EXPECT_EQ(state.pods.at("a"), (std::pair<std::int64_t, std::int64_t>{0, 0}));
    EXPECT_TRUE(object->filter(pod_of("b", {mib(20000)}), "").fits) << "the card is as good as idle";
    object->sub_resource(holder("a", "other-0"));
    state = only_card(*object);
    EXPECT_EQ(state.used_num, 0);
    EXPECT_TRUE(state.pods.empty());
    EXPECT_EQ(state.mig_index, -1);
}

TEST(volcano_mig, an_id_that_cannot_be_read_books_nothing) {
    const setup with = one_mig();
    for (const char* const bad : {"group1", "group1-", "group1-x", "-", "", "group-1-0"}) {
        const auto object = with.object();
        object->add_resource(holder("a", bad));
        EXPECT_EQ(only_card(*object).used_num, 0) << bad;
        EXPECT_TRUE(only_card(*object).pods.empty()) << bad;
    }
    const auto object = with.object();
    object->add_resource(bound(pod_of("a", {}), "GPU-00,NVIDIA,5000,0:"));
    EXPECT_EQ(only_card(*object).used_num, 0);
    object->add_resource(holder("b", "group1-7"));
    EXPECT_EQ(only_card(*object).used_num, 0) << "a position that the group does not have";
}

TEST(volcano_mig, q1_off_an_instance_given_out_twice_is_free_when_the_last_pod_has_gone) {
    for (const bool has : {true, false}) {
        setup with = one_mig();
        if (!has) with.without(quirk::q1);
        const auto object = with.object();
        for (const char* const uid : {"a", "b"}) object->add_resource(holder(uid, "group1-0"));
        EXPECT_EQ(only_card(*object).used_mem, 10240);
        object->sub_resource(holder("b", "group1-0"));
        EXPECT_EQ(only_card(*object).usage.empty(), has) << "pod a is still on it";
        object->sub_resource(holder("a", "group1-0"));
        EXPECT_EQ(only_card(*object).used_mem, has ? 5120 : 0) << "what upstream no longer finds it does not give back";
    }
}

TEST(volcano_mig, q1a_off_the_group_is_that_of_a_pod_still_on_the_card) {
    for (const bool has : {true, false}) {
        setup with = one_mig();
        if (!has) with.without(quirk::q1a);
        const auto object = with.object();
        object->add_resource(holder("a", "group1-0"));
        object->add_resource(holder("b", "group3-0", 20000));
        object->sub_resource(holder("b", "group3-0", 20000));
        EXPECT_EQ(only_card(*object).mig_index, has ? 2 : 0);
        object->sub_resource(holder("a", "group1-0"));
        EXPECT_EQ(only_card(*object).mig_index, has ? 0 : -1);
    }
}

TEST(volcano_mig, q1c_off_the_last_dash_parts_group_and_position) {
    setup with = one_mig();
    with.groups({{.name = "a-b-", .instances = {kind("1g.5gb", 5120, 7)}}}).without(quirk::q1c);
    const auto object = with.object();
    object->add_resource(holder("a", "a-b--3"));
    EXPECT_EQ(only_card(*object).usage, (std::vector<mig_usage>{{.name = "1g.5gb", .memory = 5120, .used = {3}}}));
}

/// Fits in the default order of the cards, not in binpack's, in which Allocate has booked an instance for the first
/// container when it finds none for the second.
pod unlucky_pod() { return pod_of("a", {mib(5000), mib(40000)}); }
setup unlucky_node() {
    return setup{{node_of({mig_card, card{.uuid = "GPU-01", .mode = "mig", .memory_mib = 20000}})}};
}

TEST(volcano_mig, q7_a_failed_allocate_leaves_the_part_of_the_instance_beyond_the_need) {
    for (const auto& [q7, left] : {std::pair{true, 120}, {false, 0}}) {
        setup with = unlucky_node();
        if (!q7) with.without(quirk::q7);
        const auto object = with.object();
        ASSERT_TRUE(object->filter(unlucky_pod(), "").fits);
        const auto failed = object->allocate(unlucky_pod(), "");
        ASSERT_FALSE(failed.ok);
        EXPECT_EQ(failed.reason, "not_enough_fit");
        object->unallocate(unlucky_pod());
        EXPECT_EQ(only_card(*object).used_mem, left) << "5120 of the instance, 5000 of the need";
        EXPECT_EQ(only_card(*object).used_num, 0);
        EXPECT_TRUE(only_card(*object).pods.empty());
        EXPECT_EQ(object->filter(pod_of("b", {mib(40960)}), "").fits, !q7) << "the card is not empty again";
        ASSERT_FALSE(object->allocate(unlucky_pod(), "").ok);
        EXPECT_EQ(only_card(*object).used_mem, 2 * left) << "and again";
    }
}

TEST(volcano_mig, q7_a_failed_filter_leaves_nothing) {
    const setup with = unlucky_node();
    const auto object = with.object();
    ASSERT_FALSE(object->filter(unlucky_pod(), "binpack").fits);
    EXPECT_EQ(only_card(*object).used_mem, 0);
}

TEST(volcano_mig, q7_no_other_flag_gives_it_back) {
    for (const quirk other : {quirk::q1, quirk::q1a, quirk::q1e, quirk::q2, quirk::q3}) {
        setup with = unlucky_node();
        const auto object = with.without(other).object();
        ASSERT_FALSE(object->allocate(unlucky_pod(), "").ok);
        object->unallocate(unlucky_pod());
        EXPECT_EQ(only_card(*object).used_mem, 120);
    }
}

TEST(volcano_mig, q1_off_a_failed_allocate_frees_its_instances_and_its_group) {
    setup with = unlucky_node();
    const auto object = with.without(quirk::q1).without(quirk::q7).object();
    ASSERT_FALSE(object->allocate(unlucky_pod(), "").ok);
    EXPECT_EQ(only_card(*object).mig_index, -1);
    EXPECT_TRUE(only_card(*object).usage.empty());
}

TEST(volcano_mig, q1_off_a_discarded_pod_leaves_its_instance_to_the_next) {
    setup with = one_mig();
    with.without(quirk::q1).without(quirk::q3);
    story it{with};
    it.discard(pod_of("a", {mib(5000)})).add(pod_of("b", {mib(20000)}), session::same).session_cards();
    EXPECT_EQ(it.text(), "a scores 13: GPU-00[group1-0],NVIDIA,5000,0:\nb scores 50: GPU-00[group3-0],NVIDIA,20000,0:\n"
                         "session: 1 x, 20480 MiB, group 2, 3g.20gb 0");
}

TEST(volcano_mig, q1_off_a_session_never_books_more_than_the_group_has) {
    setup with{{node_of({card{.mode = "mig", .memory_mib = 81920}})}};
    story it{with.without(quirk::q1)};
    it.add(pod_of("a", {mib(20000)})).add(pod_of("b", {mib(20000)}), session::same);
    it.add(pod_of("c", {mib(20000)}), session::same);
    EXPECT_EQ(it.text(),
              "a scores 25: GPU-00[group3-0],NVIDIA,20000,0:\nb scores 50: GPU-00[group3-1],NVIDIA,20000,0:\n"
              "c refused: not_enough_fit");
}

TEST(volcano_mig, q1a_off_the_group_stays_while_a_pod_is_on_the_card) {
    setup with = one_mig();
    const auto object = with.without(quirk::q1a).object();
    // Q1 has given both the same instance.
    object->add_resource(holder("a", "group3-0"));
    object->add_resource(holder("b", "group3-0"));
    object->sub_resource(holder("a", "group3-0"));
    EXPECT_TRUE(only_card(*object).usage.empty());
    EXPECT_EQ(only_card(*object).mig_index, 2);
    object->sub_resource(holder("b", "group3-0"));
    EXPECT_EQ(only_card(*object).mig_index, -1);
}

TEST(volcano_mig, q1a_on_leaving_sets_the_group_of_the_id) {
    const setup with = one_mig();
    const auto object = with.object();
    object->add_resource(holder("a", "group1-0"));
    object->add_resource(holder("b", "group3-0"));
    EXPECT_EQ(only_card(*object).mig_index, 2);
    object->sub_resource(holder("a", "group1-0"));
    EXPECT_EQ(only_card(*object).mig_index, 0);
    EXPECT_EQ(only_card(*object).used_mem, 20480);
}

TEST(volcano_mig, memory_of_a_second_pod_on_one_instance_leaks_when_both_leave) {
    const setup with = one_mig();
    const auto object = with.object();
    object->add_resource(holder("a", "group1-0"));
    object->add_resource(holder("b", "group1-0"));
    object->sub_resource(holder("a", "group1-0"));
    object->sub_resource(holder("b", "group1-0"));
    EXPECT_EQ(only_card(*object).used_num, 0);
    EXPECT_EQ(only_card(*object).used_mem, 5120) << "no usage entry is left to say how much it was";
}

TEST(volcano_mig, q8_a_node_update_marks_again_what_q1_freed) {
    story it{one_mig()};
    it.add(pod_of("a", {mib(5000)})).add(pod_of("b", {mib(5000)}), session::same);
    it.remove("a").cache().update_node().cache();
    EXPECT_EQ(it.text(), "a scores 13: GPU-00[group1-0],NVIDIA,5000,0:\nb scores 25: GPU-00[group1-0],NVIDIA,5000,0:\n"
                         "cache: 1 x, 5120 MiB, group 0\ncache: 1 x, 5120 MiB, group 0, 1g.5gb 0");
}

TEST(volcano_mig, q1e_off_holds_in_a_pod_and_lasts_for_the_session_only) {
    setup with = one_mig();
    with.without(quirk::q1e);
    EXPECT_EQ(story{with}.add(pod_of("a", {mib(5000), mib(20000)})).text(), "a refused: not_enough_fit");
    EXPECT_EQ(story{with}.discard(pod_of("a", {mib(5000)})).add(pod_of("b", {mib(20000)})).text(),
              "a scores 13: GPU-00[group1-0],NVIDIA,5000,0:\nb scores 50: GPU-00[group3-0],NVIDIA,20000,0:");
    EXPECT_EQ(story{one_mig()}.add(pod_of("a", {mib(5000), mib(20000)})).text(),
              "a scores 75: GPU-00[group1-0],NVIDIA,5000,0:;GPU-00[group3-0],NVIDIA,20000,0:");
}

} // namespace
} // namespace vgpualloc::compat::volcano
