// Nodes left in use against first fit decreasing that is written here, of pods with several devices, CPU and selectors.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "unit/support.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/plan/defragment.hpp"

namespace vgpualloc::plan {
namespace {

using test::add_node;
using test::gpu;
using test::want;

constexpr std::int64_t device_memory = 10'000;

struct some_pod {
    std::int64_t devices = 1;
    std::int64_t memory = 0; ///< of each device
    std::int64_t cores = 0;
    std::int64_t cpu = 0;
    std::size_t zone = 0; ///< 0: any
};

struct some_node {
    std::size_t devices = 1;
    std::int64_t cpu = 0;
    std::size_t zone = 1;
};

/// What is used, counted by this test alone.
struct node_use {
    std::vector<std::pair<std::int64_t, std::int64_t>> devices; ///< memory and compute
    std::int64_t cpu = 0;
    std::int64_t pods = 0;

    /// The first devices with room.
    [[nodiscard]] std::vector<std::size_t> room_for(const some_pod& pod, const some_node& on) const {
        std::vector<std::size_t> chosen;
        if (cpu + pod.cpu > on.cpu || (pod.zone != 0 && pod.zone != on.zone)) return {};
        for (std::size_t d = 0; d < devices.size() && std::ssize(chosen) < pod.devices; ++d) {
            const auto& [memory, cores] = devices[d];
            if (memory + pod.memory <= device_memory && cores + pod.cores <= 100) chosen.push_back(d);
        }
        return std::ssize(chosen) == pod.devices ? chosen : std::vector<std::size_t>{};
    }
    void add(const some_pod& pod, const std::vector<std::size_t>& chosen) {
        for (const std::size_t device : chosen) {
            devices[device].first += pod.memory;
            devices[device].second += pod.cores;
        }
        cpu += pod.cpu;
        ++pods;
    }
};

std::vector<node_use> nothing_on(const std::vector<some_node>& nodes) {
    std::vector<node_use> result;
    for (const some_node& node : nodes)
        result.push_back({.devices = std::vector<std::pair<std::int64_t, std::int64_t>>(node.devices)});
    return result;
}

class cluster_in_use {
public:
    explicit cluster_in_use(std::vector<some_node> described)
        : nodes_{std::move(described)}, use_{nothing_on(nodes_)}, book_{built(nodes_)} {}

    /// False, and nothing done, if the node has no room.
    bool run(const some_pod& pod, std::size_t node) {
        const auto chosen = use_[node].room_for(pod, nodes_[node]);
        if (chosen.empty()) return false;
        use_[node].add(pod, chosen);
        auto request = std::make_unique<pod_request>(test::pod({want(pod.devices, pod.memory, pod.cores)}, pod.cpu));
        request->memory = {};
        if (pod.zone != 0) request->rules.node_selector = {{"zone", std::to_string(pod.zone)}};
        const pod_id id{pods_.size()};
        booking entry{
            .owner = id, .cpu = request->cpu, .memory = {}, .where = {.node = node_index{node}, .shares = {}}};
        for (const std::size_t device : chosen) {
            const slice part{.memory = mib{pod.memory}, .cores = core_percent{pod.cores}};
            entry.where.shares.push_back(test::share_of_device(device, part));
        }
        EXPECT_TRUE(book_.reserve(entry) && book_.commit(id));
        movable_.push_back({.pod = id, .request = request.get()});
        requests_.push_back(std::move(request));
        pods_.push_back(pod);
        return true;
    }

