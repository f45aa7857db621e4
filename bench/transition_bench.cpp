// Plans for one MIG GPU, warm: the tables are there, and every call plans for another live state.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/plan/mig_transition.hpp"

namespace {

using vgpualloc::built_in_mig_catalog;
using vgpualloc::mig_model;
namespace plan = vgpualloc::plan;

struct question {
    plan::mig_live_state live;
    plan::mig_places wanted = 0;
};

/// Live states drawn from all legal sets, each instance busy with even chances, and a profile.
std::vector<question> draw(const plan::gpu_layouts& states, std::size_t count) {
    vgpualloc::rng random{20260101};
    std::vector<question> drawn;
    const auto profiles = states.model().profiles.size();
    while (drawn.size() < count) {
        const plan::mig_places instances = states.layout(random.below(states.size()));
        drawn.push_back({{instances, instances & random.next(), 0}, states.places_of(random.below(profiles))});
    }
    return drawn;
}

const mig_model& model(const std::string& name) {
    const auto known_model = find_model(built_in_mig_catalog(), name);
    if (!known_model) std::exit(EXIT_FAILURE);
    return **known_model;
}

void plan_warm(benchmark::State& state, const std::string& name, const plan::mig_transition_options& options) {
    auto planner = plan::mig_transitions::make(model(name)).value();
    const auto questions = draw(planner.states(), 256);
    std::int64_t possible = 0;
    for (const question& asked : questions)
        possible += planner.plan(asked.live, asked.wanted, options)->has_value() ? 1 : 0;
    std::size_t next = 0;
    for (auto _ : state) {
        const question& asked = questions[next++ % questions.size()];
        benchmark::DoNotOptimize(planner.plan(asked.live, asked.wanted, options));
    }
    state.counters["possible"] = static_cast<double>(possible) / static_cast<double>(questions.size());
    state.counters["entries"] = static_cast<double>(planner.entries());
}

void plan_cold(benchmark::State& state, const std::string& name, const plan::mig_transition_options& options) {
    const auto questions = draw(plan::gpu_layouts::make(model(name)).value(), 256);
    std::size_t next = 0;
    for (auto _ : state) {
        state.PauseTiming();
        auto planner = plan::mig_transitions::make(model(name)).value();
        state.ResumeTiming();
        const question& asked = questions[next++ % questions.size()];
        benchmark::DoNotOptimize(planner.plan(asked.live, asked.wanted, options));
    }
}

} // namespace

int main(int argc, char** argv) {
    for (const std::string name : {"A30-24GB", "A100-40GB", "RTX-PRO-6000-96GB"}) {
        const auto add = [&](const std::string& what, auto run, auto... rest) {
            benchmark::RegisterBenchmark((what + "/" + name).c_str(), run, name, rest...)
                ->Unit(benchmark::kMicrosecond);
        };
        add("transition_warm/no_moves", plan_warm, plan::mig_transition_options{});
        add("transition_warm/2_moves", plan_warm, plan::mig_transition_options{.moves_max = 2});
        add("transition_cold/no_moves", plan_cold, plan::mig_transition_options{});
        add("transition_cold/2_moves", plan_cold, plan::mig_transition_options{.moves_max = 2});
        add("transition_cold/fewest_of_3_moves", plan_cold,
            plan::mig_transition_options{.moves_max = 3, .fewest_moves = true});
    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return EXIT_SUCCESS;
}
