#include "vgpufacade/ask.h"

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_run.hpp"

namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct freed {
    void operator()(vgpu_reply* reply) const { vgpu_reply_free(reply); }
};
using reply_pointer = std::unique_ptr<vgpu_reply, freed>;

using texts = std::vector<std::pair<std::string, std::string>>;

reply_pointer ask(const char* command, const texts& options, const texts& inputs, int (*stop)(void*) = nullptr) {
    std::vector<vgpu_option> named;
    for (const auto& [name, value] : options) named.push_back({name.c_str(), value.c_str()});
    std::vector<vgpu_named_text> given;
    for (const auto& [name, text] : inputs) given.push_back({name.c_str(), text.data(), text.size()});
    const vgpu_question question{.struct_size = sizeof(vgpu_question),
                                 .command = command,
                                 .options = named.data(),
                                 .option_count = named.size(),
                                 .texts = given.data(),
                                 .text_count = given.size(),
                                 .stop = stop,
                                 .stop_context = nullptr};
    return reply_pointer{vgpu_ask(&question)};
}

std::string text_of(const reply_pointer& reply) { return vgpu_reply_text(reply.get(), nullptr); }
std::string json_of(const reply_pointer& reply) { return vgpu_reply_json(reply.get(), nullptr); }
std::string errors_of(const reply_pointer& reply) { return vgpu_reply_errors(reply.get(), nullptr); }

