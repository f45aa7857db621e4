// Bounds of whole clusters against a search through every placement of every subset of pods.
#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "support.hpp"

#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/plan/cluster_packing.hpp"
#include "vgpualloc/solver/highs.hpp"

namespace {

using namespace vgpualloc;
using namespace vgpualloc::plan;
using namespace test;

/// The most milli-GPU that any placement of any of the pods uses, asked of the devices' mode alone.
class every_placement {
public:
    every_placement(const cluster& nodes, std::vector<const pod_request*> pods)
        : nodes_{nodes}, pods_{std::move(pods)} {
        for (const node& described : nodes.nodes) {
            cpu_.push_back(described.cpu.count());
            states_.emplace_back(described.devices.size());
        }
    }

    [[nodiscard]] std::int64_t best() {
        place(0, 0);
        return best_;
    }

private:
    void place(std::size_t pod, std::int64_t used) {
        best_ = std::max(best_, used);
        if (pod == pods_.size()) return;
        place(pod + 1, used);
        const pod_request& request = *pods_[pod];
        for (std::size_t n = 0; n < states_.size(); ++n) {
            if (request.cpu.count() > cpu_[n]) continue;
            cpu_[n] -= request.cpu.count();
            const std::int64_t parts = request.containers.empty() ? 0 : request.containers[0].count;
            take(pod, n, 0, parts, used);
            cpu_[n] += request.cpu.count();
        }
    }

    /// So many devices more of the node, from that one on.
    void take(std::size_t pod, std::size_t n, std::size_t first, std::int64_t parts, std::int64_t used) {
        if (parts == 0) return place(pod + 1, used);
        for (std::size_t d = first; d < states_[n].size(); ++d) {
            const device_spec& device = nodes_.spec_of(node_index{n}, device_index{d});
            std::vector<partition> choices;
            if (why_never(device, pods_[pod]->containers[0]) != rejection_code::none) continue;
            device.mode->candidates(device, states_[n][d], pods_[pod]->containers[0], choices);
            for (const partition& part : choices) {
                const device_state before = states_[n][d];
                states_[n][d] = device.mode->with(device, before, part);
                const auto added = device.mode->used(device, states_[n][d]) - device.mode->used(device, before);
                take(pod, n, d + 1, parts - 1, used + added.count());
                states_[n][d] = before;
            }
        }
    }

    const cluster& nodes_;
    std::vector<const pod_request*> pods_;
    std::vector<std::int64_t> cpu_;
    std::vector<std::vector<device_state>> states_;
    std::int64_t best_ = 0;
};

TEST(cluster_bound, exact_equals_every_placement_and_the_lp_is_no_less) {
    rng stream{20260101};
    const auto solver = solver::make_highs();
    for (int round = 0; round < 25; ++round) {
        cluster nodes;
        for (std::uint64_t n = 0; n < 1 + stream.below(2); ++n) {
            const std::string model = stream.below(2) == 0 ? "A" : "B";
            add_node(nodes, many(1 + stream.below(2), gpu(model)),
                     milli_cpu{static_cast<std::int64_t>(stream.below(6)) * 1000});
        }
        std::vector<pod_request> requests;
        for (int i = 0; i < 4; ++i) {
            pod_request request;
            request.cpu = milli_cpu{static_cast<std::int64_t>(stream.below(3)) * 1000};
            const std::uint64_t kind = stream.below(5);
            if (kind == 0) request.containers = {want(2, 10000)};
            if (kind == 1) request.containers = {want(1, 10000)};
            if (kind > 1) request.containers = {want(1, static_cast<std::int64_t>(1 + stream.below(9)) * 1000)};
            if (stream.below(3) == 0) request.containers[0].models = {"A"};
            requests.push_back(std::move(request));
        }
        std::vector<packing_demand> demand;
        std::vector<const pod_request*> pods;
        for (const pod_request& request : requests) {
            const auto count = static_cast<std::int64_t>(1 + stream.below(2));
            demand.push_back({.request = &request, .count = static_cast<double>(count)});
            for (std::int64_t i = 0; i < count; ++i) pods.push_back(&request);
        }
        const auto best = static_cast<double>(every_placement{nodes, pods}.best());
        const auto by_node = pack_cluster(nodes, demand, {.by_node = true}).value();
        ASSERT_TRUE(by_node.pods_are_whole);
        const auto exact = solve_packing_exactly(by_node.program, *solver).value();
        EXPECT_NEAR(exact.objective, best, 1e-6) << round;
        const auto lp = solve_packing_lp(pack_cluster(nodes, demand)->program, *solver).value();
        EXPECT_GE(lp.bound, best - 1e-6) << round;
    }
}

} // namespace
