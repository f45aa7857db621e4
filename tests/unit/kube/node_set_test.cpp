// Sets of nodes.
#include "vgpualloc/kube/node_set.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

namespace kube = vgpualloc::kube;
using testing::ElementsAre;
using testing::HasSubstr;
using labels = std::vector<std::pair<std::string, std::string>>;

vgpualloc::node node_with(std::string name, labels own) {
    vgpualloc::node result;
    result.name = std::move(name);
    result.host.labels = std::move(own);
    return result;
}

std::vector<vgpualloc::node> cluster() {
    return {
        node_with("a100-1", {{"gpu.nvidia.com/spare", "yes"}, {"pool", "train"}, {"topology.kubernetes.io/zone", "a"}}),
        node_with("a100-2", {{"pool", "train"}, {"topology.kubernetes.io/zone", "b"}}),
        node_with("mig-1", {{"pool", "serve"}, {"topology.kubernetes.io/zone", "c"}}),
        node_with("t4-1", {{"pool", "dev"}})};
}

/// The names of the nodes in a set of the cluster.
std::vector<std::string> names_in(std::string_view set) {
    const auto nodes = cluster();
    const auto members = kube::nodes_in_set(nodes, set, "-l");
    EXPECT_TRUE(members.has_value()) << members.error().message();
    std::vector<std::string> names;
    for (std::size_t n = 0; members && n < nodes.size(); ++n) {
        if ((*members)[n]) names.push_back(nodes[n].name);
    }
    return names;
}

std::string refusal_of(std::string_view set) {
    const auto nodes = cluster();
    const auto members = kube::nodes_in_set(nodes, set, "-l");
    EXPECT_FALSE(members.has_value());
    return members ? "" : members.error().message();
}

TEST(node_set, names_and_globs_add_up) {
    EXPECT_THAT(names_in("a100-1,t4-1"), ElementsAre("a100-1", "t4-1"));
    EXPECT_THAT(names_in("a100-*"), ElementsAre("a100-1", "a100-2"));
    EXPECT_THAT(names_in("*-1, a100-?"), ElementsAre("a100-1", "a100-2", "mig-1", "t4-1"));
    EXPECT_THAT(names_in("*1*0*-*2"), ElementsAre("a100-2"));
}

TEST(node_set, ranges_are_the_names_that_tables_fold) {
    EXPECT_THAT(names_in("a100-[1-2]"), ElementsAre("a100-1", "a100-2"));
    EXPECT_THAT(names_in("a100-[2-9],t4-[0-1]"), ElementsAre("a100-2", "t4-1"));
    EXPECT_THAT(names_in("a[99-100]-*"), ElementsAre("a100-1", "a100-2"));
    EXPECT_THAT(names_in("*-[2-3]"), ElementsAre("a100-2"));
    EXPECT_THAT(names_in("a[1-200]-[2-2],pool=train"), ElementsAre("a100-2"));
    EXPECT_EQ(refusal_of("a100-[3-9]"), "-l a100-[3-9]: no node; nodes are a100-1, a100-2, mig-1, t4-1");
}

TEST(node_set, zeros_before_the_numbers_of_a_range_count) {
    std::vector<vgpualloc::node> nodes;
    for (const char* const name : {"w1", "w08", "w8", "w009", "w010", "w10", "w011", "w100", "w1000", "x008"}) {
        nodes.push_back(node_with(name, labels{}));
    }
    const auto in = [&](std::string_view set) {
        const auto members = kube::nodes_in_set(nodes, set, "-l");
        std::vector<std::string> names;
        for (std::size_t n = 0; members && n < nodes.size(); ++n) {
            if ((*members)[n]) names.push_back(nodes[n].name);
        }
        return names;
    };
    EXPECT_THAT(in("w[8-10]"), ElementsAre("w8", "w10"));
    EXPECT_THAT(in("w[008-011]"), ElementsAre("w009", "w010", "w011"));
    EXPECT_THAT(in("w[011-1000]"), ElementsAre("w011", "w100", "w1000")) << "as 999 and 1000 are folded";
    EXPECT_THAT(in("w1[0-3]"), ElementsAre("w10")) << "as in a shell";
    EXPECT_THAT(in("w[8-8]"), ElementsAre("w8"));
}

