// One decision on 1,000 x 8 and 100,000 x 8 GPUs: in steady state, and the first one of a fresh index.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "synthetic.hpp"
#include "vgpualloc/alloc/naive_allocator.hpp"

namespace {

using vgpubench::filled_cluster;

constexpr double load = 0.7; // of all GPUs: most requests still fit, most nodes are partly used

/// A cluster filled under one policy. Kept from call to call, because filling 100,000 nodes takes seconds; only the
/// last one, because it takes memory.
struct stage {
    std::string policy_name;
    std::int64_t nodes = 0;
    vgpusim::simulation_input input;
    std::unique_ptr<filled_cluster> cluster;
};

stage& stage_for(const std::string& policy_name, std::int64_t nodes) {
    static std::unique_ptr<stage> last;
    if (!last || last->policy_name != policy_name || last->nodes != nodes) {
        last.reset();
        last = std::make_unique<stage>();
        last->policy_name = policy_name;
        last->nodes = nodes;
        last->input = vgpubench::make_input(nodes, load);
        last->cluster = std::make_unique<filled_cluster>(last->input);
        const auto filler = vgpubench::make_policy(policy_name, last->input);
        last->cluster->fill(*filler);
    }
    return *last;
}

/// Places a pod and releases another one, so that the load stays. `place(id, request)` says whether it was placed.
template <class Place>
void place_and_release(benchmark::State& state, stage& on, Place&& place) {
    std::int64_t placed = 0;
    const auto once = [&] {
        if (!place(on.cluster->free_id(), on.cluster->next_request())) return;
        ++placed;
        on.cluster->placed();
        on.cluster->release_one();
    };
    for (std::size_t i = 0; i < on.input.requests.size() * 4; ++i) once(); // every class has been asked about
    placed = 0;
    for (auto unused : state) {
        static_cast<void>(unused);
        once();
    }
    state.SetItemsProcessed(state.iterations());
    state.counters["classes"] = static_cast<double>(on.input.requests.size());
    state.counters["placed_ratio"] = static_cast<double>(placed) / static_cast<double>(state.iterations());
}

void steady(benchmark::State& state, const std::string& policy_name, std::int64_t nodes) {
    stage& on = stage_for(policy_name, nodes);
    const auto policy = vgpubench::make_policy(policy_name, on.input);
    vgpualloc::allocator index{on.cluster->book, {.node = policy.get(), .device = policy.get()}};
    std::vector<vgpualloc::request_id> requests;
    for (const auto& each : on.input.requests) requests.push_back(index.intern(each));
    for (const auto each : requests) benchmark::DoNotOptimize(index.decide(each));
    place_and_release(state, on, [&](vgpualloc::pod_id pod, std::uint32_t request) {
        return index.place(pod, requests[request]).has_value();
    });
}

void steady_naive(benchmark::State& state, const std::string& policy_name, std::int64_t nodes) {
    stage& on = stage_for(policy_name, nodes);
    const auto policy = vgpubench::make_policy(policy_name, on.input);
    vgpualloc::naive_allocator naive{on.cluster->book, {.node = policy.get(), .device = policy.get()}};
    std::int64_t placed = 0;
    for (auto unused : state) { // no warm-up: it remembers nothing
        static_cast<void>(unused);
        const auto request = on.cluster->next_request();
        if (!naive.place(on.cluster->free_id(), on.input.requests[request])) continue;
        ++placed;
        on.cluster->placed();
        on.cluster->release_one();
    }
    state.SetItemsProcessed(state.iterations());
    state.counters["placed_ratio"] = static_cast<double>(placed) / static_cast<double>(state.iterations());
}

/// The first decision of an allocator on a filled cluster. Making the allocator counts only if `with_index`.
void first(benchmark::State& state, const std::string& policy_name, std::int64_t nodes, bool with_index) {
    stage& on = stage_for(policy_name, nodes);
    for (auto unused : state) {
        static_cast<void>(unused);
        state.PauseTiming();
        const auto policy = vgpubench::make_policy(policy_name, on.input);
        const auto& request = on.input.requests[on.cluster->next_request()];
        if (with_index) state.ResumeTiming();
        auto index = std::make_unique<vgpualloc::allocator>(
            on.cluster->book, vgpualloc::policy_pair{.node = policy.get(), .device = policy.get()});
        if (!with_index) state.ResumeTiming();
        benchmark::DoNotOptimize(index->decide(index->intern(request)));
        state.PauseTiming();
        index.reset();
        state.ResumeTiming();
    }
}

} // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    // In the order in which they share a filled cluster.
    for (const std::int64_t nodes : {std::int64_t{1'000}, std::int64_t{100'000}}) {
        for (const std::string policy : {"binpack", "fgd"}) {
            const std::string tail = "/" + policy + "/" + std::to_string(nodes) + "x8";
            const auto add = [&](const std::string& name, auto&& call, benchmark::TimeUnit unit) {
                benchmark::RegisterBenchmark((name + tail).c_str(), call)->Unit(unit);
            };
            add("steady", [=](benchmark::State& s) { steady(s, policy, nodes); }, benchmark::kMicrosecond);
            add(
                "first_decision", [=](benchmark::State& s) { first(s, policy, nodes, false); },
                benchmark::kMicrosecond);
            add(
                "index_and_first_decision", [=](benchmark::State& s) { first(s, policy, nodes, true); },
                benchmark::kMicrosecond);
            if (nodes == 1'000) {
                add("naive", [=](benchmark::State& s) { steady_naive(s, policy, nodes); }, benchmark::kMicrosecond);
            }
        }
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
