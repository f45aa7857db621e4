// What kube-scheduler says of pods that wait: recorded messages of a real one, word for word.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../clusters.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuops/why/pod.hpp"
#include "vgpuops/why/scheduler_words.hpp"

namespace vgpuops::why {
namespace {

const std::filesystem::path recorded = std::filesystem::path{VGA_SOURCE_DIR} / "tests/data/kube_scheduler_rules";

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
}

/// Up to the end of the sentence about nodes. The scheduler asked an extender, which says so of nodes that passed.
std::string about_nodes(const std::string& message) { return message.substr(0, message.find(". no new claims") + 1); }

/// Of one recorded cluster: how many messages were compared, and those that differ.
struct comparison {
    int messages = 0;
    std::vector<std::string> differing{};
};

comparison compare(const std::string& number) {
    comparison result;
    const std::string file = "cluster-" + number + ".json";
    const auto objects = kube::read_manifests(text_of(recorded / file), file);
    EXPECT_TRUE(objects.has_value());
    auto state = kube::make_snapshot(*objects, vgpualloc::dialect_set{vgpualloc::make_dialect_config()});
    EXPECT_TRUE(state.has_value());
    const auto decisions = vgpuformats::parse_json(text_of(recorded / ("decisions-" + number + ".json")), "decisions");
    EXPECT_TRUE(decisions.has_value());
    for (const auto& decided : decisions->find("pods")->items) {
        const auto* const message = decided.find("message");
        if (message == nullptr || !message->is_text() || message->text.empty()) continue;
        const auto pod = std::ranges::find(state->pending, decided.find("pod")->text, &kube::snapshot_pod::full_name);
        if (pod == state->pending.end()) continue;
        auto reasons = scheduler_reasons(*state, *objects, *pod);
        for (auto& of_node : reasons) {
            if (of_node.empty()) of_node.emplace_back("node(s) passed every filter");
        }
        ++result.messages;
        if (message_of(reasons) == about_nodes(message->text)) continue;
        result.differing.push_back(pod->full_name() + "\n  " + about_nodes(message->text) + "\n  " +
                                   message_of(reasons));
    }
    return result;
}

TEST(scheduler_words, recorded_messages_are_the_same_word_for_word) {
    int messages = 0;
    for (const char* const number : {"00", "01", "02", "03", "04", "05"}) {
        const comparison compared = compare(number);
        EXPECT_THAT(compared.differing, testing::IsEmpty()) << number;
        messages += compared.messages;
    }
    EXPECT_GT(messages, 300);
}

TEST(scheduler_words, a_pod_that_fits_nowhere_has_the_message_of_its_event) {
    const std::string file = "scenarios/clusters/atlas.json";
    const auto objects = kube::read_manifests(text_of(std::filesystem::path{VGA_SOURCE_DIR} / file), file);
    ASSERT_TRUE(objects.has_value());
    auto state = kube::make_snapshot(*objects, vgpualloc::dialect_set{vgpualloc::make_dialect_config()});
    ASSERT_TRUE(state.has_value());
    const auto words_of = [&](const std::string& name) {
        return scheduler_words(*state, *objects,
                               *std::ranges::find(state->pending, name, &kube::snapshot_pod::full_name));
    };
    EXPECT_EQ(words_of("train/llm-3"),
              "0/6 nodes are available: 1 node(s) had untolerated taint {team: dev}, 1 node(s) were unschedulable, "
              "3 Insufficient cpu, 4 Insufficient nvidia.com/gpu.");
    EXPECT_EQ(words_of("train/eval-7"), "") << "no scheduler looks at a pod with a gate";
    const auto of_harbor = std::filesystem::path{VGA_SOURCE_DIR} / "scenarios/clusters/harbor.json";
    const auto harbor = kube::read_manifests(text_of(of_harbor), "harbor.json");
    ASSERT_TRUE(harbor.has_value());
    auto other = kube::make_snapshot(*harbor, vgpualloc::dialect_set{vgpualloc::make_dialect_config()});
    ASSERT_TRUE(other.has_value());
    for (const kube::snapshot_pod& pod : other->pending) {
        EXPECT_EQ(scheduler_words(*other, *harbor, pod), "") << "HAMi's scheduler decides about " << pod.full_name();
    }
}

} // namespace
} // namespace vgpuops::why
