// The reference's policies on openb nodes, with its sums done by hand. G2 nodes here have 128 CPUs and 8
// GPUs, the amounts that BestFit and DotProd divide by.
#include <algorithm>

#include "metrics/recorded_vectors.hpp"
#include "support.hpp"

#include "vgpualloc/compat/fgd/policies.hpp"
#include "vgpualloc/dialect/openb.hpp"
#include "vgpualloc/policy/traits.hpp"

namespace vgpualloc {
namespace {

using namespace test;

std::unique_ptr<policy> make_compat(std::string_view spelling, workload target = {}) {
    return make(spelling, std::move(target), 1, compat::fgd_policies);
}

cluster openb_nodes(const std::vector<std::int64_t>& gpus) {
    cluster owned;
    for (const std::int64_t count : gpus) {
        openb::add_node(owned, "n" + std::to_string(owned.nodes.size()), milli_cpu{128000}, mib{786432}, count, "G2",
                        mode("hami_core"));
    }
    return owned;
}

pod_request ask(std::int64_t cpu, std::int64_t gpus, std::int64_t milli) {
    return openb::make_request(milli_cpu{cpu}, mib{1000}, gpus, milli_gpu{milli}, "");
}

/// What is already there: per node (pod number), the milli-GPU taken on each device.
void occupy(placer& to, const std::vector<std::vector<std::int64_t>>& taken) {
    for (std::uint32_t n = 0; n < taken.size(); ++n) {
        for (std::uint32_t d = 0; d < taken[n].size(); ++d) {
            if (taken[n][d] == 0) continue;
            ASSERT_TRUE(to.book.reserve(
                book_on(n * 8 + d, node_index{n}, {share_of_device(d, slice{mib{taken[n][d]}, core_percent{0}})}, 0)));
        }
    }
}

struct scenario {
    const char* why;
    const char* policy;
    std::vector<std::int64_t> gpus;
    std::vector<std::vector<std::int64_t>> taken;
    pod_request request;
    std::vector<double> scores;
};

TEST(compat, scores_are_the_reference_s_integers) {
    const std::vector<scenario> scenarios{
        // (128000 - 64000) / 128000 * 0.5 + (8000 - 500) / 8000 * 0.5 = 0.71875 -> trunc(28.125)
        {"BestFit, empty; half the GPUs", "compat:bestfit", {8, 4}, {}, ask(64000, 1, 500), {28, 53}},
        {"BestFit, everything taken", "compat:bestfit", {8}, {}, ask(128000, 8, 1000), {100}},
        {"BestFit without GPUs counts the GPUs left", "compat:bestfit", {0, 8}, {}, ask(0, 0, 0), {50, 0}},
        // v = (1 * 0.5 + 1 * 0.0625) / 2 = 0.28125 -> trunc(71.875); half the GPUs: (0.5 + 0.03125) / 2 -> 73
        {"DotProd prefers small products", "compat:dotprod", {8, 4}, {}, ask(64000, 1, 500), {71, 73}},
        {"GpuPacking, CPU pods score 0", "compat:gpupacking", {8, 0}, {}, ask(1000, 0, 0), {0, 0}},
        // 1. no GPU work: max(33 - free, free)
        {"GpuPacking, empty nodes", "compat:gpupacking", {8, 1}, {}, ask(1000, 1, 300), {25, 32}},
        // 2. a fully free GPU must be broken: max(50 - u, 33)
        {"GpuPacking, breaks a GPU", "compat:gpupacking", {2, 8}, {{800}, {800}}, ask(1000, 1, 300), {49, 49}},
        {"GpuPacking, breaks many", "compat:gpupacking", {8}, {{800}}, ask(1000, 4, 1000), {46}},
        // 3. partly used GPUs suffice: max(100 - (left * 100 / 1000) / 10, 50); left 400 -> 40 -> 100 - 4
        {"GpuPacking, fills a GPU", "compat:gpupacking", {2, 2}, {{600}, {300, 555}}, ask(1000, 1, 300), {96, 96}},
        // b = 25 * (8000 - L) / 8000: n0 has 200 taken of 8000 -> 0; n1 has 4 GPUs, L = 3000 -> 15
        {"GpuClustering, shares beside shares",
         "compat:gpuclustering",
         {8, 4, 8},
         {{200}, {1000}},
         ask(1000, 1, 300),
         {75, 15, 25}},
        {"GpuClustering, one whole GPU",
         "compat:gpuclustering",
         {8, 4, 8},
         {{200}, {1000}},
         ask(1000, 1, 1000),
         {0, 90, 25}},
        {"GpuClustering, two kinds there", "compat:gpuclustering", {8}, {{200, 1000}}, ask(1000, 1, 300), {53}},
        {"GpuClustering, CPU pods score 0", "compat:gpuclustering", {8}, {{200}}, ask(1000, 0, 0), {0}},
        {"Random scores nothing", "compat:random", {8, 8}, {{200}}, ask(1000, 1, 300), {0, 0}},
    };
    for (const scenario& line : scenarios) {
        const cluster owned = openb_nodes(line.gpus);
        placer here{owned, make_compat(line.policy)};
        occupy(here, line.taken);
        EXPECT_EQ(here.scores(line.request), line.scores) << line.why;
    }
}

TEST(compat, a_share_goes_to_the_fitting_gpu_with_the_least_left_and_whole_pods_to_the_lowest_indices) {
    for (const char* spelling : {"compat:bestfit", "compat:dotprod", "compat:gpupacking", "compat:gpuclustering"}) {
        const cluster owned = openb_nodes({4});
        placer here{owned, make_compat(spelling)};
        occupy(here, {{100, 0, 600, 600}});
        EXPECT_EQ(here.decide(ask(0, 1, 400))->shares[0].device.at(), 2U) << "400 left, the first of two; " << spelling;
        EXPECT_EQ(here.decide(ask(0, 1, 401))->shares[0].device.at(), 0U) << "900 left; " << spelling;
        EXPECT_EQ(here.decide(ask(0, 1, 1000))->shares[0].device.at(), 1U) << spelling;
    }
}

TEST(compat, gpu_clustering_forgets_pods_that_leave) {
    const cluster owned = openb_nodes({8});
    placer here{owned, make_compat("compat:gpuclustering")};
    ASSERT_TRUE(here.place(ask(1000, 1, 300)).has_value());
    ASSERT_TRUE(here.place(ask(1000, 1, 300)).has_value());
    ASSERT_TRUE(here.place(ask(1000, 2, 1000)).has_value());
    EXPECT_EQ(here.scores(ask(0, 1, 10)), std::vector{8 + 50.0}) << "2600 of 8000 taken, two kinds";
    here.book.release(pod_id{1002U});
    EXPECT_EQ(here.scores(ask(0, 1, 10)), std::vector{1 + 75.0});
    here.book.release(pod_id{1000U});
    EXPECT_EQ(here.scores(ask(0, 1, 10)), std::vector{0 + 75.0}) << "one share is still there";
    here.book.release(pod_id{1001U});
    EXPECT_EQ(here.scores(ask(0, 1, 10)), std::vector{25.0});
}

TEST(compat, gpu_clustering_sees_pods_that_were_found_running) {
    const cluster owned = openb_nodes({8});
    placer here{owned, make_compat("compat:gpuclustering")};
    ASSERT_TRUE(here.book.adopt(book_on(7, node_index{0U}, {share_of_device(0, part(300))}, 0)));
    EXPECT_EQ(here.scores(ask(0, 1, 10)), std::vector{0 + 75.0});
    here.book.release(pod_id{7U});
    EXPECT_EQ(here.scores(ask(0, 1, 10)), std::vector{25.0});
}

/// One typical pod of 0.5 GPU: F falls by 300 where a useless rest of 300 is taken. d = 0.3 -> 100 / (1 + exp(-0.3)) =
/// 57.44; a step that makes 700 useless: d = -0.4 on an idle GPU, 100 / (1 + exp(0.4)) = 40.13.
TEST(compat, fgd_scores_the_truncated_sigmoid_of_the_fall) {
    const cluster owned = openb_nodes({1, 1});
    workload target;
    target.typical.push_back({.cpu = milli_cpu{0}, .containers = {want(1, 500)}, .frequency = 1.0});
    placer here{owned, make_compat("compat:fgd", target)};
    occupy(here, {{700}});
    EXPECT_EQ(here.scores(ask(0, 1, 300)), (std::vector{57.0, 50.0}));
    EXPECT_EQ(here.scores(ask(0, 1, 600)).back(), 40.0);
    EXPECT_EQ(here.decide(ask(0, 1, 300))->node.at(), 0U);
}

TEST(compat, random_draws_the_gpu_of_a_share_only) {
    const cluster owned = openb_nodes({8});
    placer here{owned, make_compat("compat:random")};
    std::vector<int> seen(8);
    for (int i = 0; i < 800; ++i) {
        ++seen.at(here.decide(ask(0, 1, 999))->shares[0].device.at());
        EXPECT_EQ(here.decide(ask(0, 1, 1000))->shares[0].device.at(), 0U);
        EXPECT_EQ(here.decide(ask(0, 2, 1000))->shares[1].device.at(), 1U);
    }
    for (const int count : seen) EXPECT_NEAR(count, 100, 45);
}

TEST(compat, every_policy_is_listed_by_its_name) {
    EXPECT_TRUE(std::ranges::is_sorted(compat::fgd_policies, {}, &policy_entry::name));
    for (const policy_entry& entry : compat::fgd_policies) {
        EXPECT_EQ(make_compat(entry.name)->name(), entry.name);
        EXPECT_FALSE(entry.summary.empty());
    }
}

TEST(compat, every_policy_can_be_paired_with_itself) {
    for (const policy_entry& entry : compat::fgd_policies) {
        const auto scorer = entry.make({});
        const pair_traits traits = traits_of({.node = scorer.get(), .device = scorer.get()});
        const bool of_configurations = entry.name == "compat:fgd";
        EXPECT_EQ(traits.by_totals, !of_configurations) << entry.name;
        EXPECT_EQ(traits.one_score, of_configurations) << entry.name;
        EXPECT_EQ(traits.priced, nullptr) << entry.name;
        EXPECT_EQ(traits.draws_nodes, entry.name == "compat:random") << entry.name;
        EXPECT_EQ(traits.state_alone, entry.name != "compat:gpuclustering") << entry.name;
    }
}

TEST(compat, a_trial_takes_the_draws_of_random_back) {
    const auto seeded = [] { return make("compat:random", {}, 3, compat::fgd_policies); };
    const auto untouched = seeded();
    const auto drawer = seeded();
    drawer->enter_trial();
    for (int i = 0; i < 3; ++i) static_cast<void>(drawer->draw(1'000'000));
    drawer->leave_trial(false);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(drawer->draw(1'000'000), untouched->draw(1'000'000));
}

/// The reference's score and GPU for one pod on one recorded node.
void expect_recorded(const std::vector<std::string>& cells, const workload& target) {
    using namespace recorded_vectors;
    const std::string where = "order " + cells[0] + " node " + cells[5];
    const auto left = lefts(cells[8]);
    cluster owned;
    openb::add_node(owned, cells[5], milli_cpu{integer(cells[7])}, mib{1}, static_cast<std::int64_t>(left.size()),
                    cells[6], mode("hami_core"));
    placer here{owned, make_compat("compat:fgd", target)};
    for (std::uint32_t d = 0; d < left.size(); ++d) {
        if (left[d] == 1000) continue;
        booking taken = book_on(d, node_index{0U}, {share_of_device(d, slice{mib{1000 - left[d]}, {}})}, 0);
        taken.memory = bytes{0};
        ASSERT_TRUE(here.book.reserve(taken));
    }
    const auto request =
        openb::make_request(milli_cpu{integer(cells[2])}, mib{0}, integer(cells[3]), milli_gpu{integer(cells[4])}, "");
    EXPECT_EQ(here.scores(request), std::vector{exact(cells[17])}) << where;
    if (!cells[18].empty()) {
        EXPECT_EQ(here.decide(request)->shares[0].device.at(), static_cast<std::size_t>(integer(cells[18]))) << where;
    }
}

TEST(compat, fgd_equals_the_recorded_scores_of_the_reference_bit_by_bit) {
    const auto recorded = recorded_vectors::read();
    if (!recorded) {
        if (recorded_vectors::are_required()) FAIL() << "CI=true needs " << recorded_vectors::file();
        GTEST_SKIP() << "VGPUALLOC_EVIDENCE names no folder with golden/fgd_unit_vectors_seed42.csv";
    }
    for (const auto& line : recorded->rows) expect_recorded(line, recorded->target);
}

} // namespace
} // namespace vgpualloc
