#include "vgpureport/report.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "page.hpp"

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
using vgpureport_test::data_of;
using vgpureport_test::sums;
using vgpureport_test::used_at;

report_sample sample(std::int64_t time, std::int64_t arrived, std::int64_t allocated, double fragmentation = 0.0) {
    return {.time = ticks{time},
            .arrived = milli_gpu{arrived},
            .allocated = milli_gpu{allocated},
            .served = milli_gpu{allocated / 2},
            .fragmentation_milli = fragmentation,
            .used_nodes = 1,
            .used_gpus = 1};
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
    run.figures = {.served = 0.375,
                   .allocated = 0.75,
                   .allocated_peak = 0.75,
                   .fragmentation = 0.05,
                   .fragmentation_of_idle = 0.2,
                   .used_gpus = 2,
                   .used_nodes = 2};
    run.classes = {{.name = "a part of one", .arrived = 3, .failed = 0}, {.name = "2", .arrived = 1, .failed = 1}};
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
    EXPECT_THAT(sums(curves["served"]["y"]), ElementsAre(12'500, 25'000, 37'500));
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
    for (const char* name : {"served", "allocation", "fragmentation_all", "fragmentation_idle", "gpus", "nodes"}) {
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
    run.pods_leave = true;
    const auto data = data_of(render_report({run}));
    EXPECT_EQ(data["clock"], true);
    EXPECT_EQ(data["departures"], true);
    EXPECT_THAT(sums(data["runs"][0]["curves"]["nodes"]["time"]), ElementsAre(0, 0, 0, 5'000));
}

// Where pods leave, the cards and tables have means and the peak, and the picture is that of the peak.
TEST(Report, WherePodsLeaveThePeakIsShownAndNotTheEmptyEnd) {
    report_run run = small_run();
    run.pods_leave = true;
    run.peak_after = ticks{7'200'000'000};
    run.figures.allocated = 0.125;
    const std::string page = render_report({run});
    const std::string cards = between(page, "<div class=\"headlines\">", "class=\"drawn\"");
    EXPECT_THAT(cards, HasSubstr("<h3>GPUs served, mean over time</h3><p><strong>37.50 %</strong>"));
    EXPECT_THAT(cards, HasSubstr("<h3>GPUs allocated, mean over time</h3><p><strong>12.50 %</strong>"));
    EXPECT_THAT(cards, HasSubstr("<h3>GPUs allocated, at the peak</h3><p><strong>75.00 %</strong>"));
    EXPECT_THAT(page, HasSubstr("<h2>Every GPU <span id=\"occupancy-moment\">when the most was allocated</span></h2>"));
    EXPECT_THAT(page, HasSubstr("<h2>GPU models when the most was allocated</h2>"));
    EXPECT_THAT(page, Not(HasSubstr("at the end of the run</h2>")));
    EXPECT_EQ(data_of(page)["runs"][0]["moment"], "7,200 s after the first arrival");
}

// What a legend says at rest is, letter by letter, what the cards say.
TEST(Report, ALegendAtRestSaysWhatTheCardSays) {
    for (const bool leave : {false, true}) {
        report_run run = small_run();
        run.pods_leave = leave;
        run.figures.fragmentation = 0.139449999;
        const std::string page = render_report({run});
        const auto curves = data_of(page)["runs"][0]["curves"];
        const std::string when = leave ? "mean over time" : "at the end";
        EXPECT_THAT(curves["fragmentation_all"]["rest"], ElementsAre("13.94 %", when));
        EXPECT_THAT(page, HasSubstr("<h3>Fragmentation, of all GPUs, " + when + "</h3><p><strong>13.94 %</strong>"));
        EXPECT_THAT(curves["served"]["rest"], ElementsAre("37.50 %", when));
        EXPECT_THAT(curves["gpus"]["rest"], ElementsAre("2", leave ? "at the peak" : "at the end"));
    }
}

// What holds until the next event is drawn as steps, and runs that lie close have a difference.
TEST(Report, CurvesAreStepsAndRunsThatLieCloseCanBeToldApart) {
    if (vgpureport::built_in_charts().script.empty()) GTEST_SKIP() << "built without dygraphs";
    const std::string page = render_report({small_run("fgd"), small_run("best_fit")});
    EXPECT_THAT(page, HasSubstr("stepPlot: !line.slope"));
    EXPECT_THAT(page, HasSubstr("data-curve=\"served\" data-unit=\"%\" data-difference"));
}

// Every group of choices has two or more for one run too; the difference goes, as it has nothing to show.
TEST(Report, NoChoiceStandsAlone) {
    if (vgpureport::built_in_charts().script.empty()) GTEST_SKIP() << "built without dygraphs";
    const std::string page = render_report({small_run()});
    for (auto at = page.find("<figcaption>"); at != std::string::npos; at = page.find("<figcaption>", at + 1)) {
        const std::string caption = page.substr(at, page.find("</figcaption>", at) - at);
        if (caption.find("<select") != std::string::npos) continue; // hidden by its script where there is one choice
        std::size_t choices = 0;
        for (auto b = caption.find("data-curve="); b != std::string::npos; b = caption.find("data-curve=", b + 1)) {
            ++choices;
        }
        const bool loses_one = caption.find("data-difference") != std::string::npos;
        EXPECT_GE(choices - (loses_one ? 1 : 0), 2U) << caption;
    }
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
    EXPECT_THAT(used_at(data["runs"][0]["history"], 4, 0), ElementsAre(64, 1, 1000, 0));
    EXPECT_EQ(data["runs"][0]["cpu"], "D6D6D6"); // 250 thousandths each
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
    const auto used = used_at(data["runs"][0]["history"], columns * 2, 0);
    EXPECT_EQ(std::vector(used.begin(), used.begin() + 4), (std::vector<std::int64_t>{1000, 500, 1000, 500}));
}

TEST(Report, MarksTheBestOfEachRowAndByHowMuch) {
    report_run better = small_run("better");
    report_run worse = small_run("worse");
    better.decisions_per_second = 2e6;
    worse.decisions_per_second = 1e6;
    better.latency_p99_us = 1.0;
    worse.latency_p99_us = 3.0;
    worse.figures.served = 0.3125;
    worse.figures.allocated = 0.625;
    worse.figures.fragmentation = 0.075;
    worse.pods_placed = 2;
    const std::string page = render_report({better, worse});
    const std::string served = row_of(page, "GPUs served, at the end");
    EXPECT_THAT(served, HasSubstr("★</span> 37.50 %"));
    EXPECT_THAT(served, HasSubstr("<td class=\"n\">31.25 %"));
    EXPECT_THAT(served, HasSubstr("+6.25 points (20.0 %)"));
    EXPECT_THAT(row_of(page, "Fragmentation, of all GPUs, at the end"), HasSubstr("−2.50 points (33.3 %)"));
    EXPECT_THAT(row_of(page, "Fragmentation, of idle GPUs, at the end"), HasSubstr("equal"));
    // A GPU that is blocked is no merit, nor are many small pods in place of a large one, nor what the machine was busy
    // with.
    for (const char* row : {"Pods placed", "Pods not placed", "GPUs allocated, at the end", "GPUs in use, at the end",
                            "Decisions per second, on this machine", "Decision latency, median, on this machine",
                            "Decision latency, 99th percentile, on this machine"}) {
        EXPECT_THAT(row_of(page, row), Not(IsEmpty())) << row;
        EXPECT_THAT(row_of(page, row), Not(HasSubstr("★"))) << row;
    }
    EXPECT_THAT(row_of(page, "Decision latency, median, on this machine"), HasSubstr("–")); // not measured
}

// A lead that another seed may turn round is shown, but nobody gets a star for it.
TEST(Report, ASmallLeadIsNotPraised) {
    report_run first = small_run("first");
    report_run second = small_run("second");
    first.pods_arrived = second.pods_arrived = 2000;
    first.pods_placed = 1624;
    second.pods_placed = 1619;
    first.figures.served = 0.3849;
    const std::string page = render_report({first, second});
    const std::string served = row_of(page, "GPUs served, at the end");
    EXPECT_THAT(served, Not(HasSubstr("★")));
    EXPECT_THAT(served, HasSubstr("+0.99 points (2.6 %), may be chance"));
    EXPECT_THAT(row_of(page, "Pods placed"), Not(HasSubstr("★")));
    EXPECT_THAT(page, HasSubstr("a lead below 1 percentage point may be chance"));
    first.figures.served = 0.3851;
    EXPECT_THAT(row_of(render_report({first, second}), "GPUs served, at the end"), HasSubstr("★</span> 38.51 %"));
}

TEST(Report, SaysHowMuchOfEachSizeWasAccepted) {
    report_run first = small_run("first");
    report_run second = small_run("second");
    first.accepted_gpus = 0.9;
    second.accepted_gpus = 0.5;
    first.sizes = {{.name = "below 1", .arrived = 3, .accepted = 2, .wait_s = 7.5},
                   {.name = "8 to 15", .arrived = 2, .accepted = 1, .wait_s = {}}};
    second.sizes = first.sizes;
    second.sizes[1].accepted = 0;
    second.sizes[0].wait_s = 300.0;
    const std::string page = render_report({first, second});
    EXPECT_THAT(row_of(page, "GPUs accepted, of those asked for"), HasSubstr("★</span> 90.00 %"));
    const std::string table = between(page, "id=\"sizes\"", "</section>");
    EXPECT_THAT(table, HasSubstr("<th class=\"n\">Accepted, first</th><th class=\"n\">Accepted, second</th>"
                                 "<th class=\"n\">Mean wait, first</th><th class=\"n\">Mean wait, second</th>"));
    EXPECT_THAT(table, HasSubstr("<td>8 to 15</td><td class=\"n\">2</td><td class=\"n\">1, 50.00 %</td>"
                                 "<td class=\"n\">0, 0.00 %</td><td class=\"n\">–</td><td class=\"n\">–</td>"));
    EXPECT_THAT(table, HasSubstr("7.50 s"));
    EXPECT_THAT(table, HasSubstr("5.00 min"));
    EXPECT_THAT(render_report({small_run()}), Not(HasSubstr("id=\"sizes\""))); // where no pod asks for a GPU
}

TEST(Report, SaysWhichSizesOfRequestsFail) {
    report_run other = small_run("other");
    other.classes[0].failed = 2;
    const std::string table = between(render_report({small_run(), other}), "id=\"classes\"", "</section>");
    EXPECT_THAT(table, HasSubstr("<th class=\"n\">Not placed, fgd</th><th class=\"n\">Not placed, other</th>"));
    EXPECT_THAT(table, HasSubstr("<td>a part of one</td><td class=\"n\">3</td><td class=\"n\">0</td>"
                                 "<td class=\"n\">2</td>"));
    EXPECT_THAT(table, HasSubstr("<td>2</td><td class=\"n\">1</td><td class=\"n\">1</td><td class=\"n\">1</td>"));
}

// Every table may be wider than a phone, and then says so.
TEST(Report, EveryTableSaysWhereItScrolls) {
    const std::string page = render_report({small_run("fgd"), small_run("best_fit")});
    std::size_t tables = 0;
    for (auto at = page.find("<table>"); at != std::string::npos; at = page.find("<table>", at + 1)) {
        const std::string before = page.substr(page.rfind("<section", at), at - page.rfind("<section", at));
        EXPECT_THAT(before, HasSubstr("class=\"hint sideways\">The table is wider than the screen"));
        EXPECT_THAT(before, HasSubstr("<div class=\"scroll\" tabindex=\"0\">"));
        ++tables;
    }
    EXPECT_GE(tables, 5U);
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
    EXPECT_THAT(used_at(data["runs"][0]["history"], 2, 0), ElementsAre(0, 1000)); // held between these
    EXPECT_EQ(data["runs"][0]["cpu"], "AA");
    const std::string tables = between(page, "<div class=\"headlines", "id=\"report-data\"");
    EXPECT_THAT(tables, Not(HasSubstr(">nan")));
    EXPECT_THAT(tables, Not(HasSubstr(">inf")));
}

} // namespace
