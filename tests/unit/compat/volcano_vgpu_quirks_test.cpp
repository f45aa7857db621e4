// Each quirk of Volcano's vGPU devices as docs/compat.md reproduces it: upstream's behaviour, the behaviour with that
// one flag off, and that no other flag changes it.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compat/volcano_builders.hpp"

namespace vgpualloc::compat::volcano {
namespace {

using namespace building;

struct reproduction {
    std::string name;
    quirk which;
    setup with;
    void (*events)(story&);
    std::string on;
    std::string off;
    std::set<quirk> also = {}; ///< other flags that prevent this as well, switched off
};

const setup one_card{{node_of({card{}})}};
setup with_groups(std::vector<mig_group> groups) { return one_mig().groups(std::move(groups)); }

std::vector<reproduction> mig_reproductions() {
    return {
        {.name = "Q1 an instance twice in a session",
         .which = quirk::q1,
         .with = one_mig(),
         .events =
             [](story& it) { it.add(pod_of("a", {mib(5000)})).add(pod_of("b", {mib(5000)}), session::same).cache(); },
         .on = "a scores 13: GPU-00[group1-0],NVIDIA,5000,0:\nb scores 25: GPU-00[group1-0],NVIDIA,5000,0:\n"
               "cache: 2 x, 10240 MiB, group 0, 1g.5gb 0",
         .off = "a scores 13: GPU-00[group1-0],NVIDIA,5000,0:\nb scores 25: GPU-00[group1-1],NVIDIA,5000,0:\n"
                "cache: 2 x, 10240 MiB, group 0, 1g.5gb 0 1"},
        {.name = "Q1 an instance for two containers of a pod",
         .which = quirk::q1,
         .with = one_mig(),
         .events = [](story& it) { it.add(pod_of("a", {mib(5000), mib(5000)})); },
         .on = "a scores 38: GPU-00[group1-0],NVIDIA,5000,0:;GPU-00[group1-0],NVIDIA,5000,0:",
         .off = "a scores 38: GPU-00[group1-0],NVIDIA,5000,0:;GPU-00[group1-1],NVIDIA,5000,0:"},
        {.name = "Q1a an empty card keeps its group",
         .which = quirk::q1a,
         .with = one_mig(),
         .events =
             [](story& it) { it.add(pod_of("a", {mib(5000)})).remove("a").cache().add(pod_of("b", {mib(20000)})); },
         .on = "a scores 13: GPU-00[group1-0],NVIDIA,5000,0:\ncache: 0 x, 0 MiB, group 0\nb refused: not_enough_fit",
         .off = "a scores 13: GPU-00[group1-0],NVIDIA,5000,0:\ncache: 0 x, 0 MiB\n"
                "b scores 50: GPU-00[group3-0],NVIDIA,20000,0:"},
        {.name = "Q1b a larger instance than needed",
         .which = quirk::q1b,
         .with = one_mig(),
         .events =
             [](story& it) {
                 it.restore(bound(pod_of("a", {mib(10000)}), "GPU-00[group2-0],NVIDIA,10000,0:"));
                 it.add(pod_of("b", {mib(5000)}));
             },
         .on = "b scores 50: GPU-00[group2-1],NVIDIA,5000,0:",
         .off = "b scores 38: GPU-00[group2-3],NVIDIA,5000,0:"},
        {.name = "Q1b an instance of a kind that nobody uses yet",
         .which = quirk::q1b,
         .with = one_mig(),
         .events =
             [](story& it) {
                 for (const char* const slot : {"0", "1", "2"}) {
                     it.restore(
                         bound(pod_of(slot, {mib(10000)}), "GPU-00[group2-" + std::string{slot} + "],NVIDIA,10000,0:"));
                 }
                 it.add(pod_of("b", {mib(5000)}));
             },
         .on = "b refused: not_enough_fit",
         .off = "b scores 88: GPU-00[group2-3],NVIDIA,5000,0:"},
        {.name = "Q1c a group's name with a dash",
         .which = quirk::q1c,
         .with = with_groups({{.name = "group-1", .instances = {kind("1g.5gb", 5120, 7)}}}),
         .events = [](story& it) { it.add(pod_of("a", {mib(5000)})).cache().add(pod_of("b", {mib(5000)})); },
         .on = "a scores 13: GPU-00[group-1-0],NVIDIA,5000,0:\ncache: 0 x, 0 MiB\n"
               "b scores 13: GPU-00[group-1-0],NVIDIA,5000,0:",
         .off = "a scores 13: GPU-00[group-1-0],NVIDIA,5000,0:\ncache: 1 x, 5120 MiB, group 0, 1g.5gb 0\n"
                "b scores 25: GPU-00[group-1-1],NVIDIA,5000,0:"},
        {.name = "Q1d two groups of one name",
         .which = quirk::q1d,
         .with = with_groups({{.name = "g", .instances = {kind("1g.5gb", 5120, 7)}},
                              {.name = "g", .instances = {kind("3g.20gb", 20480, 2)}}}),
         .events = [](story& it) { it.add(pod_of("a", {mib(20000)})).add(pod_of("b", {mib(5000)})).cache(); },
         .on = "a scores 50: GPU-00[g-0],NVIDIA,20000,0:\nb scores 25: GPU-00[g-1],NVIDIA,5000,0:\n"
               "cache: 2 x, 10240 MiB, group 0, 1g.5gb 0 1",
         .off = "a refused: not_enough_fit\nb scores 13: GPU-00[g-0],NVIDIA,5000,0:\n"
                "cache: 1 x, 5120 MiB, group 0, 1g.5gb 0"},
        {.name = "Q1e two groups on one card",
         .which = quirk::q1e,
         .with = one_mig(),
         .events =
             [](story& it) {
                 it.add(pod_of("a", {mib(5000)})).add(pod_of("b", {mib(20000)}), session::same);
                 it.add(pod_of("c", {mib(4000)}), session::same);
             },
         .on = "a scores 13: GPU-00[group1-0],NVIDIA,5000,0:\nb scores 63: GPU-00[group3-0],NVIDIA,20000,0:\n"
               "c scores 75: GPU-00[group1-0],NVIDIA,4000,0:",
         .off = "a scores 13: GPU-00[group1-0],NVIDIA,5000,0:\nb refused: not_enough_fit\n"
                "c scores 25: GPU-00[group1-0],NVIDIA,4000,0:",
         .also = {quirk::q1}},
        {.name = "Q27 compute asked for beside an instance",
         .which = quirk::q27,
         .with = one_mig(),
         .events =
             [](story& it) {
                 it.add(pod_of("a", {{{number_name, 1}, {memory_name, 5000}, {cores_name, 90}}}));
                 it.remove("a").update_node();
                 it.add(pod_of("b", {{{number_name, 1}, {memory_name, 5000}, {cores_name, 14}}}));
                 it.add(pod_of("c", {{{number_name, 1}, {memory_name, 5000}, {cores_name, 90}}}));
             },
         .on = "a scores 13: GPU-00[group1-0],NVIDIA,5000,90:\n"
               "b scores 13: GPU-00[group1-0],NVIDIA,5000,14:\nc refused: not_enough_fit",
         .off = "a scores 100: GPU-00[group4-0],NVIDIA,5000,90:\n"
                "b scores 13: GPU-00[group1-0],NVIDIA,5000,14:\nc refused: not_enough_fit"},
        {.name = "Q31 the first container takes what the second one needs",
         .which = quirk::q31,
         .with = setup{{node_of({card{}, card{.uuid = "GPU-01"}})}}.policy("spread"),
         .events =
             [](story& it) {
                 it.restore(bound(pod_of("x", {mib(30000)}), "GPU-01,NVIDIA,30000,0:"));
                 it.add(pod_of("a", {mib(3000), mib(40000)})).session_cards();
             },
         .on = "a refused: not_enough_fit\nsession: 0 x, 0 MiB | 1 x, 30000 MiB",
         .off = "a scores 0: GPU-01,NVIDIA,3000,0:;GPU-00,NVIDIA,40000,0:\n"
                "session: 1 x, 40000 MiB | 2 x, 33000 MiB"},
        {.name = "Q31 an instance of the wrong group",
         .which = quirk::q31,
         .with = one_mig().without(quirk::q1).without(quirk::q1e),
         .events = [](story& it) { it.add(pod_of("a", {mib(3000), mib(20000)})).session_cards(); },
         .on = "a refused: not_enough_fit\nsession: 0 x, 0 MiB",
         .off = "a scores 150: GPU-00[group3-0],NVIDIA,3000,0:;GPU-00[group3-1],NVIDIA,20000,0:\n"
                "session: 2 x, 40960 MiB, group 2, 3g.20gb 0 1",
         .also = {}},
        {.name = "Q6 the last card's mode",
         .which = quirk::q6,
         .with = setup{{node_of({mig_card, card{.uuid = "GPU-01"}})}},
         .events =
             [](story& it) {
                 it.add(annotated(pod_of("a", {mib(5000)}), "volcano.sh/vgpu-mode", "mig"));
                 it.add(annotated(pod_of("b", {mib(4000)}), "volcano.sh/vgpu-mode", "hami-core"));
                 it.add(pod_of("c", {mib(3000)}));
             },
         .on = "a refused: mode_mismatch\nb scores 10: GPU-00,NVIDIA,4000,0:\nc scores 17: GPU-00,NVIDIA,3000,0:",
         .off = "a scores 13: GPU-00[group1-0],NVIDIA,5000,0:\nb scores 10: GPU-01,NVIDIA,4000,0:\n"
                "c scores 25: GPU-00[group1-1],NVIDIA,3000,0:"},
        {.name = "Q6 a hami-core card before a MIG card",
         .which = quirk::q6,
         .with = setup{{node_of({card{}, card{.uuid = "GPU-01", .mode = "mig"}})}},
         .events = [](story& it) { it.add(pod_of("a", {mib(5000)})); },
         .on = "a scores 13: GPU-01[group1-0],NVIDIA,5000,0:",
         .off = "a scores 12: GPU-00,NVIDIA,5000,0:"},
    };
}

std::vector<reproduction> booking_reproductions() {
    return {
        {.name = "Q2 two containers on one card",
         .which = quirk::q2,
         .with = one_card,
         .events =
             [](story& it) {
                 it.add(pod_of("a", {mib(4000), mib(4000)})).session_cards().cache();
                 it.add(pod_of("b", {mib(36000)})).remove("a").remove("b").cache();
             },
         .on = "a scores 29: GPU-00,NVIDIA,4000,0:;GPU-00,NVIDIA,4000,0:\nsession: 2 x, 8000 MiB\n"
               "cache: 1 x, 4000 MiB\nb scores 98: GPU-00,NVIDIA,36000,0:\ncache: 0 x, 0 MiB",
         .off = "a scores 29: GPU-00,NVIDIA,4000,0:;GPU-00,NVIDIA,4000,0:\nsession: 2 x, 8000 MiB\n"
                "cache: 2 x, 8000 MiB\nb refused: not_enough_fit\ncache: 0 x, 0 MiB"},
        {.name = "Q3 a discarded allocation",
         .which = quirk::q3,
         .with = one_card,
         .events =
             [](story& it) {
                 it.discard(pod_of("a", {mib(30000)})).session_cards().add(pod_of("b", {mib(30000)}), session::same);
                 it.add(pod_of("c", {mib(5000)}));
             },
         .on = "a scores 73: GPU-00,NVIDIA,30000,0:\nsession: 1 x, 30000 MiB\nb refused: not_enough_fit\n"
               "c scores 12: GPU-00,NVIDIA,5000,0:",
         .off = "a scores 73: GPU-00,NVIDIA,30000,0:\nsession: 0 x, 0 MiB\nb scores 73: GPU-00,NVIDIA,30000,0:\n"
                "c scores 85: GPU-00,NVIDIA,5000,0:"},
        {.name = "Q4 a sidecar first",
         .which = quirk::q4,
         .with = one_card,
         .events = [](story& it) { it.add(pod_of("a", {{}, mib(4000), {}})); },
         .on = "a scores 10: GPU-00,NVIDIA,4000,0:",
         .off = "a scores 10: ;GPU-00,NVIDIA,4000,0:;"},
        {.name = "Q5 an unhealthy card",
         .which = quirk::q5,
         .with = setup{{node_of({card{.health = "false"}, card{.uuid = "GPU-01"}})}},
         .events = [](story& it) { it.add(pod_of("a", {mib(4000)})).add(pod_of("b", {mib(4000, 2)})); },
         .on = "a scores 10: GPU-00,NVIDIA,4000,0:\nb scores 29: GPU-00,NVIDIA,4000,0:GPU-01,NVIDIA,4000,0:",
         .off = "a scores 10: GPU-01,NVIDIA,4000,0:\nb refused: not_enough_fit"},
        {.name = "Q7b a count of 0",
         .which = quirk::q7b,
         .with = one_card,
         .events =
             [](story& it) {
                 it.add(pod_of("a", {mib(30000, 0)})).session_cards().cache();
                 it.add(pod_of("b", {mib(30000)}), session::same);
             },
         .on = "a scores 0: \nsession: 1 x, 30000 MiB\ncache: 0 x, 0 MiB\nb refused: not_enough_fit",
         .off = "a scores 0: \nsession: 0 x, 0 MiB\ncache: 0 x, 0 MiB\nb scores 73: GPU-00,NVIDIA,30000,0:"},
        {.name = "Q10 spread's score",
         .which = quirk::q10,
         .with = setup{one_card}.policy("spread"),
         .events = [](story& it) { it.add(pod_of("a", {mib(4000)})).add(pod_of("b", {mib(4000)})); },
         .on = "a scores 0: GPU-00,NVIDIA,4000,0:\nb scores 0: GPU-00,NVIDIA,4000,0:",
         .off = "a scores 100: GPU-00,NVIDIA,4000,0:\nb scores 0: GPU-00,NVIDIA,4000,0:"},
    };
}

setup without_percent_name() {
    setup result{one_card};
    result.config.percent_name.clear();
    return result;
}

std::vector<reproduction> reading_reproductions() {
    return {
        {.name = "Q12 a percentage without a configured name",
         .which = quirk::q12,
         .with = without_percent_name(),
         .events = [](story& it) { it.add(pod_of("a", {{{number_name, 1}, {percent_name, 50}}})); },
         .on = "a scores 100: GPU-00,NVIDIA,40960,0:",
         .off = "a scores 50: GPU-00,NVIDIA,20480,0:"},
        {.name = "Q14 a registration with a hole",
         .which = quirk::q14,
         .with =
             setup{{node_registering(registered(card{}) + "none:" + registered(card{.uuid = "GPU-01"}))}}.policy(""),
         .events = [](story& it) { it.add(pod_of("a", {mib(4000)})).add(pod_of("b", {mib(4000, 2)})); },
         .on = "a scores 0: GPU-00,NVIDIA,4000,0:\nb refused: not_enough_fit",
         .off = "a scores 0: GPU-01,NVIDIA,4000,0:\nb scores 0: GPU-01,NVIDIA,4000,0:GPU-00,NVIDIA,4000,0:"},
        {.name = "Q20 a card reserved for a rule by pods of another",
         .which = quirk::q20,
         .with = setup{one_card}.rules({{{"team", "red"}}, {{"role", "train"}}}),
         .events =
             [](story& it) {
                 it.add(labelled(pod_of("a", {mib(4000)}), "role", "train"));
                 it.discard(labelled(pod_of("b", {mib(4000)}), "team", "red"), session::same);
                 it.add(labelled(pod_of("c", {mib(4000)}), "team", "red"), session::same);
             },
         .on = "a scores 10: GPU-00,NVIDIA,4000,0:\nb scores 20: GPU-00,NVIDIA,4000,0:\nc refused: not_enough_fit",
         .off = "a scores 10: GPU-00,NVIDIA,4000,0:\nb scores 20: GPU-00,NVIDIA,4000,0:\n"
                "c scores 29: GPU-00,NVIDIA,4000,0:"},
        {.name = "Q22 a uuid that is part of another",
         .which = quirk::q22,
         .with = setup{{node_of({card{.uuid = "GPU-1"}, card{.uuid = "GPU-12"}})}},
         .events =
             [](story& it) {
                 it.add(annotated(pod_of("a", {mib(4000)}), "volcano.sh/vgpu-use-gpuuuid", "GPU-12")).cache();
             },
         .on = "a scores 10: GPU-12,NVIDIA,4000,0:\ncache: 1 x, 4000 MiB | 0 x, 0 MiB",
         .off = "a scores 10: GPU-12,NVIDIA,4000,0:\ncache: 0 x, 0 MiB | 1 x, 4000 MiB"},
        {.name = "Q24 an empty item of the list of types",
         .which = quirk::q24,
         .with = one_card,
         .events =
             [](story& it) {
                 it.add(annotated(pod_of("a", {mib(4000)}), "nvidia.com/use-gputype", "H100,"));
                 it.add(annotated(pod_of("b", {mib(4000)}), "nvidia.com/nouse-gputype", "H100,"));
             },
         .on = "a scores 10: GPU-00,NVIDIA,4000,0:\nb refused: not_enough_fit",
         .off = "a refused: not_enough_fit\nb scores 10: GPU-00,NVIDIA,4000,0:"},
        {.name = "Q24 both lists of types",
         .which = quirk::q24,
         .with = one_card,
         .events =
             [](story& it) {
                 pod pending = annotated(pod_of("a", {mib(4000)}), "nvidia.com/use-gputype", "A100");
                 it.add(annotated(pending, "nvidia.com/nouse-gputype", "a100"));
             },
         .on = "a scores 10: GPU-00,NVIDIA,4000,0:",
         .off = "a refused: not_enough_fit"},
    };
}

/// A container that asks for memory and compute of one card.
kubernetes::amount_map part(std::int64_t memory, std::int64_t cores) {
    return {{number_name, 1}, {memory_name, memory}, {"volcano.sh/vgpu-cores", cores}};
}

std::vector<reproduction> mps_reproductions() {
    const setup one_mps_card{{node_of({card{.mode = "mps"}})}};
    return {
        {.name = "Q30 all threads beside another client of an MPS server",
         .which = quirk::q30,
         .with = one_mps_card,
         .events =
             [](story& it) {
                 it.add(pod_of("a", {part(4000, 0)})).add(pod_of("b", {part(4000, 100)}));
                 it.add(pod_of("c", {part(4000, 0)}));
             },
         .on = "a scores 10: GPU-00,NVIDIA,4000,0:\nb refused: not_enough_fit\nc scores 20: GPU-00,NVIDIA,4000,0:",
         .off = "a scores 10: GPU-00,NVIDIA,4000,0:\nb scores 20: GPU-00,NVIDIA,4000,100:\n"
                "c scores 29: GPU-00,NVIDIA,4000,0:"},
        {.name = "Q30 the mode that a pod asks for",
         .which = quirk::q30,
         .with = one_mps_card,
         .events =
             [](story& it) {
                 it.add(annotated(pod_of("a", {mib(4000)}), "volcano.sh/vgpu-mode", "mps"));
                 it.add(annotated(pod_of("b", {mib(4000)}), "volcano.sh/vgpu-mode", "hami-core"));
             },
         .on = "a refused: mode_mismatch\nb scores 10: GPU-00,NVIDIA,4000,0:",
         .off = "a scores 10: GPU-00,NVIDIA,4000,0:\nb refused: mode_mismatch"},
        {.name = "Q30 48 clients of an MPS server, of 100 that the card registers",
         .which = quirk::q30,
         .with = setup{{node_registering("GPU-00,100,40960,NVIDIA-A100,true,mps:")}},
         .events =
             [](story& it) {
                 for (int i = 0; i < 48; ++i)
                     it.restore(bound(pod_of(std::to_string(i), {mib(100)}), "GPU-00,NVIDIA,100,0:"));
                 it.add(pod_of("a", {mib(100)}));
             },
         .on = "a scores 12: GPU-00,NVIDIA,100,0:",
         .off = "a refused: not_enough_fit"},
    };
}

std::vector<reproduction> reproductions() {
    auto all = mig_reproductions();
    for (auto& example : booking_reproductions()) all.push_back(std::move(example));
    for (auto& example : reading_reproductions()) all.push_back(std::move(example));
    for (auto& example : mps_reproductions()) all.push_back(std::move(example));
    return all;
}

std::string story_of(const reproduction& of, const setup& with) {
    story it{with};
    of.events(it);
    return it.text();
}

TEST(volcano_vgpu_quirks, on_is_upstreams_behaviour) {
    for (const reproduction& example : reproductions())
        EXPECT_EQ(story_of(example, example.with), example.on) << example.name;
}

TEST(volcano_vgpu_quirks, off_is_the_fixed_behaviour) {
    for (const reproduction& example : reproductions()) {
        EXPECT_EQ(story_of(example, setup{example.with}.without(example.which)), example.off) << example.name;
    }
}

TEST(volcano_vgpu_quirks, a_flag_changes_nothing_else) {
    for (const reproduction& example : reproductions()) {
        for (std::size_t i = 0; i < quirk_count; ++i) {
            const auto other = static_cast<quirk>(i);
            const std::string said = story_of(example, setup{example.with}.without(other));
            if (other == example.which || example.also.contains(other)) {
                EXPECT_NE(said, example.on) << example.name << " without " << quirk_names[i];
            } else {
                EXPECT_EQ(said, example.on) << example.name << " without " << quirk_names[i];
            }
        }
    }
}

} // namespace
} // namespace vgpualloc::compat::volcano
