#include "vgpureport/report.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using vgpualloc::milli_gpu;
using vgpualloc::ticks;
using vgpureport::render_report;
using vgpureport::report_node;
using vgpureport::report_run;
using vgpureport::report_sample;

/// The data that the page's scripts draw; parsing it also shows that no NaN or broken string got in.
nlohmann::json data_of(const std::string& page) {
    constexpr std::string_view open = "id=\"report-data\">";
    const auto begin = page.find(open) + open.size();
    return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

std::vector<std::int64_t> sums(const nlohmann::json& differences) {
    auto values = differences.get<std::vector<std::int64_t>>();
    std::partial_sum(values.begin(), values.end(), values.begin());
    return values;
}

report_sample sample(std::int64_t time, std::int64_t arrived, std::int64_t allocated, double fragmentation = 0.0) {
    return {ticks{time}, milli_gpu{arrived}, milli_gpu{allocated}, fragmentation, 1, 1};
}

report_node node(std::string name, std::string model, std::vector<std::int64_t> used) {
    report_node result{std::move(name), std::move(model), {}, 0.25};
    for (const auto milli : used) result.used.emplace_back(milli);
    return result;
}

/// Two GPUs of three quarters in use, four pods arrived and three placed.
report_run small_run(std::string policy = "fgd") {
    report_run run;
    run.policy = std::move(policy);
    run.total = milli_gpu{2000};
    run.pods_arrived = 4;
    run.pods_placed = 3;
    run.failures = {{"device_milli_insufficient", 1}};
    run.samples = {sample(0, 500, 500, 300.0), sample(1, 1000, 1000, 200.0), sample(2, 1500, 1500, 100.0)};
    run.nodes = {node("node-a", "T4", {1000}), node("node-b", "T4", {500})};
    run.facts = {{"seed", "42"}};
    return run;
}

/// What stands between `open` and the next `close`.
std::string between(const std::string& page, std::string_view open, std::string_view close) {
    const auto begin = page.find(open);
    return begin == std::string::npos ? std::string{} : page.substr(begin, page.find(close, begin) - begin);
}

std::string row_of(const std::string& page, std::string_view title) {
    return between(between(page, "id=\"comparison\"", "</section>"), "<td>" + std::string{title} + "</td>", "</tr>");
}

TEST(Report, LoadsNothingFromANetwork) {
    const std::string page = render_report({small_run()});
    for (const char* load :
         {"src=\"http", "href=\"http", "src=\"//", "href=\"//", "<link", "@import", "url(", "sourceMappingURL"}) {
        EXPECT_THAT(page, Not(HasSubstr(load)));
    }
    EXPECT_THAT(page, HasSubstr("default-src 'none'")); // a browser would refuse, too
}

TEST(Report, KeepsTheLicenceOfTheChartingLibrary) {
    if (vgpureport::built_in_charts().script.empty()) GTEST_SKIP() << "built without dygraphs";
    const std::string page = render_report({small_run()});
    EXPECT_THAT(page, HasSubstr("dygraphs/blob/"));
    EXPECT_THAT(page, HasSubstr("Dan Vanderkam &lt;"));
    EXPECT_THAT(page, HasSubstr("The above copyright notice and this permission notice"));
}

TEST(Report, WithoutAChartLibraryTheTablesStayAndASentenceSaysWhy) {
    const std::string page = render_report({small_run("fgd"), small_run("best_fit")}, {});
    EXPECT_THAT(page, HasSubstr("The curves are left out, because this vgpusim was built without dygraphs"));
    for (const char* curves : {"class=\"card chart", "id=\"axis\"", "new Dygraph", "Licence of dygraphs"}) {
        EXPECT_THAT(page, Not(HasSubstr(curves))) << curves;
    }
    for (const char* kept : {"id=\"comparison\"", "id=\"models\"", "id=\"failures\"", "id=\"occupancy-canvas\""}) {
        EXPECT_THAT(page, HasSubstr(kept)) << kept;
    }
}

TEST(Report, SameInputGivesSameBytes) {
    const std::vector<report_run> runs{small_run("fgd"), small_run("best_fit")};
    EXPECT_EQ(render_report(runs), render_report(runs));
}

TEST(Report, TextFromInputCannotBreakThePage) {
    const std::size_t scripts = [] {
        const std::string page = render_report({small_run()});
        std::size_t count = 0;
        for (auto at = page.find("<script"); at != std::string::npos; at = page.find("<script", at + 1)) ++count;
        return count;
    }();
    report_run run = small_run("</script><script>alert(1)</script>");
    run.nodes = {node("</script><script>x", "<b>'\"&", {1}), node("\xff\x01\xc3\xa9", "</title><!--", {})};
    run.failures = {{"<!--<script>", 1}};
    run.facts = {{"<i>", "{{data}}</td>"}};
    const std::string page = render_report({run});

    std::size_t count = 0;
    for (auto at = page.find("<script"); at != std::string::npos; at = page.find("<script", at + 1)) ++count;
    EXPECT_EQ(count, scripts);
    EXPECT_THAT(page, HasSubstr("<td>&lt;i&gt;</td><td>{{data}}&lt;/td&gt;</td>"));
    EXPECT_THAT(page, HasSubstr("&lt;b&gt;&#39;&quot;&amp;"));
    const auto data = data_of(page);
    EXPECT_EQ(data["runs"][0]["label"], "</script><script>alert(1)</script>");
    EXPECT_THAT(data["clusters"][0]["names"], ElementsAre("</script><script>x"));
}

TEST(Report, BytesThatAreNotUtf8AreReplaced) {
    report_run run = small_run();
    run.nodes = {node("a\xff"
                      "b\xc3\xa9\xed\xa0\x80",
                      "T4", {1})};
    EXPECT_EQ(data_of(render_report({run}))["clusters"][0]["names"][0],
              "a\xEF\xBF\xBD"
              "b\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Report, AShortCurveIsKeptWhole) {
    const auto curves = data_of(render_report({small_run()}))["runs"][0]["curves"];
    EXPECT_THAT(sums(curves["allocation"]["load"]), ElementsAre(25'000, 50'000, 75'000));
    EXPECT_THAT(sums(curves["allocation"]["y"]), ElementsAre(25'000, 50'000, 75'000));
    EXPECT_THAT(sums(curves["fragmentation_all"]["y"]), ElementsAre(15'000, 10'000, 5'000));
    EXPECT_THAT(sums(curves["fragmentation_idle"]["y"]), ElementsAre(20'000, 20'000, 20'000));
}

TEST(Report, ALongCurveIsThinnedAndKeepsEndsAndExtremes) {
    report_run run = small_run();
    run.total = milli_gpu{1'000'000};
    run.samples.clear();
    for (std::int64_t i = 0; i < 50'000; ++i) run.samples.push_back(sample(i * 60'000'000, i * 10, 500'000 + i % 7));
    run.samples[12'345].allocated = milli_gpu{1'000'000};
    run.samples[33'333].allocated = milli_gpu{0};
    const auto curves = data_of(render_report({run}))["runs"][0]["curves"];
    for (const char* name : {"allocation", "fragmentation_all", "fragmentation_idle", "gpus", "nodes"}) {
        EXPECT_LE(curves[name]["y"].size(), 1'200U) << name;
        EXPECT_EQ(curves[name]["y"].size(), curves[name]["load"].size()) << name;
        EXPECT_EQ(curves[name]["y"].size(), curves[name]["time"].size()) << name;
    }
    const auto load = sums(curves["allocation"]["load"]);
    const auto allocation = sums(curves["allocation"]["y"]);
    EXPECT_TRUE(std::is_sorted(load.begin(), load.end()));
    EXPECT_EQ(load.front(), 0);
    EXPECT_EQ(load.back(), 49'999);
    const auto peak = std::max_element(allocation.begin(), allocation.end());
    EXPECT_EQ(*peak, 100'000);
    EXPECT_EQ(load[static_cast<std::size_t>(peak - allocation.begin())], 12'345);
    EXPECT_EQ(*std::min_element(allocation.begin(), allocation.end()), 0);
}

TEST(Report, TimeIsOfferedOnlyWhereItPasses) {
    report_run run = small_run();
    EXPECT_EQ(data_of(render_report({run}))["clock"], false);
    run.samples.push_back(sample(5'000'000, 1500, 0));
    const auto data = data_of(render_report({run}));
    EXPECT_EQ(data["clock"], true);
    EXPECT_EQ(data["departures"], true);
    EXPECT_THAT(sums(data["runs"][0]["curves"]["nodes"]["time"]), ElementsAre(0, 0, 0, 5'000));
}

TEST(Report, MeanOverTimeHoldsEachSampleUntilTheNext) {
    report_run run = small_run();
    run.samples = {sample(0, 2000, 2000), sample(3'000'000, 2000, 0), sample(4'000'000, 2000, 0)};
    EXPECT_THAT(render_report({run}), HasSubstr("<strong>75.00 %</strong>"));
}

TEST(Report, OccupancyGroupsNodesByModelAndCodesEachGpu) {
    report_run run = small_run();
    run.nodes = {node("v", "V100", {1000, 0}), node("cpu", "", {}), node("t1", "T4", {64}), node("t0", "T4", {1})};
    const auto data = data_of(render_report({run}));
    const auto& cluster = data["clusters"][0];
    EXPECT_THAT(cluster["names"], ElementsAre("t1", "t0", "v")); // node-list order within a model
    EXPECT_EQ(cluster["groups"][0]["model"], "T4");
    EXPECT_EQ(cluster["groups"][1]["gpus"], 2);
    EXPECT_EQ(cluster["without_gpus"], 1);
    EXPECT_EQ(data["runs"][0]["cells"], "BAABPoAA"); // 64, 1, 1000, 0 in base 64
    EXPECT_EQ(data["runs"][0]["cpu"], "D6D6D6");     // 250 thousandths each
}

TEST(Report, RunsOnOneClusterShareItsDescription) {
    const auto data = data_of(render_report({small_run("a"), small_run("b")}));
    EXPECT_THAT(data["clusters"], SizeIs(1));
    EXPECT_EQ(data["runs"][1]["cluster"], 0);
}

TEST(Report, ALargeClusterIsMergedIntoFewColumns) {
    report_run run = small_run();
    run.nodes.clear();
    for (int i = 0; i < 30'000; ++i) {
        run.nodes.push_back(node("n" + std::to_string(i), "M" + std::to_string(i % 700), {1000, 500}));
    }
    const auto data = data_of(render_report({run}));
    const auto& cluster = data["clusters"][0];
    EXPECT_EQ(cluster["merged"], true);
    EXPECT_FALSE(cluster.contains("names"));
    std::size_t columns = 0;
    std::size_t nodes = cluster["left_out"].get<std::size_t>();
    for (const auto& group : cluster["groups"]) {
        columns += group["columns"].get<std::size_t>();
        nodes += group["nodes"].get<std::size_t>();
    }
    EXPECT_LE(columns, 4'000U);
    EXPECT_EQ(nodes, 30'000U);
    EXPECT_EQ(data["runs"][0]["cells"].get<std::string>().size(), columns * 2 * 2);
    EXPECT_THAT(data["runs"][0]["cells"].get<std::string>(), testing::StartsWith("PoH0PoH0"));
}

TEST(Report, MarksTheBestOfEachRowAndByHowMuch) {
    report_run better = small_run("better");
    report_run worse = small_run("worse");
    worse.samples.back() = sample(2, 1500, 1250, 150.0);
    worse.pods_placed = 2;
    const std::string page = render_report({better, worse});
    const std::string allocation = row_of(page, "GPU allocation, at the end");
    EXPECT_THAT(allocation, HasSubstr("★</span> 75.00 %"));
    EXPECT_THAT(allocation, HasSubstr("<td class=\"n\">62.50 %"));
    EXPECT_THAT(allocation, HasSubstr("+12.50 points (20.0 %)"));
    EXPECT_THAT(row_of(page, "Fragmentation, of all GPUs"), HasSubstr("−2.50 points (33.3 %)"));
    EXPECT_THAT(row_of(page, "Fragmentation, of idle GPUs"), HasSubstr("equal"));
    EXPECT_THAT(row_of(page, "Pods not placed"), HasSubstr("−1 (50.0 %)"));
    EXPECT_THAT(row_of(page, "GPUs in use, at the end"), Not(HasSubstr("★")));
    EXPECT_THAT(row_of(page, "Decisions per second"), HasSubstr("–")); // not measured, so nobody wins
}

TEST(Report, OneRunIsNotCompared) { EXPECT_THAT(render_report({small_run()}), Not(HasSubstr("id=\"comparison\""))); }

TEST(Report, RunsOfOnePolicyAreNumbered) {
    const auto runs = data_of(render_report({small_run("fgd"), small_run("fgd")}))["runs"];
    EXPECT_EQ(runs[0]["label"], "fgd");
    EXPECT_EQ(runs[1]["label"], "fgd #2");
}

TEST(Report, FactsThatDifferStandOut) {
    report_run other = small_run("other");
    other.facts = {{"seed", "43"}, {"extra", "1"}};
    const std::string page = render_report({small_run(), other});
    EXPECT_THAT(page, HasSubstr("<tr class=\"differs\"><td>seed</td><td>42</td><td>43</td></tr>"));
    EXPECT_THAT(page, HasSubstr("<tr class=\"differs\"><td>extra</td><td>–</td><td>1</td></tr>"));
}

TEST(Report, AnEmptyRunShowsDashes) {
    const std::string page = render_report({report_run{}});
    const auto data = data_of(page);
    EXPECT_THAT(data["runs"][0]["curves"]["allocation"]["y"], IsEmpty());
    EXPECT_THAT(data["clusters"][0]["groups"], IsEmpty());
    const std::string cards = between(page, "<div class=\"headlines\">", "<section");
    EXPECT_THAT(cards, HasSubstr("<strong>–</strong>"));
    EXPECT_THAT(cards, Not(HasSubstr("nan")));
}

TEST(Report, NoGpusAndValuesThatAreNotNumbersBreakNothing) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    report_run run = small_run();
    run.total = milli_gpu{0};
    run.samples = {sample(0, 0, 0, nan), sample(1, 10, 0, infinity), sample(2, 10, 0, 1e300)};
    run.nodes = {node("a", "T4", {-5, 2000})};
    run.nodes[0].cpu_used_ratio = nan;
    run.decisions_per_second = nan;
    run.latency_p99_us = infinity;
    const std::string page = render_report({run, small_run("b")});
    const auto data = data_of(page);
    EXPECT_THAT(sums(data["runs"][0]["curves"]["fragmentation_all"]["y"]), Each(0));
    EXPECT_EQ(data["runs"][0]["cells"], "AAPo"); // held between 0 and 1000
    EXPECT_EQ(data["runs"][0]["cpu"], "AA");
    const std::string tables = between(page, "<div class=\"headlines", "id=\"report-data\"");
    EXPECT_THAT(tables, Not(HasSubstr(">nan")));
    EXPECT_THAT(tables, Not(HasSubstr(">inf")));
}

} // namespace
