#include "vgpufacade/experiment.hpp"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_run.hpp"
#include "vgpusim/outputs/figures.hpp"

namespace {

using facade_test::small_run;
using testing::ElementsAre;
using vgpufacade::cell_values;
using vgpufacade::run_experiment;

/// Two policies, one of them waiting, on one list with two seeds.
struct small_experiment {
    small_run inputs;
    vgpusim::experiment plan;

    small_experiment() {
        plan.run = inputs.options.config;
        plan.run.departures = true;
        plan.lists.policies = {{.name = "spread", .policy = "spread"},
                               {.name = "waits", .policy = "fgd", .settings = {{"discipline", "fifo"}}}};
        plan.lists.pods = {"pods"};
        plan.lists.seeds = {3, 4};
    }
    [[nodiscard]] vgpufacade::table outcome(std::size_t jobs = 1, const vgpufacade::cell_store& store = {}) const {
        return run_experiment(inputs.source, plan, jobs, store).value();
    }
};

const std::vector<double>& column_reals(const vgpufacade::table& table, std::string_view name) {
    return std::get<std::vector<double>>(table.find(name)->values);
}

std::vector<std::string> column_texts(const vgpufacade::table& table, std::string_view name) {
    std::vector<std::string> all;
    for (std::size_t row = 0; row < table.rows(); ++row) all.emplace_back(table.find(name)->text(row));
    return all;
}

TEST(experiment, has_a_row_for_every_cell_and_a_column_for_every_measure) {
    const auto table = small_experiment{}.outcome();
    ASSERT_EQ(table.rows(), 4U);
    EXPECT_EQ(table.columns.size(), 5 + vgpufacade::cell_measures);
    EXPECT_THAT(column_texts(table, "policy"), ElementsAre("spread", "spread", "waits", "waits"));
    EXPECT_THAT(std::get<std::vector<std::int64_t>>(table.find("seed")->values), ElementsAre(3, 4, 3, 4));
    EXPECT_TRUE(std::isnan(column_reals(table, "load").front()));
    EXPECT_THAT(column_reals(table, "pods_arrived"), ElementsAre(5, 5, 5, 5));
    EXPECT_EQ(column_reals(table, "pods_placed")[2], 5);
    EXPECT_TRUE(std::isnan(column_reals(table, "wait_mean_s")[0])) << "nobody waits";
    EXPECT_GE(column_reals(table, "wait_mean_s")[2], 0.0);
    EXPECT_TRUE(std::isnan(column_reals(table, "accepted_ratio")[0])) << "not a workload model";
    EXPECT_EQ(table.find("fragmentation_mean_milli")->unit, "milli-GPU");
}

TEST(experiment, a_cell_has_the_figures_of_the_same_run) {
    small_experiment one;
    one.inputs.options.config = one.plan.config_of({.policy = 1, .seed = 1});
    const auto run = one.inputs.outcome().value();
    EXPECT_EQ(column_reals(one.outcome(), "served_ratio")[3], vgpusim::figures_of(run.record()).served_ratio);
}

TEST(experiment, finished_cells_are_found_again_by_address_and_not_replayed) {
    const small_experiment small;
    std::map<std::string, cell_values> known;
    std::size_t stored = 0;
    const vgpufacade::cell_store store{.lookup = [&](const std::string& address) -> std::optional<cell_values> {
                                           const auto entry = known.find(address);
                                           return entry == known.end() ? std::nullopt : std::optional{entry->second};
                                       },
                                       .store =
                                           [&](const std::string& address, const cell_values& values) {
                                               EXPECT_EQ(address.size(), 64U);
                                               ++stored;
                                               known[address] = values;
                                           }};
    const auto first = small.outcome(2, store);
    EXPECT_EQ(stored, 4U);
    EXPECT_EQ(known.size(), 4U) << "no two of one address";
    const auto addresses = column_texts(first, "address");
    known[addresses[1]][0] = 0.125;
    known.erase(addresses[2]);
    const auto second = small.outcome(2, store);
    EXPECT_EQ(stored, 5U);
    EXPECT_EQ(column_reals(second, "served_ratio")[1], 0.125) << "what is known is taken as it is";
    EXPECT_EQ(column_reals(second, "served_ratio")[2], column_reals(first, "served_ratio")[2]);
    EXPECT_EQ(column_texts(second, "address"), addresses);
    known[addresses[0]].pop_back();
    static_cast<void>(small.outcome(1, store));
    EXPECT_EQ(stored, 6U) << "values of other measures are not taken";
}

TEST(experiment, an_address_is_that_of_what_decides_the_result) {
    const auto address = [](const auto& change) {
        small_experiment small;
        change(small);
        return column_texts(small.outcome(), "address").front();
    };
    const std::string plain = address([](auto&) {});
    EXPECT_EQ(address([](auto& of) { of.plan.run.out = "elsewhere"; }), plain);
    EXPECT_EQ(address([](auto& of) { of.plan.lists.policies.front().name = "other name"; }), plain);
    EXPECT_EQ(address([](auto& of) {
                  of.inputs.source.add("same pods", facade_test::pod_list);
                  of.plan.lists.pods = {"same pods"};
              }),
              plain);
    const std::string shorter = facade_test::pod_list.substr(0, facade_test::pod_list.find("wide"));
    EXPECT_NE(address([&](auto& of) { of.inputs.source.add("pods", shorter); }), plain);
    EXPECT_NE(address([](auto& of) { of.plan.lists.policies.front().policy = "binpack"; }), plain);
    EXPECT_NE(address([](auto& of) { of.plan.run.tune = 1.5; }), plain);
    EXPECT_NE(address([](auto& of) { of.plan.lists.seeds = {5, 6}; }), plain);
    EXPECT_NE(address([](auto& of) { of.plan.lists.loads = {0.7}; }), plain);
}

TEST(experiment, the_number_of_threads_changes_nothing) {
    const small_experiment small;
    const auto one = small.outcome(1);
    const auto several = small.outcome(3);
    EXPECT_EQ(column_texts(one, "address"), column_texts(several, "address"));
    for (const char* name : {"served_ratio", "allocation_mean_ratio", "pods_placed"}) {
        EXPECT_EQ(column_reals(one, name), column_reals(several, name)) << name;
    }
}

TEST(experiment, tells_how_far_it_is_and_ends_when_the_caller_wants) {
    const small_experiment small;
    std::size_t cells = 0;
    std::size_t questions = 0;
    const vgpufacade::progress follow{.tell =
                                          [&](std::string_view what, std::size_t done, std::size_t total) {
                                              EXPECT_EQ(what, "cells");
                                              EXPECT_EQ(done, ++cells);
                                              EXPECT_EQ(total, 4U);
                                          },
                                      .stop =
                                          [&] {
                                              ++questions;
                                              return cells >= 2;
                                          }};
    const auto stopped = run_experiment(small.inputs.source, small.plan, 1, {}, follow);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, vgpualloc::error_code::stopped);
    EXPECT_EQ(cells, 3U) << "the cell that was not begun is told, too";
    EXPECT_GE(questions, 3U);
}

TEST(experiment, refuses_what_it_cannot_replay) {
    const auto refused = [](const auto& change) {
        small_experiment small;
        change(small.plan);
        const auto result = run_experiment(small.inputs.source, small.plan, 1);
        return result ? "none" : result.error().field;
    };
    EXPECT_EQ(refused([](auto& plan) { plan.lists.policies.clear(); }), "--policy");
    EXPECT_EQ(refused([](auto& plan) { plan.lists.policies.front().policy = "nonsense"; }), "policy");
    EXPECT_EQ(refused([](auto& plan) { plan.lists.policies.front().policy = "reference:pool"; }), "policy");
    EXPECT_EQ(refused([](auto& plan) { plan.lists.policies[1].settings = {{"seed", "4"}}; }),
              "study.policies.set.seed");
    EXPECT_EQ(refused([](auto& plan) { plan.lists.seeds = {2, 1}; }), "seeds");
    EXPECT_EQ(refused([](auto& plan) { plan.lists.loads = {1.0, 0.0}; }), "loads");
    EXPECT_EQ(refused([](auto& plan) { plan.lists.pods = {"pods", "pods"}; }), "--pods");
}

} // namespace