TEST(node_set, labels_select_as_in_kubernetes) {
    EXPECT_THAT(names_in("pool=train"), ElementsAre("a100-1", "a100-2"));
    EXPECT_THAT(names_in("pool==dev"), ElementsAre("t4-1"));
    EXPECT_THAT(names_in("pool in (serve, dev)"), ElementsAre("mig-1", "t4-1"));
    EXPECT_THAT(names_in("pool notin (train,dev)"), ElementsAre("mig-1"));
    EXPECT_THAT(names_in("topology.kubernetes.io/zone!=b"), ElementsAre("a100-1", "mig-1", "t4-1"))
        << "a node without the label is in the set";
    EXPECT_THAT(names_in("gpu.nvidia.com/spare"), ElementsAre("a100-1"));
    EXPECT_THAT(names_in("!gpu.nvidia.com/spare"), ElementsAre("a100-2", "mig-1", "t4-1"));
    EXPECT_THAT(names_in("!unheard.of/label,pool=dev"), ElementsAre("t4-1"));
}

TEST(node_set, a_short_key_is_the_label_that_ends_in_it) {
    EXPECT_THAT(names_in("zone=b"), ElementsAre("a100-2"));
    EXPECT_THAT(names_in("spare"), ElementsAre("a100-1"));
    EXPECT_THAT(names_in("zone"), ElementsAre("a100-1", "a100-2", "mig-1"));
}

TEST(node_set, all_parts_about_labels_have_to_hold_and_one_of_the_names) {
    EXPECT_THAT(names_in("pool=train,zone=a"), ElementsAre("a100-1"));
    EXPECT_THAT(names_in("a100-*,mig-1,zone in (b,c)"), ElementsAre("a100-2", "mig-1"));
    EXPECT_EQ(refusal_of("pool=train,zone=c"),
              "-l pool=train,zone=c: no node; each part alone has some, and no node is in all of them");
}

TEST(node_set, a_set_without_nodes_says_what_there_is) {
    EXPECT_EQ(refusal_of("zone=z"), "-l zone=z: no node; zones are a, b, c");
    EXPECT_EQ(refusal_of("spare=no"), "-l spare=no: no node; spare is yes");
    EXPECT_EQ(refusal_of("b100-*"), "-l b100-*: no node; nodes are a100-1, a100-2, mig-1, t4-1");
    EXPECT_EQ(refusal_of("a100-9"), "-l a100-9: no node; nodes are a100-1, a100-2, mig-1, t4-1");
    EXPECT_EQ(refusal_of("pol=train"), "-l pol=train: no node has this label; near: pool");
    EXPECT_THAT(refusal_of("colour=red"), HasSubstr("no node has this label; labels are gpu.nvidia.com/spare, pool"));
}

TEST(node_set, a_word_with_two_meanings_is_an_error_that_names_both) {
    auto nodes = cluster();
    nodes[3].host.labels.emplace_back("x.example.com/zone", "q");
    const auto ambiguous = kube::nodes_in_set(nodes, "zone=a", "-l");
    ASSERT_FALSE(ambiguous.has_value());
    EXPECT_EQ(ambiguous.error().message(),
              "-l zone=a: several labels end in /zone: topology.kubernetes.io/zone, x.example.com/zone");
    nodes[2].name = "pool";
    const auto name_or_label = kube::nodes_in_set(nodes, "pool", "-l");
    ASSERT_FALSE(name_or_label.has_value());
    EXPECT_THAT(name_or_label.error().message(), HasSubstr("two meanings: node pool and label pool"));
}

TEST(node_set, what_is_no_part_is_malformed) {
    for (const char* const set : {"a100-[2-1]", "a100-[1", "a100-[a-b]", "a100-[1-]", "a100-[]", "a100-1]",
                                  "mig-1,,t4-1", "pool in (train", "pool among (a)", "=b", "!", "a b", ""}) {
        const auto nodes = cluster();
        const auto members = kube::nodes_in_set(nodes, set, "-l");
        ASSERT_FALSE(members.has_value()) << set;
        EXPECT_EQ(members.error().code, vgpualloc::error_code::malformed) << set;
    }
}

TEST(node_set, label_keys_are_told_from_other_words) {
    const auto nodes = cluster();
    EXPECT_EQ(kube::label_key_of(nodes, "zone").value(), "topology.kubernetes.io/zone");
    EXPECT_EQ(kube::label_key_of(nodes, "pool").value(), "pool");
    const std::vector<std::string_view> words{"namespace", "queue"};
    const auto unknown = kube::label_key_of(nodes, "queu", words);
    ASSERT_FALSE(unknown.has_value());
    EXPECT_EQ(unknown.error().reason(), "no node has this label; near: queue");
}

} // namespace
