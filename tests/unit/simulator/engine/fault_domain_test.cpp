#include "vgpusim/engine/fault_domain.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../replayed.hpp"
#include "requirements.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpusim/discipline/all.hpp"
#include "vgpusim/discipline/try_once.hpp"

namespace {

using testing::ElementsAre;
using vgpualloc::device_index;
using vgpualloc::node_index;
using vgpualloc::pod_id;
using vgpusim::hit_by_fault_of;
using vgpusim::running_on;
using vgpusim_test::seconds;

/// One node of five GPUs in a mode, and pods on GPUs of it that a test names.
class fault_domain_of_a_pod : public testing::Test {
protected:
    vgpualloc::ledger& on(const char* mode) {
        auto nodes = vgpusim::build_openb_workload({vgpusim_test::gpu_node("n", 5)}, {vgpusim_test::share("p", 100)},
                                                   {.mode = vgpualloc::find_mode(mode).value()});
        book_ = std::make_unique<vgpualloc::ledger>(std::move(nodes.value().nodes));
        return *book_;
    }

    static constexpr vgpualloc::slice tenth{.memory = vgpualloc::mib{10}, .cores = vgpualloc::core_percent{10}};

    /// Pod `number` has this part of each of these GPUs.
    void place(std::uint32_t number, const std::vector<std::int64_t>& gpus, const vgpualloc::slice& part = tenth) {
        vgpualloc::placement where{.node = node_index{0}, .shares = {}};
        for (const std::int64_t gpu : gpus) where.shares.push_back({.device = device_index{gpu}, .part = part});
        ASSERT_TRUE(book_->reserve({.owner = pod_id{number}, .cpu = {}, .memory = {}, .where = where, .tags = {}}));
        book_->commit(pod_id{number});
    }

    std::unique_ptr<vgpualloc::ledger> book_;
};

TEST_F(fault_domain_of_a_pod, under_mps_all_clients_of_the_gpus_in_which_the_fault_is_contained_end) {
    vgpualloc::test::covers({"R050"});
    // NVIDIA's own example: A on GPU 0, B on 0 and 1, C on 2.
    const auto& book = on("mps");
    place(0, {0});
    place(1, {0, 1});
    place(2, {2});
    EXPECT_THAT(hit_by_fault_of(book, pod_id{0U}), ElementsAre(0, 1));
    EXPECT_THAT(hit_by_fault_of(book, pod_id{1U}), ElementsAre(0, 1));
    EXPECT_THAT(hit_by_fault_of(book, pod_id{2U}), ElementsAre(2));
    // D is on GPU 1, in which A's fault is contained too because B has it; and on 3, in which it is not: E goes on.
    place(3, {1, 3});
    place(4, {3});
    EXPECT_THAT(hit_by_fault_of(book, pod_id{0U}), ElementsAre(0, 1, 3));
}

TEST_F(fault_domain_of_a_pod, under_time_slicing_one_crash_hits_all_of_the_gpu) {
    vgpualloc::test::covers({"R049"});
    const auto& book = on("time_slicing");
    const vgpualloc::slice turn{};
    place(0, {0}, turn);
    place(1, {0}, turn);
    place(2, {0}, turn);
    place(3, {1}, turn);
    for (const std::uint32_t pod : {0U, 1U, 2U}) EXPECT_THAT(hit_by_fault_of(book, pod_id{pod}), ElementsAre(0, 1, 2));
    EXPECT_THAT(hit_by_fault_of(book, pod_id{3U}), ElementsAre(3));
    // E has turns on GPU 0 and 2: A's crash ends it, and not F on 2.
    place(4, {0, 2}, turn);
    place(5, {2}, turn);
    EXPECT_THAT(hit_by_fault_of(book, pod_id{0U}), ElementsAre(0, 1, 2, 4));
    EXPECT_THAT(hit_by_fault_of(book, pod_id{4U}), ElementsAre(0, 1, 2, 4, 5));
}

TEST_F(fault_domain_of_a_pod, in_modes_that_keep_faults_apart_only_the_pod_itself_ends) {
    const auto& book = on("hami_core");
    place(0, {0});
    place(1, {0, 1});
    EXPECT_THAT(hit_by_fault_of(book, pod_id{0U}), ElementsAre(0));
    EXPECT_THAT(hit_by_fault_of(book, pod_id{1U}), ElementsAre(1));
    EXPECT_THAT(running_on(book, node_index{0}, device_index{1}), ElementsAre(1));
    EXPECT_THAT(running_on(book, node_index{0}, {}), testing::UnorderedElementsAre(0, 1));
}

/// Three pods for a hundred seconds, two to a GPU, of which the first crashes in second 10.
vgpusim::simulation_input crashing(const char* mode) {
    using vgpusim_test::at;
    using vgpusim_test::share;
    auto input = vgpusim::build_openb_workload(
        {vgpusim_test::gpu_node("n", 2)},
        {at(share("a", 500), 0, 100), at(share("b", 500), 1, 101), at(share("c", 500), 2, 102)},
        {.departures = true, .mode = vgpualloc::find_mode(mode).value()});
    input.value().crashes = {{.time = seconds(10), .pod = 0}};
    return std::move(input).value();
}

/// When each pod ends, in seconds; -1 = never.
std::vector<std::int64_t> ends_of(const vgpusim::simulation_result& result) {
    std::vector<std::int64_t> ends;
    for (const auto& times : result.times) ends.push_back(times.ended ? times.end.count() / 1'000'000 : -1);
    return ends;
}

TEST(crash, the_pods_of_its_fault_domain_begin_again) {
    const auto rules = vgpusim::find_discipline("fifo").value()->make();
    const vgpusim_test::replayed mps{crashing("mps"), *rules};
    EXPECT_THAT(ends_of(mps.result), ElementsAre(110, 110, 102)) << "a and b share a GPU, c is on the other one";
    EXPECT_EQ(mps.result.disturbed.pods_stopped, 2);
    EXPECT_EQ(mps.result.disturbed.pods_lost, 0);
    EXPECT_EQ(mps.result.disturbed.unit_seconds_redone.larger(), 500.0 * (10 + 9));
    const auto again = vgpusim::find_discipline("fifo").value()->make();
    const vgpusim_test::replayed apart{crashing("hami_core"), *again};
    EXPECT_THAT(ends_of(apart.result), ElementsAre(110, 101, 102));
    EXPECT_EQ(apart.result.disturbed.pods_stopped, 1);
}

TEST(crash, pods_are_lost_on_request_and_one_that_does_not_run_hits_nobody) {
    auto input = crashing("mps");
    input.crashes.push_back({.time = seconds(20), .pod = 0});
    input.crashes.push_back({.time = seconds(5000), .pod = 2});
    vgpusim::try_once rules;
    const vgpusim_test::replayed lost{input, rules, {.on_failure = vgpusim::after_failure::lose}};
    EXPECT_THAT(ends_of(lost.result), ElementsAre(-1, -1, 102));
    EXPECT_EQ(lost.result.disturbed.pods_stopped, 2);
    EXPECT_EQ(lost.result.disturbed.pods_lost, 2);
    EXPECT_EQ(lost.result.samples.back().time, seconds(102)) << "nothing happens after the last end";
}

} // namespace
