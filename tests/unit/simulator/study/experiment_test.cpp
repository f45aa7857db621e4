#include "vgpusim/study/experiment.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using vgpualloc::expected;
using vgpualloc::unexpected;
using vgpusim::cell;
using vgpusim::cell_run;
using vgpusim::experiment;
using vgpusim::run_config;
using vgpusim::run_experiment;
using vgpusim::shared_input;

/// Three policies, of which the last one's input is another, on two lists at two loads with two seeds.
experiment three_policies() {
    return {.run = {},
            .lists = {.policies = {{.name = "a", .policy = "fgd"},
                                   {.name = "b", .policy = "fgd", .settings = {{"discipline", "fifo"}}},
                                   {.name = "c", .policy = "spread", .settings = {{"tune", "2"}}}},
                      .pods = {"one", "two"},
                      .seeds = {7, 8},
                      .loads = {0.5, 1.0}}};
}

std::string cell_text(const run_config& config) {
    return config.pods + " " + std::to_string(config.offered_load).substr(0, 3) + " " + config.policy + " " +
           config.discipline + " " + std::to_string(config.seed);
}

vgpualloc::error cell_failure(const std::string& value) {
    return {.code = vgpualloc::error_code::malformed, .where = "", .field = "", .value = value, .expected = "none"};
}

TEST(experiment, results_are_by_list_then_load_then_policy_then_seed) {
    const experiment plan = three_policies();
    ASSERT_EQ(plan.runs(), 24U);
    for (std::size_t i = 0; i < plan.runs(); ++i) EXPECT_EQ(plan.position_of(plan.cell_at(i)), i);
    for (const std::size_t jobs : {1U, 3U}) {
        const auto results = run_experiment<std::string>(
            plan,
            [](const cell&, const run_config&) -> expected<shared_input> {
                return std::make_shared<const vgpusim::loaded_input>();
            },
            [](const cell_run& run) -> expected<std::string> { return cell_text(run.config); }, {.jobs = jobs});
        ASSERT_TRUE(results);
        EXPECT_EQ(results->runs[0], "one 0.5 fgd try_once 7");
        EXPECT_EQ(results->runs[3], "one 0.5 fgd fifo 8");
        EXPECT_EQ(results->runs[6], "one 1.0 fgd try_once 7");
        EXPECT_EQ(results->runs[23], "two 1.0 spread try_once 8");
        const auto seeds = results->seeds_of(plan, {.list = 1, .load = 0, .policy = 2});
        EXPECT_THAT(std::vector(seeds.begin(), seeds.end()),
                    testing::ElementsAre("two 0.5 spread try_once 7", "two 0.5 spread try_once 8"));
        EXPECT_EQ(results->jobs, jobs);
    }
}

TEST(experiment, an_input_is_read_once_for_all_policies_that_change_nothing_of_it) {
    std::atomic<int> read{0};
    std::atomic<int> living{0};
    std::atomic<int> living_max{0};
    const auto results = run_experiment<int>(
        three_policies(),
        [&](const cell& where, const run_config& config) -> expected<shared_input> {
            ++read;
            if (++living > living_max) living_max = living.load();
            auto* const input = new vgpusim::loaded_input{};
            input->files = {{.path = config.pods, .sha256 = {}}, {.path = "nodes", .sha256 = {}}};
            if (where.policy == 2) input->warnings.push_back(cell_failure("c"));
            return shared_input{input, [&living](const vgpusim::loaded_input* done) {
                                    --living;
                                    delete done;
                                }};
        },
        [](const cell_run&) -> expected<int> { return 0; }, {});
    ASSERT_TRUE(results);
    EXPECT_EQ(read, 16) << "two for each list, load and seed";
    EXPECT_LE(living_max, 2);
    EXPECT_EQ(living, 0);
    ASSERT_EQ(results->files.size(), 3U);
    EXPECT_EQ(results->files[2].path, "two");
    EXPECT_EQ(results->warnings.size(), 1U);
}

TEST(experiment, the_error_is_that_of_the_first_cell_that_fails) {
    const auto load = [](const cell& where, const run_config& config) -> expected<shared_input> {
        if (where.list == 1) return unexpected(cell_failure(cell_text(config)));
        return std::make_shared<const vgpusim::loaded_input>();
    };
    const auto all_done = [](const cell_run&) -> expected<int> { return 0; };
    EXPECT_EQ(run_experiment<int>(three_policies(), load, all_done, {}).error().value, "two 0.5 fgd try_once 7");
    const auto fails = [](const cell_run& run) -> expected<int> {
        return unexpected(cell_failure(cell_text(run.config)));
    };
    EXPECT_EQ(run_experiment<int>(three_policies(), load, fails, {}).error().value, "one 0.5 fgd try_once 7");
    const std::function<bool()> at_once = [] { return true; };
    const auto stopped =
        run_experiment<int>(three_policies(), load, all_done, {.stop = vgpualloc::stop_signal{at_once}});
    EXPECT_EQ(stopped.error().code, vgpualloc::error_code::stopped);
}

TEST(experiment, a_cell_that_is_known_is_not_replayed_and_its_input_not_read) {
    int read = 0;
    int replayed = 0;
    std::vector<std::string> stored;
    const vgpusim::result_store<int> store{
        .lookup = [&](const std::string&) { return stored.empty() ? std::nullopt : std::optional{9}; },
        .store = [&](const std::string& address, int) { stored.push_back(address); }};
    const auto results = run_experiment<int>(
        three_policies(),
        [&](const cell&, const run_config& config) -> expected<shared_input> {
            ++read;
            auto input = std::make_shared<vgpusim::loaded_input>();
            input->files = {{.path = config.pods, .sha256 = config.pods}};
            return input;
        },
        [&](const cell_run&) -> expected<int> { return ++replayed; }, {}, store);
    ASSERT_TRUE(results);
    EXPECT_EQ(replayed, 1);
    EXPECT_EQ(stored.size(), 1U);
    EXPECT_EQ(results->runs[0], 1);
    EXPECT_EQ(results->runs[23], 9);
    EXPECT_EQ(read, 4) << "one for each list and each kind of input, to know the files";
}

} // namespace
