#include "vgpureport/history.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "page.hpp"
#include "vgpureport/report.hpp"

namespace {

using testing::ElementsAre;
using testing::SizeIs;
using vgpualloc::milli_gpu;
using vgpualloc::ticks;
using vgpureport::history_event;
using vgpureport::history_event_kind;
using vgpureport::render_report;
using vgpureport::report_run;
using vgpureport_test::data_of;
using vgpureport_test::moments_of;
using vgpureport_test::sums;
using vgpureport_test::used_at;

/// Nodes of so many GPUs of which nothing is used.
report_run idle_run(std::size_t nodes, std::size_t gpus) {
    report_run run;
    run.policy = "fgd";
    run.total = milli_gpu{static_cast<std::int64_t>(nodes * gpus) * 1000};
    for (std::size_t i = 0; i < nodes; ++i) {
        run.nodes.push_back({"n" + std::to_string(i), "M", std::vector<milli_gpu>(gpus), 0.0});
    }
    return run;
}

history_event taken(std::int64_t second, std::uint32_t node, std::uint16_t device, std::uint16_t first,
                    std::uint16_t length, std::int32_t used, std::uint32_t label = 0) {
    return {.time = ticks{second * 1'000'000},
            .node = node,
            .device = device,
            .part = {.first = first, .length = length, .label = label},
            .used_milli = used};
}

history_event given_back(std::int64_t second, std::uint32_t node, std::uint16_t device, std::uint16_t first,
                         std::uint16_t length, std::int32_t used, std::uint32_t label = 0) {
    history_event event = taken(second, node, device, first, length, used, label);
    event.kind = history_event_kind::part_given_back;
    return event;
}

nlohmann::json history_in(const report_run& run) { return data_of(render_report({run}))["runs"][0]["history"]; }

TEST(History, FewChangesAreAllKept) {
    report_run run = idle_run(1, 2);
    run.history.labels = {"small", "large"};
    run.history.events = {taken(10, 0, 0, 0, 250, 250), taken(20, 0, 1, 0, 1000, 1000, 1),
                          taken(20, 0, 0, 0, 500, 750, 1), given_back(35, 0, 0, 0, 250, 500)};
    const auto history = history_in(run);
    EXPECT_THAT(sums(history["time"]), ElementsAre(0, 10'000, 25'000)); // from the first one on
    EXPECT_THAT(history["labels"], ElementsAre("large", "small"));      // the most frequent first
    const auto moments = moments_of(history, 2);
    ASSERT_THAT(moments, SizeIs(3));
    EXPECT_EQ(moments[0][0], (nlohmann::json{0, 0, 250, 0, 250, 1}));
    EXPECT_EQ(moments[0][1], (nlohmann::json{0, 0, 0}));
    EXPECT_EQ(moments[1][0], (nlohmann::json{0, 0, 750, 0, 250, 1, 0, 500, 0}));
    EXPECT_EQ(moments[1][1], (nlohmann::json{0, 0, 1000, 0, 1000, 0}));
    EXPECT_EQ(moments[2][0], (nlohmann::json{0, 0, 500, 0, 500, 0}));
    EXPECT_EQ(history["shown"], 2); // the end
}

TEST(History, SlicesKeepTheirPlacesAndStrandedOnesAreNamed) {
    report_run run = idle_run(1, 2);
    run.nodes[0].slices = {8, 0};
    run.history.labels = {"1g.5gb", "3g.20gb"};
    run.history.events = {taken(0, 0, 0, 4, 4, 500, 1), taken(1, 0, 0, 0, 1, 625)};
    run.history.events[1].stranded = 0b1000'0110;
    const auto moments = moments_of(history_in(run), 2);
    EXPECT_EQ(moments[0][0], (nlohmann::json{8, 0, 500, 4, 4, 1}));
    EXPECT_EQ(moments[1][0], (nlohmann::json{8, 0, 625, 4, 4, 1, 0, 1, 0, 1, 1, -1, 2, 1, -1, 7, 1, -1}));
    EXPECT_EQ(moments[1][1], (nlohmann::json{0, 0, 0}));
}

TEST(History, ADeviceThatTakesNothingNewIsMarked) {
    report_run run = idle_run(2, 1);
    history_event closed = taken(5, 1, 0, 0, 0, 0);
    closed.kind = history_event_kind::closed;
    history_event opened = closed;
    opened.time = ticks{9'000'000};
    opened.kind = history_event_kind::opened;
    run.history.events = {closed, opened};
    const auto moments = moments_of(history_in(run), 2);
    ASSERT_THAT(moments, SizeIs(2));
    EXPECT_EQ(moments[0][1][1], 1);
    EXPECT_EQ(moments[0][0][1], 0);
    EXPECT_EQ(moments[1][1][1], 0);
}

TEST(History, TheMomentOfTheTablesIsAmongTheMoments) {
    report_run run = idle_run(1, 1);
    run.pods_leave = true;
    for (int i = 0; i < 5'000; ++i) {
        run.history.events.push_back(i % 2 == 0 ? taken(i * 7, 0, 0, 0, 1000, 1000)
                                                : given_back(i * 7, 0, 0, 0, 1000, 0));
    }
    run.shown_at = ticks{2'468 * 7 * 1'000'000LL};
    const auto history = history_in(run);
    const auto time = sums(history["time"]);
    EXPECT_LE(time.size(), 481U);
    EXPECT_EQ(time.front(), 0);
    EXPECT_EQ(time.back(), 4'999 * 7'000);
    const auto shown = history["shown"].get<std::size_t>();
    EXPECT_EQ(time.at(shown), 2'468 * 7'000);
    EXPECT_THAT(used_at(history, 1, shown), ElementsAre(1000));
    EXPECT_THAT(used_at(history, 1, time.size() - 1), ElementsAre(0));
    for (std::size_t i = 1; i < time.size(); ++i) EXPECT_LT(time[i - 1], time[i]);
}

TEST(History, APageStaysSmallHoweverMuchHappens) {
    report_run run = idle_run(3'000, 8);
    std::uint64_t random = 1;
    const auto next = [&random](std::uint64_t below) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        return (random >> 33) % below;
    };
    for (std::uint32_t i = 0; i < 300; ++i) run.history.labels.push_back("class " + std::to_string(i));
    for (std::int64_t i = 0; i < 400'000; ++i) {
        const auto length = static_cast<std::uint16_t>(1 + next(1000));
        run.history.events.push_back(taken(i, static_cast<std::uint32_t>(next(3'000)),
                                           static_cast<std::uint16_t>(next(8)), 0, length, length,
                                           static_cast<std::uint32_t>(next(300))));
    }
    const std::string page = render_report({run, run});
    EXPECT_LT(page.size(), 3'000'000U);
    const auto history = data_of(page)["runs"][1]["history"];
    EXPECT_EQ(history["parts"], false); // so many different devices do not fit
    EXPECT_GE(history["time"].size(), 25U);
    EXPECT_EQ(sums(history["time"]).back(), 399'999'000);
}

TEST(History, NodesThatShareAColumnShowTheirMean) {
    report_run run = idle_run(8'000, 1);
    for (std::uint32_t node = 0; node < 8'000; ++node) {
        run.nodes[node].used = {milli_gpu{node < 4'000 ? 1000 : 0}}; // the first half is ranked first
        if (node % 2 == 0) run.history.events.push_back(taken(1, node, 0, 0, 1000, 1000));
    }
    run.history.events.push_back(taken(2, 1, 0, 0, 1000, 1000));
    const auto used = used_at(history_in(run), 4'000, 0);
    EXPECT_THAT(used, testing::Each(500));
    EXPECT_EQ(used_at(history_in(run), 4'000, 1)[0], 1000);
}

TEST(History, EventsOfWhatIsNotThereChangeNothing) {
    report_run run = idle_run(1, 1);
    run.history.events = {taken(0, 7, 0, 0, 500, 500, 9), taken(1, 0, 5, 0, 500, 500), given_back(2, 0, 0, 0, 9, 0)};
    const auto moments = moments_of(history_in(run), 1);
    for (const auto& moment : moments) EXPECT_EQ(moment[0], (nlohmann::json{0, 0, 0}));
}

} // namespace
