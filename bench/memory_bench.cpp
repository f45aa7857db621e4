// Memory per node of the ledger and the allocator: every block that operator new gives is counted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include <malloc.h>

#include <benchmark/benchmark.h>

#include "synthetic.hpp"

namespace {

std::size_t live_bytes = 0;

void* counted(std::size_t size) {
    void* block = std::malloc(size == 0 ? 1 : size);
    if (block == nullptr) throw std::bad_alloc{};
    live_bytes += malloc_usable_size(block);
    return block;
}

void uncounted(void* block) noexcept {
    if (block == nullptr) return;
    live_bytes -= malloc_usable_size(block);
    std::free(block);
}

/// One cluster from empty to filled. The time it takes says nothing; the counters are the result.
void bytes_per_node(benchmark::State& state) {
    const std::int64_t nodes = state.range(0);
    const auto per_node = [nodes](std::size_t bytes) {
        return static_cast<double>(bytes) / static_cast<double>(nodes);
    };
    const vgpusim::simulation_input input = vgpubench::make_input(nodes, 0.7);
    const auto policy = vgpubench::make_policy("fgd", input);
    for (auto unused : state) {
        static_cast<void>(unused);
        const std::size_t begin = live_bytes;
        vgpubench::filled_cluster cluster{input};
        const std::size_t with_ledger = live_bytes;
        vgpualloc::allocator index{cluster.book, {.node = policy.get(), .device = policy.get()}};
        const std::size_t with_allocator = live_bytes;
        std::vector<vgpualloc::request_id> requests;
        for (const auto& request : input.requests) requests.push_back(index.intern(request).value());
        for (const auto request : requests) benchmark::DoNotOptimize(index.decide(request));
        const std::size_t with_classes = live_bytes;
        std::int64_t placed = 0;
        for (std::size_t i = 0; i < input.pods.size(); ++i) {
            if (!index.place(cluster.book, cluster.free_id(), requests[cluster.next_request()])) continue;
            cluster.placed();
            ++placed;
        }
        const std::size_t filled = live_bytes;
        state.counters["ledger"] = per_node(with_ledger - begin);
        state.counters["allocator"] = per_node(with_allocator - with_ledger);
        state.counters["all_classes"] = per_node(with_classes - with_allocator);
        state.counters["filling"] = per_node(filled - with_classes);
        state.counters["total"] = per_node(filled - begin);
        state.counters["classes"] = static_cast<double>(input.requests.size());
        state.counters["pods"] = static_cast<double>(placed);
        state.counters["configs"] = static_cast<double>(index.config_count());
    }
}

} // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* block) noexcept { uncounted(block); }
void operator delete[](void* block) noexcept { uncounted(block); }
void operator delete(void* block, std::size_t) noexcept { uncounted(block); }
void operator delete[](void* block, std::size_t) noexcept { uncounted(block); }

BENCHMARK(bytes_per_node)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
