#include "vgpusim/outputs/loss_figures.hpp"

#include <cmath>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "../loss_models.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpusim/study/run.hpp"
#include "vgpusim/workload/kubernetes.hpp"
#include "vgputraces/file_source.hpp"

namespace {

using vgpualloc::ticks;
using vgputraces::device_parts;

vgpualloc::device_request asking_for(std::int64_t memory_mib, std::int64_t percent) {
    return {.count = 1, .memory = vgpualloc::mib{memory_mib}, .cores = vgpualloc::core_percent{percent}};
}

/// Two devices; half a device asked for by request 0, a whole one by request 1.
vgpusim::simulation_input two_devices(const std::vector<vgpusim::arriving_pod>& pods) {
    vgpusim::simulation_input input;
    input.nodes.nodes.resize(1);
    const auto kind = input.nodes.kind_of(
        {.model = "A", .memory = vgpualloc::mib{1000}, .slots = 10, .mode = vgpualloc::find_mode("hami_core").value()});
    input.nodes.nodes.front().devices.resize(2, {.uuid = "", .kind = kind});
    for (const vgpualloc::device_request& wanted : {asking_for(500, 0), asking_for(1000, 100)}) {
        input.requests.push_back({.cpu = {}, .memory = {}, .containers = {wanted}});
    }
    const std::vector<vgpualloc::requested_amount> amounts{vgpusim::requested_milli(1, vgpualloc::milli_gpu{500}),
                                                           vgpusim::requested_milli(1, vgpualloc::milli_gpu{1000})};
    input.requested = {amounts, 2};
    input.pods = pods;
    input.measured = {.first_pod = 0,
                      .shares = {{.memory = device_parts::whole / 2, .compute = 0},
                                 {.memory = device_parts::whole, .compute = device_parts::whole}},
                      .classes = {"half", "whole"},
                      .class_of_request = {0, 1}};
    return input;
}

vgpusim::arriving_pod lossy_pod(std::uint32_t request, std::int64_t arrival, std::optional<std::int64_t> duration) {
    return {.request = request,
            .arrival = ticks{arrival},
            .duration = duration ? std::optional{ticks{*duration}} : std::nullopt};
}

TEST(loss_figures, the_pool_gives_what_fits_in_all_devices_together) {
    // Halves on both devices leave no device whole, which the pool does not mind.
    const auto input = two_devices(
        {lossy_pod(0, 0, 10), lossy_pod(0, 1, 20), lossy_pod(1, 2, 5), lossy_pod(0, 3, 1), lossy_pod(1, 10, 1)});
    const auto figures = vgpusim::pool_figures_of(input);
    EXPECT_EQ(figures.pods.arrived, 5);
    EXPECT_EQ(figures.pods.accepted, 4); // all is taken when the third half comes; the last comes as much has left
    EXPECT_EQ(figures.of_classes[0].accepted, 2);
    EXPECT_EQ(figures.of_classes[1].accepted, 2);
    EXPECT_DOUBLE_EQ(figures.memory_ratio(), 3.0 / 3.5);
    EXPECT_DOUBLE_EQ(figures.of_gpus.gpu_ratio(), 3.0 / 3.5);
    EXPECT_EQ(figures.of_gpus.by_size[0].arrived, 3); // halves
    EXPECT_EQ(figures.of_gpus.by_size[0].accepted, 2);
    EXPECT_EQ(figures.of_gpus.by_size[1].accepted, 2);
    EXPECT_EQ(figures.filled_of, 0);
}

TEST(loss_figures, compute_limits_the_pool_too) {
    auto input = two_devices({lossy_pod(1, 0, 10), lossy_pod(1, 1, 10), lossy_pod(0, 2, 10)});
    input.requests[1].containers = {asking_for(10, 100)};
    input.requests[0].containers = {asking_for(500, 1)};
    EXPECT_EQ(vgpusim::pool_figures_of(input).pods.accepted, 2);
}

TEST(loss_figures, the_warm_up_fills_and_is_not_counted) {
    auto input = two_devices({lossy_pod(1, 0, 10), lossy_pod(1, 1, 10), lossy_pod(0, 2, 10)});
    input.measured->first_pod = 2;
    const auto figures = vgpusim::pool_figures_of(input);
    EXPECT_EQ(figures.pods.arrived, 1);
    EXPECT_EQ(figures.pods.accepted, 0);
    EXPECT_EQ(figures.pods.ratio(), 0.0);
    EXPECT_EQ(figures.of_gpus.pods.arrived, 1);
    EXPECT_EQ(figures.of_gpus.gpu_ratio(), 0.0);
}

TEST(loss_figures, where_nobody_leaves_it_is_known_how_full_devices_can_be) {
    const auto figures = vgpusim::pool_figures_of(two_devices({lossy_pod(0, 0, {}), lossy_pod(1, 1, {})}));
    EXPECT_EQ(figures.filled_of, 2 * device_parts::whole);
    EXPECT_EQ(figures.accepted.memory, device_parts::whole * 3 / 2);
}

TEST(loss_figures, nothing_lost_of_nothing) {
    const auto figures = vgpusim::pool_figures_of(two_devices({}));
    EXPECT_EQ(figures.pods.ratio(), 1.0);
    EXPECT_EQ(figures.memory_ratio(), 1.0);
}

/// The part of arrivals that a system of so many servers loses (Erlang's formula B), by its recursion.
double erlang_b(int servers, double erlangs) {
    double blocked = 1.0;
    for (int i = 1; i <= servers; ++i) blocked = erlangs * blocked / (i + erlangs * blocked);
    return blocked;
}

TEST(loss_figures, whole_gpus_are_lost_as_erlang_says) {
    const vgpusim_test::model_file model{vgpusim_test::mig_model(10, {"7g.40gb"}, 40'000)};
    vgpusim::run_config config;
    config.format = "model";
    config.policy = "best_fit";
    config.pods = model.path();
    EXPECT_NEAR(erlang_b(100, 100.0), 1.0 - 0.9243, 5e-5); // of 100 GPUs, as docs/mig.md has it
    for (const double load : {0.7, 1.0}) {
        config.offered_load = load;
        const vgputraces::file_source files;
        vgpusim::input_reader from{files};
        const auto loaded = vgpusim::load_model(config, from).value();
        const auto record =
            vgpusim::replay(config, loaded, loaded.input.nodes, {}, {.kept = vgpusim::kept_of_run::pods}).value();
        const auto figures = vgpusim::loss_figures_of(record.result, loaded.input);
        EXPECT_EQ(figures.pods.arrived, 40'000);
        EXPECT_DOUBLE_EQ(figures.of_gpus.gpu_ratio(), figures.pods.ratio()); // all ask for a whole GPU
        EXPECT_EQ(figures.of_gpus.by_size[1].arrived, 40'000);
        // The deviation of this mean of correlated losses is about 0.003.
        EXPECT_NEAR(figures.pods.ratio(), 1.0 - erlang_b(10, 10 * load), 0.012) << load;
        EXPECT_EQ(figures.pods.accepted, vgpusim::pool_figures_of(loaded.input).pods.accepted);
    }
}

} // namespace
