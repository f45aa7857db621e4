#include "vgpusim/outputs/chrome_trace.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../workloads.hpp"
#include "mig_run.hpp"

namespace {

using testing::ElementsAre;
using testing::SizeIs;
using vgpualloc::ticks;
using vgpusim::trace_contents;
using vgpusim::trace_span;

std::vector<nlohmann::json> events_of(const nlohmann::json& trace, const std::string& phase) {
    std::vector<nlohmann::json> result;
    for (const auto& event : trace["traceEvents"]) {
        if (event["ph"] == phase) result.push_back(event);
    }
    return result;
}

trace_span span(std::string name, std::uint32_t node, std::uint32_t device, std::int64_t start, std::int64_t end) {
    return {
        .node = node, .device = device, .name = std::move(name), .start = ticks{start}, .end = ticks{end}, .facts = {}};
}

TEST(chrome_trace, nodes_are_processes_and_devices_are_threads) {
    trace_contents contents;
    contents.nodes = {"node-\"a\"", "b"};
    contents.spans = {span("p", 0, 1, 5, 1'000'005), span("q", 1, vgpusim::no_device, 7, 7)};
    contents.spans[0].facts = {{"request", "training"}, {"parts", "3g.20gb"}};
    const auto trace = nlohmann::json::parse(vgpusim::chrome_trace(contents));
    std::map<std::string, int> processes;
    for (const auto& event : events_of(trace, "M")) {
        if (event["name"] == "process_name") processes[event["args"]["name"]] = event["pid"];
    }
    EXPECT_EQ(processes, (std::map<std::string, int>{{"cluster", 0}, {"node-\"a\"", 1}, {"b", 2}}));
    const auto spans = events_of(trace, "X");
    ASSERT_THAT(spans, SizeIs(2));
    EXPECT_EQ(spans[0]["pid"], 1);
    EXPECT_EQ(spans[0]["ts"], 5);
    EXPECT_EQ(spans[0]["dur"], 1'000'000);
    EXPECT_EQ(spans[0]["name"], "p");
    EXPECT_EQ(spans[0]["args"], (nlohmann::json{{"request", "training"}, {"parts", "3g.20gb"}}));
    EXPECT_EQ(spans[1]["dur"], 0);
    for (const auto& event : events_of(trace, "M")) {
        if (event["name"] != "thread_name" || event["pid"] != 1) continue;
        EXPECT_EQ(event["tid"], spans[0]["tid"]);
        EXPECT_EQ(event["args"]["name"], "GPU 1");
    }
    EXPECT_EQ(trace["otherData"]["pods"], "all");
}

TEST(chrome_trace, spans_of_one_thread_never_overlap) {
    trace_contents contents;
    contents.nodes = {"n"};
    contents.spans = {span("a", 0, 0, 0, 10),  span("b", 0, 0, 2, 4),   span("c", 0, 0, 4, 12),
                      span("d", 0, 0, 10, 11), span("e", 0, 0, 10, 10), span("f", 0, 1, 11, 30)};
    const auto trace = nlohmann::json::parse(vgpusim::chrome_trace(contents));
    std::map<std::int64_t, std::int64_t> ends;
    std::set<std::int64_t> threads;
    for (const auto& event : events_of(trace, "X")) {
        EXPECT_LE(ends[event["tid"]], event["ts"]) << event;
        ends[event["tid"]] = event["ts"].get<std::int64_t>() + event["dur"].get<std::int64_t>();
        threads.insert(event["tid"].get<std::int64_t>());
    }
    EXPECT_THAT(threads, SizeIs(4)); // three for the first GPU
}

TEST(chrome_trace, a_counter_has_an_event_wherever_it_changes) {
    trace_contents contents;
    contents.counters = {{"GPUs allocated", {{ticks{0}, 1.0}, {ticks{3}, 1.0}, {ticks{9}, 2.5}}}};
    const auto counters = events_of(nlohmann::json::parse(vgpusim::chrome_trace(contents)), "C");
    ASSERT_THAT(counters, SizeIs(2));
    EXPECT_EQ(counters[1]["ts"], 9);
    EXPECT_EQ(counters[1]["args"]["value"], 2.5);
}

TEST(chrome_trace, a_run_s_pods_last_from_start_to_end_with_what_they_have) {
    vgpusim_test::mig_run run;
    run.start(0, run.profile("3g.20gb"), 4, 10);
    run.start(1, run.profile("1g.5gb"), 2, 20);
    run.end(0, 30);
    const auto contents = trace_of(run.record, run.input);
    EXPECT_THAT(contents.nodes, ElementsAre("gpu-node"));
    ASSERT_THAT(contents.spans, SizeIs(2));
    EXPECT_EQ(contents.spans[0].name, "a");
    EXPECT_EQ(contents.spans[0].start, 10 * vgpualloc::ticks_per_second);
    EXPECT_EQ(contents.spans[0].end, 30 * vgpualloc::ticks_per_second);
    EXPECT_EQ(contents.spans[1].end, 30 * vgpualloc::ticks_per_second); // to the end of the run
    ASSERT_THAT(contents.spans[0].facts, SizeIs(2));
    EXPECT_EQ(contents.spans[0].facts[0].second, "training");
    EXPECT_EQ(contents.spans[0].facts[1].second, "3g.20gb at 4");
}

TEST(chrome_trace, what_is_taken_back_before_it_starts_did_not_run) {
    vgpusim_test::mig_run run;
    vgpualloc::booking entry;
    entry.owner = vgpualloc::pod_id{0U};
    entry.where.node = vgpualloc::node_index{0};
    (void)run.record.ledger->reserve(entry).value();
    ASSERT_TRUE(run.record.ledger->rollback(vgpualloc::pod_id{0U}));
    run.note(4);
    EXPECT_THAT(trace_of(run.record, run.input).spans, SizeIs(0));
}

TEST(chrome_trace, of_too_many_pods_only_some_are_there) {
    std::vector<vgputraces::openb_pod> pods;
    for (int i = 0; i < 10; ++i) {
        pods.push_back(vgpusim_test::at(vgpusim_test::share("p" + std::to_string(i), 100), i, i + 20));
    }
    vgpusim::loaded_input loaded;
    loaded.input = vgpusim_test::built({vgpusim_test::gpu_node("n", 2)}, pods, 0.0, true);
    vgpusim::run_config config;
    config.departures = true;
    const auto record = vgpusim::replay(config, loaded, loaded.input.nodes, {}).value();
    EXPECT_THAT(trace_of(record, loaded.input).spans, SizeIs(10));
    const auto some = trace_of(record, loaded.input, 4);
    EXPECT_EQ(some.kept_of, 3U);
    EXPECT_THAT(some.spans, SizeIs(4));
    const auto trace = nlohmann::json::parse(vgpusim::chrome_trace(some));
    EXPECT_EQ(trace["otherData"]["pods"], "one of 3");
}

} // namespace
