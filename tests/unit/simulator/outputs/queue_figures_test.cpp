#include "vgpusim/outputs/queue_figures.hpp"

#include <gtest/gtest.h>

#include "../job_lists.hpp"
#include "vgpusim/outputs/rows.hpp"
#include "vgpusim/study/run.hpp"

namespace {

using vgpusim_test::seconds;
using vgpusim_test::workload_of;

vgpusim::run_record record_of(const vgpusim::loaded_input& loaded, const char* discipline) {
    vgpusim::run_config config;
    config.policy = "best_fit";
    config.discipline = discipline;
    return vgpusim::replay(config, loaded, loaded.input.nodes, {}).value();
}

TEST(distribution, quantiles_are_values_that_occurred) {
    const auto of_100 = [] {
        std::vector<double> values;
        for (int i = 100; i > 0; --i) values.push_back(i);
        return vgpusim::distribution_of(values);
    }();
    EXPECT_EQ(of_100.mean, 50.5);
    EXPECT_EQ(of_100.p50, 50.0);
    EXPECT_EQ(of_100.p95, 95.0);
    EXPECT_EQ(of_100.p99, 99.0);
    EXPECT_EQ(of_100.max, 100.0);
    EXPECT_EQ(vgpusim::distribution_of({}).count, 0U);
    EXPECT_EQ(vgpusim::distribution_of({7.0}).p50, 7.0);
}

TEST(queue_figures, wait_completion_and_slowdown_by_class_and_queue) {
    vgpusim::loaded_input loaded;
    loaded.input = workload_of({{.arrival = 0, .duration = 100, .gpus = 2, .queue = 0},
                                {.arrival = 50, .duration = 20, .gpus = 2, .queue = 1},
                                {.arrival = 110, .duration = 1, .gpus = 1, .queue = 1}},
                               1, 2);
    loaded.input.queues = {{.name = "a", .guaranteed = {}, .limit = {}}, {.name = "b", .guaranteed = {}, .limit = {}}};
    const auto record = record_of(loaded, "fifo");
    const auto figures = vgpusim::queue_figures_of(record, loaded.input);
    EXPECT_EQ(figures.all.wait_s.count, 3U);
    EXPECT_DOUBLE_EQ(figures.all.wait_s.mean, (0.0 + 50.0 + 10.0) / 3);
    EXPECT_DOUBLE_EQ(figures.all.jct_s.max, 100.0);
    // 100/100, (50 + 20)/20, (10 + 1)/max(1, 10)
    EXPECT_DOUBLE_EQ(figures.all.bounded_slowdown.mean, (1.0 + 3.5 + 1.1) / 3);
    ASSERT_EQ(figures.by_class.size(), 2U);
    EXPECT_EQ(figures.by_class[0].name, "2 devices");
    EXPECT_EQ(figures.by_class[0].arrived, 2);
    ASSERT_EQ(figures.by_queue.size(), 2U);
    EXPECT_EQ(figures.by_queue[1].name, "b");
    EXPECT_DOUBLE_EQ(figures.by_queue[1].wait_s.mean, 30.0);
    EXPECT_DOUBLE_EQ(figures.jain_served, 1.0) << "everybody got all of it";
    EXPECT_LT(figures.jain_slowdown, 1.0);
    std::vector<std::string> groups;
    const auto waits = vgpusim::waits_of(record, loaded.input);
    for (const vgpusim::group_waits& group : waits) groups.push_back(group.group);
    EXPECT_EQ(groups, (std::vector<std::string>{"", "queue a", "queue b", "class 2 devices", "class 1 device"}));
    EXPECT_EQ(waits[0].seconds, (std::vector<double>{0.0, 10.0, 50.0}));
    std::size_t of_queues = 0;
    std::size_t of_classes = 0;
    for (const vgpusim::group_waits& group : waits) {
        of_queues += group.group.starts_with("queue") ? group.seconds.size() : 0;
        of_classes += group.group.starts_with("class") ? group.seconds.size() : 0;
    }
    EXPECT_EQ(of_queues, 3U) << "every row is of one queue";
    EXPECT_EQ(of_classes, 3U) << "and of one class";
}

TEST(outcome_rows, a_row_of_a_trace_of_jobs_is_the_whole_job) {
    vgpusim::loaded_input loaded;
    loaded.input = workload_of(
        {{.arrival = 3, .duration = 10, .gpus = 2, .pods = 2}, {.arrival = 4, .duration = 10, .gpus = 9}}, 2, 2);
    loaded.input.rows_are_jobs = true;
    const auto record = record_of(loaded, "fifo");
    const vgpusim::outcome_rows rows{record, loaded.input};
    ASSERT_EQ(rows.count(), 2U);
    vgpusim::outcome_row row;
    rows.read(0, row);
    EXPECT_EQ(row.pods.size(), 2U);
    EXPECT_EQ(row.start, seconds(3));
    EXPECT_EQ(row.completion(), seconds(10));
    rows.read(1, row);
    EXPECT_FALSE(row.placed);
    EXPECT_TRUE(row.given_up);
    EXPECT_EQ(row.attempts, 1U);
    EXPECT_EQ(record.rows.arrived, 2);
    EXPECT_EQ(record.rows.placed, 1);
    EXPECT_EQ(record.rows.failed, 1);
}

TEST(queue_figures, a_slowdown_is_measured_by_the_last_run_of_a_job_that_was_stopped) {
    vgpusim::loaded_input loaded;
    loaded.input = workload_of({{.arrival = 0, .duration = 100, .gpus = 2, .priority = 1},
                                {.arrival = 50, .duration = 850, .gpus = 2, .priority = 2}},
                               1, 2);
    const auto record = record_of(loaded, "priority");
    EXPECT_EQ(record.result.disturbed.preemptions, 1);
    EXPECT_EQ(record.result.disturbed.pods_lost, 0);
    const auto figures = vgpusim::queue_figures_of(record, loaded.input);
    EXPECT_DOUBLE_EQ(figures.all.bounded_slowdown.max, 10.0) << "1,000 s for 100 s of work";
}

} // namespace
