#include "vgpusim/outputs/history.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../workloads.hpp"
#include "mig_run.hpp"

namespace {

using testing::ElementsAre;
using testing::SizeIs;
using vgpureport::device_part;
using vgpureport::history_event_kind;
using vgpusim_test::at;
using vgpusim_test::gpu_node;
using vgpusim_test::whole;

std::int64_t seconds(const vgpureport::history_event& event) {
    return event.time.count() / vgpualloc::ticks_per_second.count();
}

TEST(history, instances_keep_their_slices_and_their_profile_s_name) {
    vgpusim_test::mig_run run;
    run.start(0, run.profile("3g.20gb"), 4, 10);
    run.start(1, run.profile("1g.5gb"), 2, 20);
    run.end(0, 30);
    const auto history = history_of(run.record, run.input);
    ASSERT_THAT(history.events, SizeIs(3));
    EXPECT_THAT(history.labels, ElementsAre("3g.20gb", "1g.5gb"));
    EXPECT_EQ(history.events[0].part, (device_part{.first = 4, .length = 4, .label = 0}));
    EXPECT_EQ(history.events[1].part, (device_part{.first = 2, .length = 1, .label = 1}));
    EXPECT_EQ(history.events[2].kind, history_event_kind::part_given_back);
    EXPECT_THAT((std::vector{seconds(history.events[0]), seconds(history.events[1]), seconds(history.events[2])}),
                ElementsAre(10, 20, 30));
    EXPECT_EQ(history.events[0].used_milli, 500);
    EXPECT_EQ(history.events[2].used_milli, 143); // one of seven compute slices
    EXPECT_EQ(vgpusim::slices_of(run.record.ledger->nodes().kinds[0]), 8);
}

// 1g.5gb goes to slices 0 to 6 only, so once slice 6 is taken nothing can have slice 7.
TEST(history, a_free_slice_that_no_instance_can_have_is_stranded) {
    vgpusim_test::mig_run run;
    run.start(0, run.profile("1g.5gb"), 6, 1);
    run.start(1, run.profile("2g.10gb"), 0, 2);
    run.end(0, 3);
    const auto history = history_of(run.record, run.input);
    EXPECT_EQ(history.events[0].stranded, 0b1000'0000U);
    EXPECT_EQ(history.events[1].stranded, 0b1000'0000U);
    EXPECT_EQ(history.events[2].stranded, 0U);
}

TEST(history, a_device_that_fails_is_closed_until_it_is_back) {
    vgpusim_test::mig_run run;
    run.start(0, run.profile("3g.20gb"), 0, 1);
    auto& book = *run.record.ledger;
    const vgpualloc::node_index node{0};
    ASSERT_TRUE(book.set_service(node, vgpualloc::device_index{0}, vgpualloc::service_state::failed));
    run.note(5);
    ASSERT_TRUE(book.set_service(node, vgpualloc::device_index{0}, vgpualloc::service_state::in_service));
    run.note(9);
    ASSERT_TRUE(book.set_schedulable(node, false));
    run.note(12);
    const auto history = history_of(run.record, run.input);
    ASSERT_THAT(history.events, SizeIs(4));
    EXPECT_EQ(history.events[1].kind, history_event_kind::closed);
    EXPECT_EQ(seconds(history.events[1]), 5);
    EXPECT_EQ(history.events[1].used_milli, 500);
    EXPECT_EQ(history.events[2].kind, history_event_kind::opened);
    EXPECT_EQ(history.events[3].kind, history_event_kind::closed);
    EXPECT_EQ(seconds(history.events[3]), 12);
}

/// Milli-GPU in use per line of the node list and device, after all events.
std::vector<std::vector<std::int64_t>> used_at_the_end(const vgpureport::occupancy_history& history,
                                                       std::vector<std::vector<std::int64_t>> used) {
    for (const auto& event : history.events) used[event.node][event.device] = event.used_milli;
    return used;
}

TEST(history, ends_with_what_the_ledger_ends_with) {
    vgpusim::loaded_input loaded;
    loaded.input = vgpusim_test::built({gpu_node("b", 2), gpu_node("a", 3)},
                                       {at(whole("x", 2), 1, 8), at(vgpusim_test::share("y", 300), 2),
                                        at(whole("z", 3), 3), at(vgpusim_test::share("w", 450), 9)},
                                       0.0, true);
    vgpusim::run_config config;
    config.policy = "best_fit";
    config.departures = true;
    const auto record = vgpusim::replay(config, loaded, loaded.input.nodes, {}).value();
    const auto history = history_of(record, loaded.input);
    const auto used = used_at_the_end(history, {{0, 0}, {0, 0, 0}});
    for (std::size_t row = 0; row < used.size(); ++row) {
        const vgpualloc::node_index node{loaded.input.node_list_order[row]};
        const auto& devices = record.ledger->nodes().nodes[node.at()].devices;
        ASSERT_THAT(used[row], SizeIs(devices.size()));
        for (std::size_t d = 0; d < devices.size(); ++d) {
            const auto& spec = record.ledger->nodes().kinds[devices[d].kind];
            EXPECT_EQ(used[row][d], spec.mode->used(spec, record.ledger->devices(node)[d]).count()) << row << ' ' << d;
        }
    }
    EXPECT_THAT(history.labels, testing::UnorderedElementsAre("2 GPUs", "a part of one GPU"));
}

TEST(history, pods_of_a_named_class_are_called_by_it) {
    const vgpusim_test::mig_run run;
    EXPECT_EQ(vgpusim::class_name(run.input, 0), "training");
}

} // namespace
