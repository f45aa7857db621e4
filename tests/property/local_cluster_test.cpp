// Whatever a local_cluster went through, it is what a fresh ledger with the same pods is, and decides as asking every
// node does.
#include "vgpualloc/local/local_cluster.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "alloc/reference.hpp"
#include "support.hpp"

namespace vgpualloc::property {
namespace {

local_node draw_described_node(const std::string& name) {
    local_node result{.name = name, .cpu = milli_cpu{number(2, 16) * 1000}, .memory = bytes{1 << 20}};
    const std::int64_t gpus = number(0, 3);
    for (std::int64_t i = 0; i < gpus; ++i) {
        device_registration gpu;
        gpu.uuid = name + std::to_string(i);
        gpu.model = one_of<std::string>({"A", "B"});
        gpu.mode = one_of<std::string>({"hami_core", "exclusive"});
        gpu.memory = mib{number(2, 5) * 1000};
        gpu.slots = number(1, 4);
        result.devices.push_back(std::move(gpu));
    }
    return result;
}

pod_request draw_small_request() {
    return {.cpu = milli_cpu{number(0, 4) * 1000},
            .memory = bytes{1},
            .containers = {{.count = number(0, 2), .memory = mib{number(0, 4) * 1000}, .cores = {}}}};
}

void expect_same_decision(local_cluster& cluster, const std::string& policy, const std::string& pod,
                          const pod_request& request) {
    std::vector<booking> live;
    for (const pod_id running : cluster.book().live_pods()) live.push_back(cluster.book().booking_of(running));
    const ledger fresh = ledger::rebuild(cluster.book().nodes(), live).value();
    RC_ASSERT(fresh.same_use(cluster.book()));
    const auto scorer = parse_policy(policy, native_policies, {}).value();
    reference_allocator reference{fresh, {.node = scorer.get(), .device = scorer.get()}};
    const auto expected = reference.decide(request);
    const auto decided = cluster.place(pod, request);
    RC_ASSERT(decided.has_value());
    RC_ASSERT(decided->fits() == expected.has_value());
    if (!expected) {
        RC_ASSERT(decided->refused == expected.error());
        return;
    }
    const node& chosen = fresh.nodes().nodes[expected->node.at()];
    RC_ASSERT(decided->node == chosen.name);
    RC_ASSERT(decided->shares.size() == expected->shares.size());
    for (std::size_t i = 0; i < decided->shares.size(); ++i) {
        RC_ASSERT(decided->shares[i].uuid == chosen.devices[expected->shares[i].device.at()].uuid);
        RC_ASSERT(decided->shares[i].part == expected->shares[i].part);
    }
}

TEST(local_cluster_property, is_what_a_fresh_cluster_with_the_same_pods_is) {
    hold("after any order of calls", [] {
        const auto policy = one_of<std::string>({"best_fit", "binpack", "fgd", "spread"});
        const auto cluster = local_cluster::make({.policy = policy}).value();
        const std::int64_t nodes = number(1, 4);
        for (std::int64_t i = 0; i < nodes; ++i) {
            RC_ASSERT(cluster->add_node(draw_described_node("n" + std::to_string(i))).has_value());
        }
        std::vector<std::string> placed;
        const std::int64_t steps = number(1, 24);
        for (std::int64_t step = 0; step < steps; ++step) {
            const std::string node = "n" + std::to_string(number(0, nodes - 1));
            const std::int64_t kind = number(0, 9);
            if (kind < 3 && !placed.empty()) {
                const auto gone = static_cast<std::size_t>(number(0, std::ssize(placed) - 1));
                RC_ASSERT(cluster->release(placed[gone]).has_value());
                placed.erase(placed.begin() + static_cast<std::ptrdiff_t>(gone));
            } else if (kind == 3) {
                RC_ASSERT(cluster->drain(node).has_value());
            } else if (kind == 4) {
                RC_ASSERT(cluster->restore(node).has_value());
            } else if (kind == 5) {
                const auto ordered = cluster->fail(node, node + "0"); // which need not be there
                RC_ASSERT((ordered.has_value() || ordered.error().field == "uuid"));
            } else if (kind == 6) {
                const auto attempt = cluster->begin_trial();
                for (const std::string& pod : placed) RC_ASSERT(cluster->release(pod).has_value());
                RC_ASSERT(cluster->place("tried", draw_small_request()).has_value());
                RC_ASSERT(cluster->remove_node(node).has_value());
            } else {
                const std::string pod = "p" + std::to_string(step);
                expect_same_decision(*cluster, policy, pod, draw_small_request());
                if (cluster->find(pod)) placed.push_back(pod);
            }
            std::ranges::sort(placed);
            RC_ASSERT(cluster->pods() == placed);
            cluster->book().check();
        }
    });
}

} // namespace
} // namespace vgpualloc::property
