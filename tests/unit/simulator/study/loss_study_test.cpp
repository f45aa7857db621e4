#include "vgpusim/study/loss_study.hpp"

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../loss_models.hpp"
#include "vgpusim/study/loss_study_files.hpp"
#include "vgpusim/study/run.hpp"
#include "vgpusim/workload/kubernetes.hpp"
#include "vgputraces/file_source.hpp"

namespace {

using vgpusim::check_loss_study;
using vgpusim::loss_run;
using vgpusim::run_loss_study;
using vgpusim::studied_policy;
using vgpusim_test::mig_model;
using vgpusim_test::model_file;

const std::vector<std::string> all_profiles{"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"};

vgpusim::study_lists loss_lists(const model_file& model, std::vector<studied_policy> policies) {
    return {.policies = std::move(policies), .pods = {model.path()}, .seeds = {3, 4}, .loads = {0.8, 1.2}};
}

std::vector<studied_policy> pool_and_two() {
    return {{.name = "random", .policy = "random"},
            {.name = "best_fit", .policy = "best_fit"},
            {.name = "pool", .policy = "reference:pool"}};
}

vgpusim::loss_results finished(const vgpusim::experiment& study, std::size_t jobs = 1) {
    auto results = run_loss_study(study, vgputraces::file_source{}, {.jobs = jobs});
    EXPECT_TRUE(results.has_value()) << results.error().message();
    return *std::move(results);
}

TEST(loss_study, runs_are_kept_by_model_then_load_then_policy_then_seed) {
    const model_file model{mig_model(5, all_profiles, 500)};
    const auto study = check_loss_study({}, loss_lists(model, pool_and_two())).value();
    ASSERT_EQ(study.runs(), 12U);
    const auto results = finished(study);
    for (const std::size_t load : {0U, 1U}) {
        for (std::size_t seed = 0; seed < 2; ++seed) {
            const loss_run* const runs = &results.runs[load * 6 + seed];
            for (std::size_t policy = 0; policy < 3; ++policy) {
                // All policies meet the same arrivals, and pods are of the classes of the model.
                EXPECT_EQ(runs[2 * policy].figures.arrived, runs[0].figures.arrived);
                EXPECT_EQ(runs[2 * policy].figures.pods.arrived, 500);
                EXPECT_EQ(runs[2 * policy].classes.size(), 6U);
            }
            EXPECT_LT(runs[0].figures.accepted.memory, runs[4].figures.accepted.memory); // random, pool
        }
        EXPECT_NE(results.runs[load * 6].figures.arrived, results.runs[load * 6 + 1].figures.arrived); // seeds differ
    }
    EXPECT_EQ(results.files.size(), 1U);
}

TEST(loss_study, the_number_of_threads_changes_nothing) {
    const model_file model{mig_model(5, all_profiles, 300)};
    const auto study = check_loss_study({}, loss_lists(model, pool_and_two())).value();
    EXPECT_EQ(vgpusim::loss_study_csv(study, finished(study, 1)), vgpusim::loss_study_csv(study, finished(study, 3)));
}

TEST(loss_study, what_a_policy_sets_is_for_its_runs_alone) {
    const model_file model{mig_model(3, {"7g.40gb"}, 200)};
    const auto study =
        check_loss_study(
            {}, loss_lists(model, {{.name = "lost", .policy = "best_fit"},
                                   {.name = "waits", .policy = "best_fit", .settings = {{"discipline", "fifo"}}}}))
            .value();
    const auto results = finished(study);
    EXPECT_LT(results.runs[0].figures.pods.accepted, 200);
    EXPECT_EQ(results.runs[2].figures.pods.accepted, 200);
    EXPECT_EQ(results.runs[4].figures.pods.arrived, 200);
    EXPECT_LT(results.runs[4].figures.pods.accepted, results.runs[0].figures.pods.accepted); // at the higher load
}

/// A run of which everything is kept counts the same as one of which only the pods are, whose log is dropped.
TEST(loss_study, what_is_not_kept_changes_nothing) {
    const model_file model{mig_model(4, all_profiles, 3000)};
    vgpusim::run_config plain;
    plain.format = vgpusim::model_format;
    plain.pods = model.path();
    vgpusim::run_config moving = plain;
    moving.policy = "ssp";
    moving.defragment = vgpusim::defragment::on_loss;
    moving.defragment_moves_max = 1;
    moving.move_copy_s_per_gib = 1;
    moving.move_downtime_s = 5;
    vgpusim::run_config waiting = plain;
    waiting.discipline = "fifo";
    waiting.layout_change_s = 10;
    for (const vgpusim::run_config& config : {plain, moving, waiting}) {
        const vgputraces::file_source files;
        vgpusim::input_reader from{files};
        const auto loaded = vgpusim::load_model(config, from).value();
        const auto all = vgpusim::replay(config, loaded, loaded.input.nodes, {}).value().result;
        const auto pods =
            vgpusim::replay(config, loaded, loaded.input.nodes, {}, {.kept = vgpusim::kept_of_run::pods}).value();
        EXPECT_LT(pods.ledger->bookings().size(), 1000U) << "places of bookings are used again";
        ASSERT_EQ(pods.result.times.size(), all.times.size());
        for (std::size_t i = 0; i < all.pods.size(); ++i) {
            EXPECT_EQ(pods.result.pods[i].booking == vgpusim::no_booking, all.pods[i].booking == vgpusim::no_booking);
            EXPECT_EQ(pods.result.pods[i].reason, all.pods[i].reason);
            EXPECT_EQ(pods.result.times[i].begun, all.times[i].begun);
            EXPECT_EQ(pods.result.times[i].end, all.times[i].end);
        }
        EXPECT_EQ(pods.result.decisions, all.decisions);
        EXPECT_EQ(pods.result.moves.done, all.moves.done);
        EXPECT_EQ(all.moves.done > 0, config.defragment == vgpusim::defragment::on_loss);
    }
}

TEST(loss_study, what_happens_to_nodes_happens_in_its_runs) {
    const model_file model{mig_model(2, {"7g.40gb"}, 200)};
    const vga_test::temporary_folder folder;
    const std::string events = folder / "events.csv";
    std::ofstream{events} << "time,what,node\n0,fails,gen-node-0000\n";
    const auto accepted = [&](const std::string& file) {
        vgpusim::run_config run;
        run.events = file;
        return finished(check_loss_study(run, loss_lists(model, {{.name = "best_fit", .policy = "best_fit"}})).value())
            .runs[0]
            .figures.pods.accepted;
    };
    EXPECT_LT(accepted(events), accepted("") * 9 / 10) << "one of two GPUs has failed";
    vgpusim::run_config missing;
    missing.events = folder / "none.csv";
    const auto study = check_loss_study(missing, loss_lists(model, {{.name = "fgd", .policy = "fgd"}})).value();
    EXPECT_FALSE(run_loss_study(study, vgputraces::file_source{}, {}));
}

TEST(loss_study, arrivals_and_nodes_may_be_others_than_the_model_says) {
    const model_file model{mig_model(3, {"7g.40gb"}, 200)};
    auto lists = loss_lists(model, {{.name = "best_fit", .policy = "best_fit"}});
    lists.arrivals = 50;
    lists.node_total = 60;
    const auto results = finished(check_loss_study({}, lists).value());
    EXPECT_EQ(results.runs[0].figures.pods.arrived, 50);
    EXPECT_EQ(results.runs[0].figures.pods.accepted, 50); // at load 0.8 of 60 GPUs few are lost, of 3 many
}

TEST(loss_study, refuses_what_does_not_go_together) {
    const model_file model{mig_model(3, {"7g.40gb"}, 20)};
    const auto good = loss_lists(model, pool_and_two());
    EXPECT_TRUE(check_loss_study({}, good));
    const auto refused = [&](const auto& change) {
        auto lists = good;
        vgpusim::run_config run;
        change(lists, run);
        const auto checked = check_loss_study(run, lists);
        return checked ? "none" : checked.error().field;
    };
    EXPECT_EQ(refused([](auto& lists, auto&) { lists.policies.push_back(lists.policies.front()); }), "--policy");
    EXPECT_EQ(refused([](auto& lists, auto&) { lists.policies = {{.name = "x", .policy = "x"}}; }), "policy");
    EXPECT_EQ(refused([](auto& lists, auto&) { lists.pods.clear(); }), "--pods");
    EXPECT_EQ(refused([](auto& lists, auto&) { lists.against = "mcc"; }), "study.against");
    EXPECT_EQ(refused([](auto& lists, auto&) { lists.baselines = {"mcc"}; }), "study.baselines");
    EXPECT_EQ(refused([](auto& lists, auto&) { lists.baselines = {"pool", "random", "pool"}; }), "study.baselines");
    EXPECT_EQ(refused([](auto& lists, auto&) { lists.loads = {0.9, 1.0, 0.9}; }), "study.loads");
    const auto own = [&](const std::string& key, const std::string& value) {
        return refused([&](auto& lists, auto&) { lists.policies.front().settings = {{key, value}}; });
    };
    EXPECT_EQ(own("seed", "4"), "study.policies.set.seed");
    EXPECT_EQ(own("offered_load", "3"), "study.policies.set.offered_load");
    EXPECT_EQ(own("policy", "fgd"), "study.policies.set.policy");
    EXPECT_EQ(own("price_demand", "learned"), "price_demand");
    EXPECT_EQ(own("discipline", "fifo"), "none");
    EXPECT_EQ(refused([](auto&, auto& run) { run.price_every = 7; }), "price_every");
    EXPECT_EQ(refused([](auto&, auto& run) { run.seed = 5; }), "seed");
    EXPECT_EQ(refused([](auto&, auto& run) { run.offered_load = 0.5; }), "offered_load");
    EXPECT_EQ(refused([](auto&, auto& run) { run.out.clear(); }), "out");
}

TEST(loss_study, a_model_that_is_no_good_ends_it) {
    const model_file model{"{"};
    const auto results = run_loss_study(check_loss_study({}, loss_lists(model, pool_and_two())).value(),
                                        vgputraces::file_source{}, {.jobs = 2});
    ASSERT_FALSE(results);
    EXPECT_NE(results.error().where.find("model.json"), std::string::npos);
}

} // namespace
