// The example of docs/adding-a-dialect.md is these very files, and one entry in the list makes a cluster speak it.
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "example/acme.hpp"
#include "quoted_code.hpp"
#include "vgpualloc/dialect/all.hpp"

namespace vgpualloc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(adding_a_dialect, the_page_quotes_both_files_byte_for_byte) {
    for (const char* path : {"tests/unit/dialect/example/acme.hpp", "tests/unit/dialect/example/acme.cpp"}) {
        test::expect_quoted("docs/adding-a-dialect.md", path);
    }
}

/// The dialects of the list, with the example's entry at its end.
dialect_set with_acme() {
    dialect_set::members members;
    const dialect_config config = make_dialect_config();
    for (const dialect_entry& entry : dialect_list) {
        if (entry.make != nullptr) members.push_back(entry.make(config));
    }
    members.push_back(dialects::acme::list_entry.make(config));
    return {std::move(members), config};
}

kubernetes::pod asking_for(std::int64_t memory_mib) {
    kubernetes::pod pod;
    pod.name = "p";
    pod.ns = "default";
    pod.containers.push_back(
        {.name = "c", .limits = {{"acme.com/memory", memory_mib}}, .requests = {{"acme.com/memory", memory_mib}}});
    return pod;
}

TEST(adding_a_dialect, one_entry_makes_it_known) {
    EXPECT_THAT(dialect_set{}.asked_by(asking_for(1024)), IsEmpty());
    const dialect_set dialects = with_acme();
    ASSERT_THAT(dialects.asked_by(asking_for(1024)), SizeIs(1));
    EXPECT_EQ(dialects[dialects.asked_by(asking_for(1024)).front()].name(), "acme");
    EXPECT_THAT(dialects.mistaken_resources(asking_for(1024)), IsEmpty());
    kubernetes::pod mistyped;
    mistyped.containers.push_back({.name = "c", .limits = {}, .requests = {{"acme.com/memry", 1}}});
    EXPECT_THAT(dialects.mistaken_resources(mistyped), SizeIs(1)) << "its prefix is now an accelerator's";
}

TEST(adding_a_dialect, what_is_written_is_what_is_read) {
    const dialect_set dialects = with_acme();
    const dialect& acme = *dialects.find("acme");
    kubernetes::node node;
    node.name = "n";
    node.annotations["acme.com/cards"] = "A=16384,B=8192";
    const auto cards = acme.read_node({.object = node}).devices;
    ASSERT_THAT(cards, SizeIs(2));
    EXPECT_EQ(cards[1].memory, mib{8192});
    kubernetes::node again;
    kubernetes::text_map config_map;
    acme.write_node(cards, again, config_map);
    EXPECT_EQ(again.annotations, node.annotations);

    auto pod = asking_for(1024);
    const device_share share{
        .container = 0, .device = device_index{1U}, .part = slice{.memory = mib{1024}, .cores = core_percent{0}}};
    pod.annotations = acme.write_assignment(pod, cards, {.node = "n", .time = "", .shares = {&share, 1}});
    EXPECT_EQ(pod.annotations.at("acme.com/assigned"), "B=1024");
    const auto assigned = acme.read_assignment(pod, cards);
    EXPECT_THAT(assigned.problems, IsEmpty());
    EXPECT_THAT(assigned.shares, ElementsAre(share));
}

TEST(adding_a_dialect, what_cannot_be_read_is_told) {
    const dialect_set dialects = with_acme();
    const dialect& acme = *dialects.find("acme");
    for (const std::int64_t memory : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40U}) {
        const auto request = acme.read_pod(asking_for(memory));
        ASSERT_FALSE(request.has_value()) << memory;
        EXPECT_THAT(request.error().message(), HasSubstr("acme.com/memory"));
    }
    for (const char* wrong : {"A", "=5", "A=", "A=x", "A=5x", "A=0", "A=99999999999"}) {
        kubernetes::node node;
        node.annotations["acme.com/cards"] = wrong;
        EXPECT_THAT(acme.read_node({.object = node}).devices, IsEmpty()) << wrong;
        EXPECT_THAT(acme.read_node({.object = node}).problems, SizeIs(1)) << wrong;
    }
    auto pod = asking_for(1024);
    pod.annotations["acme.com/assigned"] = "C=1024";
    EXPECT_THAT(acme.read_assignment(pod, {}).problems, SizeIs(1));
}

} // namespace
} // namespace vgpualloc