    [[nodiscard]] std::int64_t left_by_plan(std::int64_t moves_max = 100'000) {
        const auto plan =
            consolidate(book_, movable_, emptied_unit::node, {.moves_max = moves_max, .steps_max = 100'000'000});
        EXPECT_TRUE(try_moves(book_, plan.planned, nullptr, pod_id{50'000}).has_value());
        EXPECT_LE(std::ssize(plan.planned.moves), moves_max);
        return plan.used - plan.emptied;
    }

    /// The fewest nodes of several orders of pods and of nodes, idle ones among them; none if no order has room for
    /// all.
    [[nodiscard]] std::optional<std::int64_t> left_by_first_fit() const {
        const auto share = [](const some_pod& pod) { return std::max(pod.memory, pod.cores * 100); };
        const std::array<std::function<std::pair<std::int64_t, std::int64_t>(const some_pod&)>, 5> keys{
            [&](const some_pod& pod) { return std::pair{pod.devices * share(pod), std::int64_t{0}}; },
            [&](const some_pod& pod) { return std::pair{pod.devices, share(pod)}; },
            [&](const some_pod& pod) {
                return std::pair{pod.devices * (pod.memory + pod.cores * 100), std::int64_t{0}};
            },
            [&](const some_pod& pod) { return std::pair{pod.devices * pod.memory, std::int64_t{0}}; },
            [&](const some_pod& pod) { return std::pair{pod.cpu, std::int64_t{0}}; }};
        std::vector<std::size_t> as_they_are(nodes_.size());
        std::iota(as_they_are.begin(), as_they_are.end(), 0U);
        std::vector<std::size_t> largest = as_they_are;
        std::ranges::stable_sort(largest, std::greater{}, [this](std::size_t n) { return nodes_[n].devices; });
        std::optional<std::int64_t> fewest;
        for (const auto& key : keys) {
            std::vector<some_pod> sorted = pods_;
            std::ranges::stable_sort(sorted, std::greater{}, key);
            for (const auto& order : {as_they_are, largest}) {
                const auto left = first_fit(sorted, order);
                if (left && (!fewest || *left < *fewest)) fewest = left;
            }
        }
        return fewest;
    }

private:
    static cluster built(const std::vector<some_node>& nodes) {
        cluster result;
        for (const some_node& node : nodes) {
            const node_index added = add_node(result, test::many(node.devices), milli_cpu{node.cpu});
            result.nodes[added.at()].host.labels = {{"zone", std::to_string(node.zone)}};
        }
        return result;
    }

    [[nodiscard]] std::optional<std::int64_t> first_fit(const std::vector<some_pod>& sorted,
                                                        const std::vector<std::size_t>& order) const {
        std::vector<node_use> use = nothing_on(nodes_);
        for (const some_pod& pod : sorted) {
            const auto at =
                std::ranges::find_if(order, [&](std::size_t n) { return !use[n].room_for(pod, nodes_[n]).empty(); });
            if (at == order.end()) return std::nullopt;
            use[*at].add(pod, use[*at].room_for(pod, nodes_[*at]));
        }
        return std::ranges::count_if(use, [](const node_use& node) { return node.pods > 0; });
    }

    std::vector<some_node> nodes_;
    std::vector<node_use> use_;
    ledger book_;
    std::vector<std::unique_ptr<pod_request>> requests_;
    std::vector<movable_pod> movable_;
    std::vector<some_pod> pods_;
};

cluster_in_use draw_cluster(rng& stream) {
    const bool has_tight_hosts = stream.below(3) == 0;
    const std::uint64_t zones = 1 + stream.below(3);
    std::vector<some_node> nodes(10 + stream.below(15));
    for (some_node& node : nodes) {
        node.devices = std::size_t{1} << stream.below(4);
        node.cpu = has_tight_hosts ? 8000 : 64'000;
        node.zone = 1 + stream.below(zones);
    }
    cluster_in_use result{nodes};
    const std::uint64_t pods = nodes.size() * (1 + stream.below(8));
    for (std::uint64_t i = 0; i < pods; ++i) {
        const some_pod pod{.devices = static_cast<std::int64_t>(1 + stream.below(4) / 3),
                           .memory = static_cast<std::int64_t>(500 + stream.below(19) * 500),
                           .cores = static_cast<std::int64_t>(5 + stream.below(8) * 10),
                           .cpu = std::int64_t{500} << stream.below(4),
                           .zone = stream.below(4) == 0 ? 1 + stream.below(zones) : 0};
        static_cast<void>(result.run(pod, stream.below(nodes.size())));
    }
    return result;
}

TEST(consolidate, is_no_worse_than_first_fit_decreasing_of_several_devices_cpu_and_selectors) {
    rng stream{300};
    for (int round = 0; round < 15; ++round) { // 60 pass as well, and take minutes under the sanitizers
        cluster_in_use cluster = draw_cluster(stream);
        const auto fewest = cluster.left_by_first_fit();
        if (!fewest) continue;
        const std::int64_t left = cluster.left_by_plan();
        EXPECT_LE(left, *fewest) << round;
        if (round < 4) {
            EXPECT_GE(cluster.left_by_plan(9), left) << round;
        }
    }
}

TEST(consolidate, two_small_nodes_are_left_for_a_larger_idle_one) {
    cluster_in_use cluster{
        {{.devices = 1, .cpu = 64'000}, {.devices = 1, .cpu = 64'000}, {.devices = 2, .cpu = 64'000}}};
    ASSERT_TRUE(cluster.run({.memory = 9000, .cores = 10, .cpu = 500}, 0));
    ASSERT_TRUE(cluster.run({.memory = 8000, .cores = 10, .cpu = 500}, 1));
    EXPECT_EQ(cluster.left_by_plan(), 1);
}

} // namespace
} // namespace vgpualloc::plan
