#include "vgpuops/snapshot/pseudonyms.hpp"

#include <gtest/gtest.h>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/model/host_rules.hpp"

namespace {

using vgpuops::snapshots::name_class;
using vgpuops::snapshots::pseudonyms;

TEST(pseudonyms, keep_the_order_and_are_different_for_different_names) {
    pseudonyms names;
    for (const char* const name : {"zulu", "alpha", "mike", "alpha"}) EXPECT_EQ(names.of(name_class::node, name), name);
    names.assign();
    EXPECT_EQ(names.of(name_class::node, "alpha"), "node-0001");
    EXPECT_EQ(names.of(name_class::node, "mike"), "node-0002");
    EXPECT_EQ(names.of(name_class::node, "zulu"), "node-0003");
    EXPECT_EQ(names.of(name_class::node, ""), "");
}

TEST(pseudonyms, are_of_one_length_so_that_texts_sort_as_the_names_do) {
    pseudonyms names;
    for (int i = 0; i < 10'000; ++i) static_cast<void>(names.of(name_class::pod, "p" + std::to_string(i)));
    names.assign();
    EXPECT_EQ(names.of(name_class::pod, "p0"), "pod-00001");
    EXPECT_LT(names.of(name_class::pod, "p10"), names.of(name_class::pod, "p9"));
}

TEST(pseudonyms, of_names_that_kubernetes_refuses_are_refused_as_well) {
    pseudonyms names;
    static_cast<void>(names.of(name_class::pod, "Loud.Pod"));
    static_cast<void>(names.of(name_class::pod, "quiet.pod"));
    static_cast<void>(names.of(name_class::container, "dotted.name"));
    names.assign();
    EXPECT_FALSE(vgpualloc::kube::is_subdomain(names.of(name_class::pod, "Loud.Pod")));
    EXPECT_TRUE(vgpualloc::kube::is_subdomain(names.of(name_class::pod, "quiet.pod")));
    EXPECT_FALSE(vgpualloc::kube::is_label(names.of(name_class::container, "dotted.name")));
}

TEST(pseudonyms, keep_times_in_order) {
    pseudonyms names;
    for (const char* const time : {"2026-03-01T00:00:00Z", "2024-01-01T00:00:00Z"}) {
        static_cast<void>(names.of(name_class::time, time));
    }
    names.assign();
    EXPECT_LT(names.of(name_class::time, "2024-01-01T00:00:00Z"), names.of(name_class::time, "2026-03-01T00:00:00Z"));
    EXPECT_EQ(names.of(name_class::time, "2024-01-01T00:00:00Z"), "2000-01-01T00:00:01Z");
}

TEST(pseudonyms, keep_numbers_of_labels_that_are_compared_numbers) {
    pseudonyms names;
    names.compare_as_numbers("gen");
    for (const char* const value : {"40", "9", "-3", "040", "old"}) static_cast<void>(names.value_of("gen", value));
    static_cast<void>(names.value_of("other", "40"));
    names.assign();
    const auto number = [&](const char* value) { return vgpualloc::whole_number(names.value_of("gen", value)); };
    EXPECT_LT(number("-3"), number("9"));
    EXPECT_LT(number("9"), number("40"));
    EXPECT_EQ(number("40"), number("040"));
    EXPECT_NE(names.value_of("gen", "40"), names.value_of("gen", "040"));
    EXPECT_FALSE(number("old").has_value());
    EXPECT_FALSE(vgpualloc::whole_number(names.value_of("other", "40")).has_value());
}

TEST(pseudonyms, replace_the_tokens_of_a_text_that_are_no_words) {
    pseudonyms names;
    names.keep_word("NVIDIA A100-SXM4-40GB");
    names.keep_word("group1");
    names.know_device("GPU-1");
    const std::string text = "GPU-1,10,40960,NVIDIA A100-SXM4-40GB,ok-lab[group1-0]:";
    EXPECT_EQ(names.text_of(text), text);
    names.assign();
    EXPECT_EQ(names.text_of(text), "DEV-0001,10,40960,NVIDIA A100-SXM4-40GB,DEV-0002[group1-0]:");
    EXPECT_TRUE(names.occurs_in_word("a100"));
    EXPECT_FALSE(names.occurs_in_word("H100"));
    EXPECT_TRUE(names.is_plain("A100-40GB-7"));
    EXPECT_FALSE(names.is_plain("A100-lab"));
}

TEST(pseudonyms, replace_ids_of_devices_that_no_node_registers) {
    pseudonyms names;
    for (const char* const word : {"GPU", "MIG"}) names.keep_word(word);
    const std::string text = "GPU-0000-0,MIG-77:GPU,5";
    EXPECT_EQ(names.text_of(text), text);
    names.assign();
    EXPECT_EQ(names.text_of(text), "DEV-0001,DEV-0002:GPU,5");
}

} // namespace