std::string in_tree(const std::string& path) {
    std::ifstream file{std::string{VGA_SOURCE_DIR} + "/" + path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

texts lists() { return {{"n", facade_test::node_list}, {"p", facade_test::pod_list}}; }

TEST(ask, null_where_something_has_to_be_is_an_error) {
    vgpu_question question{};
    question.struct_size = sizeof question;
    question.command = "options";
    question.option_count = 1;
    const reply_pointer without_options{vgpu_ask(&question)};
    EXPECT_EQ(vgpu_reply_code(without_options.get()), 2);
    EXPECT_EQ(errors_of(without_options), "vgpusim: question: options: a pointer that is not NULL\n");
    question.option_count = 0;
    const vgpu_named_text text{.name = "n", .data = nullptr, .size = 3};
    question.texts = &text;
    question.text_count = 1;
    EXPECT_EQ(vgpu_reply_code(reply_pointer{vgpu_ask(&question)}.get()), 2);
    question.struct_size = 1;
    EXPECT_EQ(vgpu_ask(&question), nullptr);
    EXPECT_EQ(vgpu_ask(nullptr), nullptr);
}

TEST(ask, simulates_and_compares) {
    const auto one = ask("simulate", {{"nodes", "n"}, {"pods", "p"}, {"policy", "spread"}}, lists());
    EXPECT_EQ(vgpu_reply_code(one.get()), 0) << errors_of(one);
    EXPECT_THAT(text_of(one), StartsWith("policy         spread\n"));
    EXPECT_THAT(json_of(one), HasSubstr("\"policy\": \"spread\""));
    ASSERT_EQ(vgpu_reply_file_count(one.get()), 4U);
    EXPECT_STREQ(vgpu_reply_file_name(one.get(), 3), "report.html");
    std::size_t size = 0;
    EXPECT_THAT(std::string(vgpu_reply_file(one.get(), 0, &size)), StartsWith("order,name,node"));
    EXPECT_GT(size, 100U);
    EXPECT_EQ(vgpu_reply_file_name(one.get(), 4), nullptr);
    const auto two = ask("compare", {{"nodes", "n"}, {"pods", "p"}, {"policy", "fgd"}, {"policy", "spread"}}, lists());
    EXPECT_EQ(vgpu_reply_code(two.get()), 0) << errors_of(two);
    EXPECT_THAT(text_of(two), HasSubstr("\nspread "));
}

TEST(ask, takes_a_scenario_and_its_baseline) {
    texts inputs = lists();
    inputs.emplace_back("s.json", R"({"nodes": "n", "pods": "p", "baseline": {"mode": "exclusive"}})");
    const auto reply = ask("simulate", {{"scenario", "s.json"}, {"seed", "7"}}, inputs);
    EXPECT_EQ(vgpu_reply_code(reply.get()), 0) << errors_of(reply);
    EXPECT_EQ(vgpu_reply_file_count(reply.get()), 9U) << "two runs with prices.json, and one report";
    EXPECT_THAT(json_of(reply), HasSubstr("\"seed\": 7"));
}

TEST(ask, answers_about_a_cluster) {
    const texts inputs{{"cluster.yaml", in_tree("tests/data/explain/cluster.yaml")},
                       {"config.yaml", in_tree("tests/data/explain/device-config.yaml")}};
    const texts options{{"cluster", "cluster.yaml"}, {"config", "config.yaml"}};
    const auto valid = ask("validate", {{"files", "cluster.yaml"}, {"config", "config.yaml"}}, inputs);
    EXPECT_THAT(text_of(valid), HasSubstr("cluster.yaml")) << errors_of(valid);
    const auto gone = ask("whatif", {options[0], options[1], {"drain", "nowhere"}}, inputs);
    EXPECT_EQ(vgpu_reply_code(gone.get()), 2);
    EXPECT_THAT(errors_of(gone), HasSubstr("nowhere"));
    const auto same = ask("whatif", options, inputs);
    EXPECT_EQ(vgpu_reply_code(same.get()), 0) << errors_of(same);
    EXPECT_EQ(vgpu_reply_file_count(same.get()), 2U);
    const auto unknown = ask("explain", {options[0], options[1], {"pod", "no/pod"}}, inputs);
    EXPECT_EQ(vgpu_reply_code(unknown.get()), 2);
    EXPECT_THAT(errors_of(unknown), StartsWith("vgpusim: --pod: got 'no/pod', expected a file, or a pending pod"));
    const auto planned = ask("plan", {options[0], options[1], {"consolidate", "devices"}}, inputs);
    EXPECT_EQ(vgpu_reply_code(planned.get()), 0) << errors_of(planned);
    EXPECT_THAT(json_of(planned), StartsWith("{"));
}

TEST(ask, shows_a_cluster_and_says_why_its_pods_wait) {
    const texts inputs{{"atlas.json", in_tree("scenarios/clusters/atlas.json")}};
    const texts cluster{{"cluster", "atlas.json"}};
    const auto with = [&cluster](texts more) {
        more.insert(more.begin(), cluster.begin(), cluster.end());
        return more;
    };
    EXPECT_THAT(text_of(ask("show", cluster, inputs)), StartsWith("36 GPUs on 6 nodes: 20.5 used (57 %)"));
    EXPECT_THAT(text_of(ask("show", with({{"nodes", "mig-*"}, {"by", "node"}}), inputs)),
                StartsWith("8 GPUs on 2 nodes"));
    EXPECT_THAT(text_of(ask("show", with({{"output", "yaml"}}), inputs)), HasSubstr("schema: "));
    EXPECT_THAT(json_of(ask("show", cluster, inputs)), HasSubstr("\"vgpualloc.show/1\""));
    EXPECT_THAT(text_of(ask("why", cluster, inputs)), StartsWith("4 pods wait, none fits now."));
    EXPECT_THAT(text_of(ask("why", with({{"pod", "train/llm-3"}}), inputs)),
                StartsWith("train/llm-3 waits, scattered"));
    EXPECT_THAT(text_of(ask("whatif", with({{"find_layout", "mig-*"}, {"policy", "best_fit"}}), inputs)),
                StartsWith("Cut mig-2 all-balanced: 18 of 18 pods"));
    EXPECT_THAT(text_of(ask("whatif", with({{"anew", "true"}, {"policy", "best_fit"}}), inputs)),
                StartsWith("Placed anew, 1 pod more runs (train/llm-3)"));
    EXPECT_EQ(vgpu_reply_code(ask("show", with({{"output", "pdf"}}), inputs).get()), 2);
    EXPECT_THAT(errors_of(ask("why", with({{"pod", "train/nobody"}}), inputs)), HasSubstr("train/nobody"));
}

TEST(ask, shows_a_cluster_as_a_page) {
    const texts inputs{{"atlas.json", in_tree("scenarios/clusters/atlas.json")}};
    const auto reply = ask("show", {{"cluster", "atlas.json"}, {"output", "html"}, {"by", "kind"}}, inputs);
    EXPECT_EQ(vgpu_reply_code(reply.get()), 0) << errors_of(reply);
    EXPECT_EQ(text_of(reply), "36 GPUs on 6 nodes: 20.5 used (57 %), 11.5 free, 4.0 out of service.\n");
    ASSERT_EQ(vgpu_reply_file_count(reply.get()), 1U);
    EXPECT_STREQ(vgpu_reply_file_name(reply.get(), 0), "show.html");
    const std::string page = vgpu_reply_file(reply.get(), 0, nullptr);
    EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
    EXPECT_THAT(page, HasSubstr("<code>vgpusim show atlas.json --by kind</code>"));
}

TEST(ask, refuses_what_it_does_not_know) {
    const auto command = ask("simulat", {}, {});
    EXPECT_EQ(vgpu_reply_code(command.get()), 2);
    EXPECT_THAT(errors_of(command), StartsWith("vgpusim: command: got 'simulat', expected one of simulate"));
    const auto option = ask("plan", {{"podd", "x"}}, {});
    EXPECT_THAT(errors_of(option), HasSubstr("got 'podd', expected one of the options cluster, pod"));
    EXPECT_THAT(errors_of(ask("plan", {{"moves", "-1"}}, {})), HasSubstr("moves: got '-1', expected a whole number"));
    EXPECT_EQ(vgpu_ask(nullptr), nullptr);
    vgpu_question question{};
    EXPECT_EQ(vgpu_ask(&question), nullptr) << "of an unknown size";
    vgpu_reply_free(nullptr);
    EXPECT_EQ(vgpu_ask_version(), unsigned{VGPU_ASK_VERSION});
}

TEST(ask, stops) {
    const auto reply = ask("simulate", {{"nodes", "n"}, {"pods", "p"}}, lists(), [](void*) { return 1; });
    EXPECT_EQ(vgpu_reply_code(reply.get()), 3);
    EXPECT_EQ(vgpu_reply_file_count(reply.get()), 0U);
}

TEST(ask, has_the_options_as_data) {
    const auto reply = ask("options", {}, {});
    EXPECT_THAT(json_of(reply), HasSubstr("\"name\": \"defragment_share\""));
}

} // namespace
