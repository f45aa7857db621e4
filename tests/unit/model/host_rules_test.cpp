// Rules about nodes, row by row as kube-scheduler's plugins NodeUnschedulable, TaintToleration and NodeAffinity
// decide them.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/model/host_rules.hpp"

namespace vgpualloc {
namespace {

using enum rejection_code;
using enum label_operator;
using enum taint_effect;

host_facts with_labels(std::vector<std::pair<std::string, std::string>> labels) {
    host_facts facts;
    facts.labels = std::move(labels);
    return facts;
}

host_facts with_taints(std::vector<taint> taints) {
    host_facts facts;
    facts.taints = std::move(taints);
    return facts;
}

host_rules tolerating(std::vector<toleration> tolerations) {
    host_rules rules;
    rules.tolerations = std::move(tolerations);
    return rules;
}

host_rules requiring(std::vector<node_selector_term> terms) {
    host_rules rules;
    rules.has_affinity = true;
    rules.affinity = std::move(terms);
    return rules;
}

node_selector_term on_labels(std::vector<label_requirement> requirements) {
    return {.labels = std::move(requirements), .names = {}};
}

node_selector_term on_name(label_operator op, std::vector<std::string> values) {
    return {.labels = {}, .names = {{.key = "metadata.name", .op = op, .values = std::move(values)}}};
}

const host_facts labelled = with_labels({{"cards", "8"}, {"empty", ""}, {"model", "A100"}, {"negative", "-3"}});

TEST(host_rules, a_node_without_anything_takes_a_pod_without_rules) {
    EXPECT_EQ(why_not_host({}, {}, "n"), none);
    EXPECT_EQ(why_not_host({}, labelled, "n"), none);
    EXPECT_TRUE(labelled.is_open());
    EXPECT_FALSE(host_rules{}.restricts());
}

TEST(host_rules, every_label_of_the_selector_has_to_be_there_with_its_value) {
    const auto code = [](std::vector<std::pair<std::string, std::string>> selector) {
        host_rules rules;
        rules.node_selector = std::move(selector);
        EXPECT_EQ(rules.restricts(), !rules.node_selector.empty());
        return why_not_host(rules, labelled, "n");
    };
    EXPECT_EQ(code({}), none);
    EXPECT_EQ(code({{"model", "A100"}}), none);
    EXPECT_EQ(code({{"cards", "8"}, {"model", "A100"}}), none);
    EXPECT_EQ(code({{"empty", ""}}), none);
    EXPECT_EQ(code({{"model", "a100"}}), node_selector_differs);
    EXPECT_EQ(code({{"cards", "8"}, {"model", "H100"}}), node_selector_differs);
    EXPECT_EQ(code({{"missing", ""}}), node_selector_differs) << "no label is not an empty one";
}

TEST(host_rules, the_six_operators) {
    struct row {
        label_requirement requirement;
        bool holds;
    };
    const std::vector<row> rows{
        {{"model", in, {"H100", "A100"}}, true},
        {{"model", in, {"H100"}}, false},
        {{"missing", in, {"", "A100"}}, false},
        {{"empty", in, {""}}, true},
        {{"model", not_in, {"H100"}}, true},
        {{"model", not_in, {"H100", "A100"}}, false},
        {{"missing", not_in, {"A100"}}, true},
        {{"model", exists}, true},
        {{"empty", exists}, true},
        {{"missing", exists}, false},
        {{"missing", does_not_exist}, true},
        {{"model", does_not_exist}, false},
        {{"cards", greater, {"7"}}, true},
        {{"cards", greater, {"8"}}, false},
        {{"cards", greater, {"-9"}}, true},
        {{"cards", less, {"9"}}, true},
        {{"cards", less, {"8"}}, false},
        {{"negative", less, {"-2"}}, true},
        {{"negative", greater, {"-2"}}, false},
        {{"model", greater, {"1"}}, false},
        {{"model", less, {"1"}}, false},
        {{"cards", greater, {"+7"}}, true},
        {{"cards", greater, {"+-7"}}, false},
        {{"cards", greater, {"seven"}}, false},
        {{"cards", greater, {"7.5"}}, false},
        {{"cards", less, {"9 "}}, false},
        {{"empty", less, {"9"}}, false},
        {{"missing", greater, {"1"}}, false},
        {{"missing", less, {"1"}}, false},
        {{"cards", greater, {"99999999999999999999"}}, false},
        {{"cards", less, {"99999999999999999999"}}, false},
        {{"cards", greater, {}}, false},
        {{"cards", greater, {"1", "2"}}, false},
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto expected = rows[i].holds ? none : node_affinity_differs;
        EXPECT_EQ(why_not_host(requiring({on_labels({rows[i].requirement})}), labelled, "n"), expected) << i;
    }
}

TEST(host_rules, numbers_are_read_as_go_reads_them) {
    const std::vector<std::pair<const char*, std::int64_t>> numbers{
        {"0", 0}, {"007", 7}, {"+7", 7}, {"-7", -7}, {"9223372036854775807", 9223372036854775807}};
    for (const auto& [text, number] : numbers) EXPECT_EQ(whole_number(text), number) << text;
    for (const char* text : {"", "+", "-", "+-7", "++7", "7 ", " 7", "7.0", "1e3", "0x1F", "9223372036854775808"}) {
        EXPECT_FALSE(whole_number(text).has_value()) << text;
    }
}

TEST(host_rules, one_term_has_to_match_with_all_its_requirements) {
    const label_requirement yes{"model", exists, {}};
    const label_requirement no{"model", does_not_exist, {}};
    const auto code = [](std::vector<node_selector_term> terms) {
        return why_not_host(requiring(std::move(terms)), labelled, "n1");
    };
    EXPECT_EQ(code({on_labels({yes, yes})}), none);
    EXPECT_EQ(code({on_labels({yes, no})}), node_affinity_differs);
    EXPECT_EQ(code({on_labels({no}), on_labels({yes})}), none);
    EXPECT_EQ(code({on_labels({no}), on_labels({no})}), node_affinity_differs);
    EXPECT_EQ(code({}), node_affinity_differs) << "an affinity without terms matches no node";
    EXPECT_EQ(code({{}}), node_affinity_differs) << "nor does a term without requirements";
    EXPECT_EQ(code({{}, on_labels({yes})}), none);
    EXPECT_TRUE(requiring({}).restricts());
}

TEST(host_rules, a_term_may_name_nodes) {
    const auto code = [](const node_selector_term& term, const char* name) {
        return why_not_host(requiring({term}), labelled, name);
    };
    EXPECT_EQ(code(on_name(in, {"n1", "n2"}), "n2"), none);
    EXPECT_EQ(code(on_name(in, {"n1", "n2"}), "n3"), node_affinity_differs);
    EXPECT_EQ(code(on_name(not_in, {"n1"}), "n3"), none);
    EXPECT_EQ(code(on_name(not_in, {"n1"}), "n1"), node_affinity_differs);
    node_selector_term both = on_name(in, {"n1"});
    both.labels.push_back({"missing", exists, {}});
    EXPECT_EQ(code(both, "n1"), node_affinity_differs) << "its labels count as well";
}

TEST(host_rules, selector_and_affinity_both_have_to_hold) {
    host_rules rules = requiring({on_labels({{"model", exists, {}}})});
    rules.node_selector = {{"cards", "8"}};
    EXPECT_EQ(why_not_host(rules, labelled, "n"), none);
    rules.node_selector = {{"cards", "4"}};
    EXPECT_EQ(why_not_host(rules, labelled, "n"), node_selector_differs);
}

TEST(host_rules, taints_and_tolerations) {
    struct row {
        taint repelling;
        toleration tolerated;
        bool fits;
    };
    const taint no_pods{.key = "gpu", .value = "yes"};
    const taint no_run{.key = "gpu", .value = "yes", .effect = no_execute};
    const std::vector<row> rows{
        {no_pods, {.key = "gpu", .value = "yes"}, true},
        {no_pods, {.key = "gpu", .value = "no"}, false},
        {no_pods, {.key = "npu", .value = "yes"}, false},
        {no_pods, {.key = "gpu", .any_value = true}, true},
        {no_pods, {.key = "npu", .any_value = true}, false},
        {no_pods, {.any_value = true}, true},
        {no_run, {.any_value = true}, true},
        {no_pods, {.any_value = true, .any_effect = false, .effect = no_schedule}, true},
        {no_run, {.any_value = true, .any_effect = false, .effect = no_schedule}, false},
        {no_pods, {.key = "gpu", .value = "yes", .any_effect = false, .effect = no_schedule}, true},
        {no_pods, {.key = "gpu", .value = "yes", .any_effect = false, .effect = no_execute}, false},
        {no_run, {.key = "gpu", .value = "yes", .any_effect = false, .effect = no_execute}, true},
        {no_run, {.key = "gpu", .value = "yes"}, true},
        {{.key = "gpu"}, {.key = "gpu"}, true},
        {{.key = "gpu"}, {.key = "gpu", .value = "yes"}, false},
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto expected = rows[i].fits ? none : taint_not_tolerated;
        EXPECT_EQ(why_not_host(tolerating({rows[i].tolerated}), with_taints({rows[i].repelling}), "n"), expected) << i;
        EXPECT_EQ(why_not_host({}, with_taints({rows[i].repelling}), "n"), taint_not_tolerated) << i;
    }
    EXPECT_FALSE(with_taints({no_pods}).is_open());
}

TEST(host_rules, every_taint_has_to_be_tolerated_but_a_wish) {
    const taint wish{.key = "slow", .effect = prefer_no_schedule};
    const taint a{.key = "a"};
    const taint b{.key = "b", .effect = no_execute};
    const toleration of_a{.key = "a"};
    const toleration of_b{.key = "b"};
    EXPECT_EQ(why_not_host({}, with_taints({wish}), "n"), none);
    EXPECT_EQ(why_not_host({}, with_taints({wish, a}), "n"), taint_not_tolerated);
    EXPECT_EQ(why_not_host(tolerating({of_a}), with_taints({wish, a}), "n"), none);
    EXPECT_EQ(why_not_host(tolerating({of_a}), with_taints({a, b}), "n"), taint_not_tolerated);
    EXPECT_EQ(why_not_host(tolerating({of_a, of_b}), with_taints({a, b}), "n"), none);
}

TEST(host_rules, cordoned_and_not_ready_are_taints_of_kubernetes_own) {
    host_facts cordoned;
    cordoned.unschedulable = true;
    host_facts not_ready;
    not_ready.ready = false;
    host_facts unreachable = not_ready;
    unreachable.unreachable = true;
    const std::string prefix = "node.kubernetes.io/";
    struct row {
        host_facts facts;
        std::string key;
        rejection_code code;
    };
    for (const row& state : {row{cordoned, prefix + "unschedulable", node_unschedulable},
                             row{not_ready, prefix + "not-ready", node_not_ready},
                             row{unreachable, prefix + "unreachable", node_not_ready}}) {
        EXPECT_FALSE(state.facts.is_open());
        EXPECT_EQ(why_not_host({}, state.facts, "n"), state.code);
        EXPECT_EQ(why_not_host(tolerating({{.key = state.key}}), state.facts, "n"), none);
        EXPECT_EQ(why_not_host(tolerating({{.key = state.key, .any_value = true}}), state.facts, "n"), none);
        EXPECT_EQ(why_not_host(tolerating({{.any_value = true}}), state.facts, "n"), none);
        EXPECT_EQ(why_not_host(tolerating({{.key = state.key, .value = "x"}}), state.facts, "n"), state.code);
        const toleration of_running{.key = state.key, .any_effect = false, .effect = no_execute};
        EXPECT_EQ(why_not_host(tolerating({of_running}), state.facts, "n"), state.code)
            << "of pods that run there already";
    }
}

TEST(host_rules, the_first_rule_in_order_is_named) {
    host_facts facts = labelled;
    facts.unschedulable = true;
    facts.ready = false;
    facts.taints = {{.key = "gpu"}};
    host_rules rules = requiring({});
    rules.node_selector = {{"model", "H100"}};
    EXPECT_EQ(why_not_host(rules, facts, "n"), node_unschedulable);
    facts.unschedulable = false;
    EXPECT_EQ(why_not_host(rules, facts, "n"), node_not_ready);
    facts.ready = true;
    EXPECT_EQ(why_not_host(rules, facts, "n"), taint_not_tolerated);
    facts.taints.clear();
    EXPECT_EQ(why_not_host(rules, facts, "n"), node_selector_differs);
    rules.node_selector.clear();
    EXPECT_EQ(why_not_host(rules, facts, "n"), node_affinity_differs);
    rules.has_affinity = false;
    EXPECT_EQ(why_not_host(rules, facts, "n"), none);
}

TEST(host_rules, codes_are_in_the_order_of_the_checks) {
    EXPECT_LT(node_unschedulable, node_not_ready);
    EXPECT_LT(node_not_ready, taint_not_tolerated);
    EXPECT_LT(taint_not_tolerated, node_selector_differs);
    EXPECT_LT(node_selector_differs, node_affinity_differs);
}

TEST(host_rules, what_differs_is_named) {
    host_rules rules = requiring({on_labels({{"model", exists, {}}, {"cards", greater, {"8"}}}), on_name(in, {"n1"})});
    rules.node_selector = {{"cards", "8"}, {"model", "H100"}};
    rules.tolerations = {{.key = "a", .any_value = true}};
    host_facts facts = labelled;
    facts.taints = {{.key = "a"}, {.key = "wish", .effect = prefer_no_schedule}, {.key = "b"}, {.key = "c"}};
    EXPECT_EQ(repelling_taint(rules, facts), &facts.taints[2]);
    EXPECT_EQ(differing_label(rules, facts), &rules.node_selector[1]);
    EXPECT_EQ(unmet_requirement(rules.affinity[0], facts, "n"), &rules.affinity[0].labels[1]);
    EXPECT_EQ(unmet_requirement(rules.affinity[1], facts, "n"), rules.affinity[1].names.data());
    EXPECT_EQ(unmet_requirement(rules.affinity[1], facts, "n1"), nullptr);
    EXPECT_EQ(unmet_requirement({}, facts, "n"), nullptr) << "it has no requirement, and matches nothing all the same";
    ASSERT_NE(facts.label("cards"), nullptr);
    EXPECT_EQ(*facts.label("cards"), "8");
    EXPECT_EQ(facts.label("card"), nullptr);
    EXPECT_EQ(repelling_taint(rules, {}), nullptr);
    EXPECT_EQ(differing_label({}, facts), nullptr);
}

TEST(host_rules, taints_of_state_are_those_that_kubernetes_sets) {
    EXPECT_TRUE(is_state_taint("node.kubernetes.io/not-ready"));
    EXPECT_TRUE(is_state_taint("node.kubernetes.io/out-of-service"));
    EXPECT_TRUE(is_state_taint("node.cloudprovider.kubernetes.io/shutdown"));
    EXPECT_FALSE(is_state_taint("node.kubernetes.io/gpus-only"));
    EXPECT_FALSE(is_state_taint("nvidia.com/gpu"));
}

} // namespace
} // namespace vgpualloc
