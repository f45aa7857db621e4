// Planning room for one blocked request on 1,000 nodes x 8 half-full GPUs, no two nodes alike: the search alone, with
// the ledger and the list of movable pods there, as `vgpusim plan` reports it.
//
// For every sharing and blocked request, once with pods that may all move and once where the search has to find out
// that there is no plan within its limits.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <benchmark/benchmark.h>

#include "anchor_cluster.hpp"
#include "vgpualloc/plan/defragment.hpp"

namespace {

using vgpualloc::device_request;
using vgpualloc::mib;
using vgpualloc::pod_request;
using vgpualloc::plan::movable_pod;
using vgpubench::anchor_cluster;
using vgpubench::sharing;

/// The cluster with what its pods asked for, told from what they have.
struct stage {
    anchor_cluster cluster;
    std::map<std::pair<std::int64_t, std::int64_t>, pod_request> requests; ///< by MiB and cores
    std::vector<movable_pod> movable;

    explicit stage(sharing kind) : cluster{{.kind = kind}} {
        for (const vgpualloc::pod_id pod : cluster.book.live_pods()) {
            const auto& booked = cluster.book.booking_of(pod);
            const auto& share = booked.where.shares[0];
            const auto& spec = cluster.book.nodes().spec_of(booked.where.node, share.device);
            const auto part = spec.mode->describe(spec, share.part);
            const bool is_slice = std::holds_alternative<vgpualloc::slice>(share.part);
            const std::int64_t memory = is_slice ? part.memory.count() : 4'096;
            const std::int64_t cores = is_slice ? part.cores.count() : 0;
            const auto [at, is_new] = requests.try_emplace({memory, cores});
            if (is_new) {
                at->second.cpu = booked.cpu;
                at->second.memory = booked.memory;
                at->second.containers = {{.count = 1, .memory = mib{memory}, .cores = vgpualloc::core_percent{cores}}};
            }
            movable.push_back({.pod = pod, .request = &at->second});
        }
    }
};

const stage& stage_of(sharing kind) {
    static std::map<sharing, std::unique_ptr<stage>> stages;
    auto& known = stages[kind];
    if (!known) known = std::make_unique<stage>(kind);
    return *known;
}

void find_room(benchmark::State& state, sharing kind, std::int64_t devices, std::int64_t memory_mib,
               std::int64_t moves_max, bool all_may_move) {
    const stage& on = stage_of(kind);
    pod_request blocked{.cpu = vgpualloc::milli_cpu{1000}, .memory = {}, .containers = {}};
    blocked.containers = {{.count = devices, .memory = mib{memory_mib}, .cores = {}}};
    const std::vector<movable_pod> none;
    const auto& movable = all_may_move ? on.movable : none;
    std::int64_t moves = -1;
    std::int64_t steps = 0;
    for (auto _ : state) {
        const auto room = vgpualloc::plan::find_room(on.cluster.book, blocked, movable, {.moves_max = moves_max});
        moves = room ? static_cast<std::int64_t>(room->planned.moves.size()) : -1;
        steps = room ? room->steps : room.error().steps;
        benchmark::DoNotOptimize(moves);
    }
    state.counters["moves"] = static_cast<double>(moves);
    state.counters["steps"] = static_cast<double>(steps);
}

void consolidate(benchmark::State& state, sharing kind, std::int64_t moves_max) {
    const stage& on = stage_of(kind);
    std::int64_t emptied = 0;
    for (auto _ : state) {
        const auto result = vgpualloc::plan::consolidate(
            on.cluster.book, on.movable, vgpualloc::plan::emptied_unit::device, {.moves_max = moves_max});
        emptied = result.emptied;
        benchmark::DoNotOptimize(emptied);
    }
    state.counters["emptied"] = static_cast<double>(emptied);
}

void add_cases() {
    for (const sharing kind : {sharing::hami_core, sharing::mig_groups, sharing::mig}) {
        const auto add = [&](const std::string& name, std::int64_t devices, std::int64_t memory_mib, std::int64_t moves,
                             bool all_may_move) {
            benchmark::RegisterBenchmark(
                ("find_room/" + vgpubench::name_of(kind) + "/" + name).c_str(),
                [=](benchmark::State& state) { find_room(state, kind, devices, memory_mib, moves, all_may_move); })
                ->Unit(benchmark::kMillisecond);
        };
        add("half_a_gpu", 1, 20'000, 3, true);
        add("one_gpu", 1, 39'000, 3, true);
        add("two_gpus", 2, 39'000, 8, true);
        add("eight_gpus", 8, 39'000, 24, true);
        add("eight_gpus_in_3_moves", 8, 39'000, 3, true);
        add("nobody_may_move", 8, 39'000, 3, false);
        benchmark::RegisterBenchmark(("consolidate/" + vgpubench::name_of(kind) + "/100_moves").c_str(),
                                     [=](benchmark::State& state) { consolidate(state, kind, 100); })
            ->Unit(benchmark::kMillisecond);
    }
}

} // namespace

int main(int argc, char** argv) {
    add_cases();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
