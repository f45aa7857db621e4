// One decision on 1,000 x 8 and 100,000 x 8 GPUs: in steady state, and the first one of a fresh index. Two clusters:
// openb's node kinds and request classes (synthetic.hpp), and the half-full A100s on which Volcano's own code was timed
// (anchor_cluster.hpp), where a decision is filter, score and place over all nodes.
//
// What is prepared before the clock of an anchor case starts:
//   anchor_steady     the allocator has answered each of 64 classes once. Then every step places a pod of a drawn class
//                     and releases another one, so no class is asked twice on an unchanged cluster, and configurations
//                     that come up are mostly new. The time is that of placing and releasing together.
//   anchor_named      the same where every request names devices; compare it with anchor_steady/hami_core.
//   anchor_cold       the cluster is booked, no two nodes alike, and an allocator was made from the ledger a moment
//   ago:
//                     it has read what is used of each device and given each node's devices an id. It has seen no
//                     request: no class, no outcome of any device or node, no configuration but the 1,000 that exist.
//                     Timed are interning the request, asking all nodes, placing. Releasing and making the next
//                     allocator are not.
//   anchor_made_cold  the same with making the allocator timed: only the ledger is there.
//   anchor_reference  nothing, ever: reference_allocator asks every node.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "alloc/reference.hpp"
#include "anchor_cluster.hpp"
#include "synthetic.hpp"
#include "vgpualloc/policy/binpack.hpp"

