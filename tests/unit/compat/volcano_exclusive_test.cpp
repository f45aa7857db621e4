// The exclusive rules of Volcano's vGPU devices: what the recordings do not decide.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compat/volcano_builders.hpp"

namespace vgpualloc::compat::volcano {
namespace {

using namespace building;
using reserved = std::map<std::int64_t, std::vector<std::int64_t>>; ///< rule -> cards

/// Two cards, rule 0 for team red, rule 1 for role train; the cache's object and sessions that begin with its copy.
class volcano_exclusive : public testing::Test {
protected:
    setup with = setup{{node_of({card{}, card{.uuid = "GPU-01"}})}}.rules({{{"team", "red"}}, {}, {{"role", "train"}}});
    std::shared_ptr<exclusive_memory> memory = make_exclusive_memory();
    std::unique_ptr<device_object> cache = with.object(memory);

    static pod red(std::string uid) { return labelled(pod_of(std::move(uid), {mib(4000)}), "team", "red"); }
    static pod train(std::string uid) { return labelled(pod_of(std::move(uid), {mib(4000)}), "role", "train"); }
    std::unique_ptr<device_object> session_with(const std::vector<const pod*>& on_node) {
        auto fresh = cache->copy();
        fresh->open_session(with.nodes.front(), on_node);
        return fresh;
    }
    static std::string where(device_object& in, const pod& pending) {
        return kubernetes::value_of(in.allocate(pending, "").annotations, ids_name);
    }
};

TEST_F(volcano_exclusive, the_pod_maps_reserve_cards_for_the_rules_that_a_pod_matches) {
    const pod running = bound(red("a"), "GPU-00,NVIDIA,4000,0:");
    cache->add_resource(running);
    const auto session = session_with({&running});
    EXPECT_EQ(session->state().rule_gpus, (reserved{{0, {0}}}));
    EXPECT_EQ(where(*session, train("b")), "GPU-00,NVIDIA,4000,0:") << "another rule's pod may share it";
    EXPECT_EQ(where(*session, pod_of("c", {mib(1000)})), "GPU-00,NVIDIA,1000,0:") << "so may a pod without rules";
    EXPECT_EQ(where(*session, red("d")), "GPU-01,NVIDIA,4000,0:");
    EXPECT_EQ(session->state().rule_gpus, (reserved{{0, {0, 1}}, {1, {0}}}));
    EXPECT_FALSE(session->filter(red("e"), "").fits);
    EXPECT_TRUE(cache->state().rule_gpus.empty()) << "only sessions have them";
}

TEST_F(volcano_exclusive, reserved_cards_are_still_counted_as_the_nodes) {
    const pod running = bound(red("a"), "GPU-00,NVIDIA,4000,0:");
    cache->add_resource(running);
    const auto session = session_with({&running});
    EXPECT_EQ(session->filter(labelled(pod_of("b", {mib(4000, 2)}), "team", "red"), "").reason, "not_enough_fit");
    EXPECT_EQ(session->filter(labelled(pod_of("b", {mib(4000, 3)}), "team", "red"), "").reason, "not_enough_cards");
}

TEST_F(volcano_exclusive, the_annotation_speaks_for_a_pod_that_no_pod_map_has) {
    const pod exact = bound(red("a"), "GPU-01,NVIDIA,4000,0:");
    const auto session = session_with({&exact});
    EXPECT_EQ(session->state().rule_gpus, (reserved{{0, {1}}}));
    EXPECT_EQ(where(*session, red("b")), "GPU-00,NVIDIA,4000,0:");
    EXPECT_FALSE(session->filter(red("c"), "").fits);

    const pod longer = bound(red("a"), "GPU-011,NVIDIA,4000,0:");
    EXPECT_TRUE(session_with({&longer})->state().rule_gpus.empty()) << "only exactly the uuid";
    const pod unreadable = bound(red("a"), "GPU-01,NVIDIA,x,0:");
    EXPECT_TRUE(session_with({&unreadable})->state().rule_gpus.empty());
    const pod unruled = bound(pod_of("a", {}), "GPU-01,NVIDIA,4000,0:");
    EXPECT_TRUE(session_with({&unruled})->state().rule_gpus.empty());
}

TEST_F(volcano_exclusive, the_pod_map_goes_before_the_annotation) {
    const pod running = bound(red("a"), "GPU-00,NVIDIA,4000,0:");
    cache->add_resource(running);
    const pod rewritten = bound(red("a"), "GPU-01,NVIDIA,4000,0:");
    EXPECT_EQ(session_with({&rewritten})->state().rule_gpus, (reserved{{0, {0}}}));
}

TEST_F(volcano_exclusive, an_allocate_is_remembered_while_its_pod_is_on_the_node) {
    const pod pending = red("a");
    ASSERT_EQ(where(*session_with({}), pending), "GPU-00,NVIDIA,4000,0:");
    // Bound, but the pod with its annotations has not arrived: the cache has booked nothing.
    EXPECT_EQ(session_with({&pending})->state().rule_gpus, (reserved{{0, {0}}}));
    EXPECT_EQ(session_with({&pending})->state().rule_gpus, (reserved{{0, {0}}})) << "not for one session only";
    EXPECT_TRUE(session_with({})->state().rule_gpus.empty());
    EXPECT_TRUE(session_with({&pending})->state().rule_gpus.empty()) << "forgotten when it was not there";
}

TEST_F(volcano_exclusive, what_is_remembered_is_the_rules_of_then_and_joins_the_annotation) {
    ASSERT_EQ(where(*session_with({}), red("a")), "GPU-00,NVIDIA,4000,0:");
    const pod relabelled = train("a");
    EXPECT_EQ(session_with({&relabelled})->state().rule_gpus, (reserved{{0, {0}}}));
    const pod elsewhere = bound(train("a"), "GPU-01,NVIDIA,4000,0:");
    EXPECT_EQ(session_with({&elsewhere})->state().rule_gpus, (reserved{{0, {0}}, {1, {1}}}));
    const pod unruled = pod_of("a", {mib(4000)});
    EXPECT_TRUE(session_with({&unruled})->state().rule_gpus.empty()) << "a pod that matches no rule now";
    EXPECT_EQ(session_with({&relabelled})->state().rule_gpus, (reserved{{0, {0}}})) << "yet it is not forgotten";
}

TEST_F(volcano_exclusive, untracking_drops_cards_that_no_pod_map_holds) {
    const pod first = bound(red("a"), "GPU-00,NVIDIA,4000,0:"); // by its annotation only
    const auto session = session_with({&first});
    const pod second = red("b");
    ASSERT_EQ(where(*session, second), "GPU-01,NVIDIA,4000,0:");
    EXPECT_EQ(session->state().rule_gpus, (reserved{{0, {0, 1}}}));
    session->unallocate(second);
    EXPECT_TRUE(session->state().rule_gpus.empty()) << "the first pod's card went as well";
}

TEST_F(volcano_exclusive, q20_a_pod_of_any_rule_keeps_a_card_reserved_for_the_rule_of_one_that_leaves) {
    for (const bool q20 : {true, false}) {
        setup these = with;
        if (!q20) these.without(quirk::q20);
        const auto object = these.object();
        object->open_session(these.nodes.front(), {});
        const pod leaving = red("b");
        ASSERT_EQ(where(*object, train("a")), "GPU-00,NVIDIA,4000,0:");
        ASSERT_EQ(where(*object, leaving), "GPU-00,NVIDIA,4000,0:");
        object->unallocate(leaving);
        EXPECT_EQ(object->state().rule_gpus, q20 ? (reserved{{0, {0}}, {1, {0}}}) : (reserved{{1, {0}}}));
        EXPECT_EQ(where(*object, red("c")), q20 ? "GPU-01,NVIDIA,4000,0:" : "GPU-00,NVIDIA,4000,0:");
    }
}

TEST_F(volcano_exclusive, q20_a_pod_of_the_same_rule_keeps_its_own_card_either_way) {
    for (const bool q20 : {true, false}) {
        setup these = with;
        if (!q20) these.without(quirk::q20);
        const auto object = these.object();
        object->open_session(these.nodes.front(), {});
        ASSERT_EQ(where(*object, red("a")), "GPU-00,NVIDIA,4000,0:");
        ASSERT_EQ(where(*object, red("b")), "GPU-01,NVIDIA,4000,0:");
        object->unallocate(red("b"));
        EXPECT_EQ(object->state().rule_gpus, (reserved{{0, {0}}}));
    }
}

} // namespace
} // namespace vgpualloc::compat::volcano
