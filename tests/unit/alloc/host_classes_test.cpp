// Which nodes are one class to the host rules: as few classes as what requests look at allows.
#include "alloc/host_classes.hpp"

#include <string>

#include <gtest/gtest.h>

namespace vgpualloc {
namespace {

using labels = std::vector<std::pair<std::string, std::string>>;

node node_of(const std::string& name, labels described = {}, std::vector<taint> taints = {}) {
    node result;
    result.name = name;
    result.host.labels = std::move(described);
    result.host.taints = std::move(taints);
    return result;
}

host_rules choosing(const std::string& label, const std::string& value = "a") {
    return {.node_selector = {{label, value}}};
}

host_rules with_affinity(node_selector_term term) { return {.has_affinity = true, .affinity = {std::move(term)}}; }

TEST(host_classes, a_label_that_nobody_looks_at_tells_no_nodes_apart) {
    host_classes classes;
    EXPECT_FALSE(classes.add_rules({})) << "nothing new is looked at";
    const auto number = classes.join(node_of("n0", {{"zone", "a"}}));
    EXPECT_EQ(classes.join(node_of("n1", {{"zone", "b"}})), number);
    EXPECT_EQ(classes.size(), 1U);
    EXPECT_TRUE(classes.add_rules(choosing("zone"))) << "now the class is too wide";
    const auto generation = classes.generation();
    classes.start_over();
    EXPECT_GT(classes.generation(), generation);
    const auto a = classes.join(node_of("n0", {{"zone", "a"}}));
    EXPECT_NE(classes.join(node_of("n1", {{"zone", "b"}})), a);
    EXPECT_NE(classes.join(node_of("n2")), a);
    EXPECT_EQ(classes.join(node_of("n3", {{"rack", "7"}, {"zone", "a"}})), a);
    EXPECT_EQ(classes.size(), 3U);
    EXPECT_FALSE(classes.add_rules(with_affinity({.labels = {{.key = "zone", .op = label_operator::exists}}})));
}

TEST(host_classes, what_keeps_pods_off_tells_nodes_apart) {
    host_classes classes;
    const auto open = classes.join(node_of("n0"));
    node cordoned = node_of("n1");
    cordoned.host.unschedulable = true;
    node not_ready = node_of("n2");
    not_ready.host.ready = false;
    node unreachable = not_ready;
    unreachable.host.unreachable = true;
    for (const node& other : {cordoned, not_ready, unreachable, node_of("n3", {}, {{.key = "a"}}),
                              node_of("n4", {}, {{.key = "a", .value = "b"}}), node_of("n5", {}, {{.key = "ab"}}),
                              node_of("n6", {}, {{.key = "a", .effect = taint_effect::no_execute}}),
                              node_of("n7", {}, {{.key = "a"}, {.key = "b"}})}) {
        const std::size_t before = classes.size();
        EXPECT_NE(classes.join(other), open);
        EXPECT_EQ(classes.size(), before + 1) << other.name;
    }
    EXPECT_EQ(classes.join(node_of("n8", {}, {{.key = "a"}, {.key = "b"}})), classes.number_limit() - 1);
}

TEST(host_classes, texts_side_by_side_are_not_taken_for_others) {
    host_classes classes;
    for (const char* const label : {"x", "y"}) static_cast<void>(classes.add_rules(choosing(label)));
    classes.start_over();
    const auto number = classes.join(node_of("n0", {{"x", "1"}, {"y", "23"}}));
    EXPECT_NE(classes.join(node_of("n1", {{"x", "12"}, {"y", "3"}})), number);
    EXPECT_NE(classes.join(node_of("n2", {{"x", "1;2:23"}})), number);
    const auto x_alone = classes.join(node_of("n3", {{"x", "1"}}));
    EXPECT_NE(classes.join(node_of("n4", {{"y", "1"}})), x_alone);
    EXPECT_NE(classes.join(node_of("n5", {{"x", "1"}, {"y", ""}})), x_alone) << "an empty value is a value";
}

TEST(host_classes, labels_beside_those_that_are_looked_at_make_no_difference) {
    host_classes classes;
    for (const char* const label : {"k", "x", "y"}) static_cast<void>(classes.add_rules(choosing(label)));
    classes.start_over();
    const auto number = classes.join(node_of("n0", {{"k", "0"}, {"x", "1"}}));
    const labels more{{"a", "0"}, {"k", "0"}, {"l", "0"}, {"x", "1"}, {"xx", "0"}, {"z", "0"}};
    EXPECT_EQ(classes.join(node_of("n1", more)), number);
    EXPECT_EQ(classes.join(node_of("n2")),
              classes.join(node_of("n3", {{"a", "0"}, {"b", "0"}, {"c", "0"}, {"d", "0"}})));
    EXPECT_EQ(classes.size(), 2U);
}

TEST(host_classes, names_count_where_a_request_looks_at_them) {
    host_classes classes;
    const node_selector_term by_name{.names = {{.key = "metadata.name", .values = {"n1"}}}};
    EXPECT_TRUE(classes.add_rules(with_affinity(by_name)));
    classes.start_over();
    EXPECT_NE(classes.join(node_of("n0")), classes.join(node_of("n1")));
    classes.remove_rules(with_affinity(by_name));
    classes.start_over();
    EXPECT_EQ(classes.join(node_of("n0")), classes.join(node_of("n1")));
}

TEST(host_classes, what_no_request_looks_at_any_more_is_forgotten_at_the_next_start) {
    host_classes classes;
    EXPECT_TRUE(classes.add_rules(choosing("zone")));
    classes.start_over();
    EXPECT_FALSE(classes.add_rules(choosing("zone", "b")));
    classes.remove_rules(choosing("zone"));
    EXPECT_EQ(classes.label_count(), 1U);
    classes.remove_rules(choosing("zone", "b"));
    EXPECT_EQ(classes.label_count(), 0U);
    EXPECT_NE(classes.join(node_of("n0", {{"zone", "a"}})), classes.join(node_of("n1")));
    EXPECT_FALSE(classes.add_rules(choosing("zone"))) << "the classes are still narrow enough";
    classes.remove_rules(choosing("zone"));
    classes.start_over();
    EXPECT_EQ(classes.join(node_of("n0", {{"zone", "a"}})), classes.join(node_of("n1")));
    EXPECT_TRUE(classes.add_rules(choosing("zone")));
}

TEST(host_classes, a_class_goes_with_its_last_node_and_its_number_is_not_given_again) {
    host_classes classes;
    static_cast<void>(classes.add_rules(choosing("zone")));
    classes.start_over();
    const auto first = classes.join(node_of("n0", {{"zone", "a"}}));
    EXPECT_EQ(classes.join(node_of("n1", {{"zone", "a"}})), first);
    classes.leave(first);
    EXPECT_EQ(classes.size(), 1U);
    classes.leave(first);
    EXPECT_EQ(classes.size(), 0U);
    EXPECT_NE(classes.join(node_of("n0", {{"zone", "a"}})), first) << "what was answered for it stays with its number";
    for (int i = 0; i < 1100; ++i) {
        const auto passing = classes.join(node_of("n1", {{"zone", std::to_string(i)}}));
        EXPECT_EQ(classes.is_crowded(), i >= 1026) << i << ": two classes have nodes, two numbers went before";
        classes.leave(passing);
    }
}

} // namespace
} // namespace vgpualloc