namespace {

using vgpubench::anchor_cluster;
using vgpubench::filled_cluster;
using vgpubench::naming;
using vgpubench::sharing;

constexpr double load = 0.7; // of all GPUs: most requests still fit, most nodes are partly used

/// A cluster filled under one policy. Kept from call to call, because filling 100,000 nodes takes seconds; only the
/// last one, because it takes memory.
struct stage {
    std::string policy_name;
    std::int64_t nodes = 0;
    bool ruled = false; ///< add_host_rules()
    vgpusim::simulation_input input;
    std::unique_ptr<filled_cluster> cluster;
};

stage& stage_for(const std::string& policy_name, std::int64_t nodes, bool ruled = false) {
    static std::unique_ptr<stage> last;
    if (!last || last->policy_name != policy_name || last->nodes != nodes || last->ruled != ruled) {
        last.reset();
        last = std::make_unique<stage>();
        last->policy_name = policy_name;
        last->nodes = nodes;
        last->ruled = ruled;
        last->input = vgpubench::make_input(nodes, load);
        if (ruled) vgpubench::add_host_rules(last->input);
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

void steady(benchmark::State& state, const std::string& policy_name, std::int64_t nodes, bool ruled) {
    stage& on = stage_for(policy_name, nodes, ruled);
    const auto policy = vgpubench::make_policy(policy_name, on.input);
    vgpualloc::allocator index{on.cluster->book, {.node = policy.get(), .device = policy.get()}};
    std::vector<vgpualloc::request_id> requests;
    for (const auto& request : on.input.requests) requests.push_back(index.intern(request).value());
    for (const auto request : requests) benchmark::DoNotOptimize(index.decide(request));
    place_and_release(state, on, [&](vgpualloc::pod_id pod, std::uint32_t request) {
        return index.place(on.cluster->book, pod, requests[request]).has_value();
    });
}

/// Books what the reference decides.
bool book(vgpualloc::ledger& in, vgpualloc::pod_id pod, const vgpualloc::pod_request& request,
          const vgpualloc::reference_allocator& reference) {
    auto decided = reference.decide(request);
    if (!decided) return false;
    const bool booked =
        in.reserve({.owner = pod, .cpu = request.cpu, .memory = request.memory, .where = *std::move(decided)})
            .has_value();
    return booked && in.commit(pod).has_value();
}

/// A node or device event and the decision after it: what of the work depends on the size of the cluster shows here.
void event_and_decision(benchmark::State& state, const std::string& policy_name, std::int64_t nodes, int event) {
    stage& on = stage_for(policy_name, nodes);
    const auto policy = vgpubench::make_policy(policy_name, on.input);
    vgpualloc::ledger& ledger = on.cluster->book;
    vgpualloc::allocator index{ledger, {.node = policy.get(), .device = policy.get()}};
    std::vector<vgpualloc::request_id> requests;
    for (const auto& request : on.input.requests) requests.push_back(index.intern(request).value());
    for (const auto request : requests) benchmark::DoNotOptimize(index.decide(request));
    vgpualloc::rng draw{11};
    vgpualloc::node removed;
    for (auto unused : state) {
        static_cast<void>(unused);
        const vgpualloc::node_index where{draw.below(static_cast<std::uint64_t>(nodes))};
        if (event == 0) { // a device fails, or is repaired
            const auto services = ledger.services(where);
            const auto next = services[0] == vgpualloc::service_state::failed ? vgpualloc::service_state::in_service
                                                                              : vgpualloc::service_state::failed;
            benchmark::DoNotOptimize(ledger.set_service(where, vgpualloc::device_index{0}, next).has_value());
        } else if (removed.name.empty() && ledger.is_present(where)) { // a node goes, and comes back the next time
            removed = ledger.nodes().nodes[where.at()];
            benchmark::DoNotOptimize(ledger.remove_node(where).has_value());
        } else if (!removed.name.empty()) {
            benchmark::DoNotOptimize(ledger.add_node(std::exchange(removed, {})).has_value());
        }
        benchmark::DoNotOptimize(index.decide(requests[static_cast<std::size_t>(draw.below(requests.size()))]));
        ledger.checkpoint(index.next_event());
    }
    if (!removed.name.empty()) benchmark::DoNotOptimize(ledger.add_node(removed).has_value());
    state.SetItemsProcessed(state.iterations());
}

void steady_reference(benchmark::State& state, const std::string& policy_name, std::int64_t nodes) {
    stage& on = stage_for(policy_name, nodes);
    const auto policy = vgpubench::make_policy(policy_name, on.input);
    vgpualloc::reference_allocator reference{on.cluster->book, {.node = policy.get(), .device = policy.get()}};
    std::int64_t placed = 0;
    for (auto unused : state) { // no warm-up: it remembers nothing
        static_cast<void>(unused);
        const auto request = on.cluster->next_request();
        reference.observe();
        if (!book(on.cluster->book, on.cluster->free_id(), on.input.requests[request], reference)) continue;
        ++placed;
        on.cluster->placed();
        on.cluster->release_one();
    }
    state.SetItemsProcessed(state.iterations());
    state.counters["placed_ratio"] = static_cast<double>(placed) / static_cast<double>(state.iterations());
}

/// The first decision of an allocator on a filled cluster. Making the allocator counts only if `with_index`.
void first(benchmark::State& state, const std::string& policy_name, std::int64_t nodes, bool with_index,
           bool ruled = false) {
    stage& on = stage_for(policy_name, nodes, ruled);
    for (auto unused : state) {
        static_cast<void>(unused);
        state.PauseTiming();
        const auto policy = vgpubench::make_policy(policy_name, on.input);
        const auto& request = on.input.requests[on.cluster->next_request()];
        if (with_index) state.ResumeTiming();
        auto index = std::make_unique<vgpualloc::allocator>(
            on.cluster->book, vgpualloc::policy_pair{.node = policy.get(), .device = policy.get()});
        if (!with_index) state.ResumeTiming();
        benchmark::DoNotOptimize(index->decide(index->intern(request).value()));
        state.PauseTiming();
        index.reset();
        state.ResumeTiming();
    }
}

/// Both paths must agree, or the times mean nothing.
void check_against_reference(anchor_cluster& on, vgpualloc::policy_pair policies, std::int64_t count) {
    vgpualloc::allocator index{on.book, policies};
    const vgpualloc::reference_allocator reference{on.book, policies};
    std::vector<vgpualloc::pod_request> requests = on.classes(count);
    requests.resize(4);
    requests.push_back(on.request(count != 0 ? count : 1));
    for (const auto& request : requests) {
        const auto fast = index.decide(index.intern(request).value());
        const auto slow = reference.decide(request);
        if (fast.has_value() && slow.has_value() && *fast == *slow) continue;
        std::fprintf(stderr, "bench: a request does not fit, or the allocator does not decide as the reference\n");
        std::exit(2);
    }
}

void anchor_steady(benchmark::State& state, sharing kind, std::int64_t count, naming names) {
    anchor_cluster on{{.kind = kind}};
    vgpualloc::policies::binpack policy;
    const vgpualloc::policy_pair policies{.node = &policy, .device = &policy};
    check_against_reference(on, policies, count);
    vgpualloc::allocator index{on.book, policies};
    std::vector<vgpualloc::request_id> requests;
    for (const auto& request : on.classes_naming(count, names)) requests.push_back(index.intern(request).value());
    vgpualloc::rng draw{7};
    std::vector<vgpualloc::pod_id> live;
    const auto place_one = [&](vgpualloc::pod_id pod, vgpualloc::request_id request) {
        if (index.place(on.book, pod, request)) live.push_back(pod);
    };
    constexpr std::size_t live_pods = 500;
    while (live.size() < live_pods) place_one(vgpualloc::pod_id{on.pods++}, requests[live.size() % requests.size()]);
    vgpualloc::pod_id spare{on.pods++};
    std::int64_t steps = 0;
    for (auto unused : state) {
        static_cast<void>(unused);
        place_one(spare, requests[static_cast<std::size_t>(draw.below(requests.size()))]);
        std::swap(live[static_cast<std::size_t>(draw.below(live.size()))], live.back());
        spare = live.back();
        live.pop_back();
        on.book.release(spare);
        ++steps;
    }
    if (live.size() != live_pods) state.SkipWithError("a pod found no place, so the load was not steady");
    state.SetItemsProcessed(steps);
    state.counters["classes"] = static_cast<double>(requests.size());
    state.counters["configs"] = static_cast<double>(index.config_count());
}

void anchor_cold(benchmark::State& state, sharing kind, std::int64_t count, bool make_timed) {
    anchor_cluster on{{.kind = kind}};
    vgpualloc::policies::binpack policy;
    const vgpualloc::policy_pair policies{.node = &policy, .device = &policy};
    check_against_reference(on, policies, count);
    const auto request = on.request(count);
    const vgpualloc::pod_id pod{on.pods++};
    std::unique_ptr<vgpualloc::allocator> index;
    for (auto unused : state) {
        static_cast<void>(unused);
        state.PauseTiming();
        if (on.book.is_live(pod)) on.book.release(pod);
        index.reset();
        if (make_timed) state.ResumeTiming();
        index = std::make_unique<vgpualloc::allocator>(on.book, policies);
        if (!make_timed) state.ResumeTiming();
        if (!index->place(on.book, pod, index->intern(request).value()))
            state.SkipWithError("the request does not fit");
    }
    state.SetItemsProcessed(state.iterations());
    state.counters["distinct_nodes"] = static_cast<double>(on.distinct_nodes());
}

void anchor_reference(benchmark::State& state, sharing kind, std::int64_t count) {
    anchor_cluster on{{.kind = kind}};
    vgpualloc::policies::binpack policy;
    const vgpualloc::reference_allocator reference{on.book, {.node = &policy, .device = &policy}};
    const auto request = on.request(count);
    const vgpualloc::pod_id pod{on.pods++};
    for (auto unused : state) {
        static_cast<void>(unused);
        if (!book(on.book, pod, request, reference)) state.SkipWithError("the request does not fit");
        state.PauseTiming();
        on.book.release(pod);
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.iterations());
}

void register_anchor_cases() {
    for (const sharing kind : {sharing::hami_core, sharing::mig_groups, sharing::mig}) {
        for (const std::int64_t count : {1, 4, 0}) { // 0: mixed
            const std::string tail =
                "/" + name_of(kind) + "/" + (count == 0 ? std::string{"mixed"} : std::to_string(count) + "x");
            const auto add = [&](const std::string& name, auto&& call) {
                benchmark::RegisterBenchmark((name + tail).c_str(), call)->Unit(benchmark::kMicrosecond);
            };
            add("anchor_steady", [=](benchmark::State& s) { anchor_steady(s, kind, count, naming::nothing); });
            if (count == 0) continue;
            add("anchor_cold", [=](benchmark::State& s) { anchor_cold(s, kind, count, false); });
            add("anchor_made_cold", [=](benchmark::State& s) { anchor_cold(s, kind, count, true); });
            add("anchor_reference", [=](benchmark::State& s) { anchor_reference(s, kind, count); });
        }
    }
    for (const naming names :
         {naming::denied_uuids, naming::allowed_uuids, naming::avoided_tag, naming::one_link_group}) {
        for (const std::int64_t count : {1, 4}) {
            const std::string name = "anchor_named/" + name_of(names) + "/" + std::to_string(count) + "x";
            const auto call = [=](benchmark::State& s) { anchor_steady(s, sharing::hami_core, count, names); };
            benchmark::RegisterBenchmark(name.c_str(), call)->Unit(benchmark::kMicrosecond);
        }
    }
}

} // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    register_anchor_cases();
    // In the order in which they share a filled cluster.
    for (const std::int64_t nodes : {std::int64_t{1'000}, std::int64_t{100'000}}) {
        for (const std::string policy : {"binpack", "fgd"}) {
            const std::string tail = "/" + policy + "/" + std::to_string(nodes) + "x8";
            const auto add = [&](const std::string& name, auto&& call, benchmark::TimeUnit unit) {
                benchmark::RegisterBenchmark((name + tail).c_str(), call)->Unit(unit);
            };
            add("steady", [=](benchmark::State& s) { steady(s, policy, nodes, false); }, benchmark::kMicrosecond);
            add(
                "device_event_and_decision", [=](benchmark::State& s) { event_and_decision(s, policy, nodes, 0); },
                benchmark::kMicrosecond);
            add(
                "node_event_and_decision", [=](benchmark::State& s) { event_and_decision(s, policy, nodes, 1); },
                benchmark::kMicrosecond);
            add(
                "first_decision", [=](benchmark::State& s) { first(s, policy, nodes, false); },
                benchmark::kMicrosecond);
            add(
                "index_and_first_decision", [=](benchmark::State& s) { first(s, policy, nodes, true); },
                benchmark::kMicrosecond);
            add("ruled_steady", [=](benchmark::State& s) { steady(s, policy, nodes, true); }, benchmark::kMicrosecond);
            add(
                "ruled_first_decision", [=](benchmark::State& s) { first(s, policy, nodes, false, true); },
                benchmark::kMicrosecond);
            if (nodes == 1'000) {
                add(
                    "reference", [=](benchmark::State& s) { steady_reference(s, policy, nodes); },
                    benchmark::kMicrosecond);
            }
        }
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
