#include "least_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "vgpualloc/plan/cluster_packing.hpp"

namespace vgpuops::whatif {

namespace plan = vgpualloc::plan;

namespace {

/// What pods ask for together of hosts and devices, as far as it adds up.
class amounts {
public:
    void add(const vgpualloc::pod_request& request, std::int64_t pods) {
        const auto times = static_cast<double>(pods);
        pods_ += times;
        cpu_ += times * static_cast<double>(request.cpu.count());
        memory_ += times * static_cast<double>(request.memory.count());
        for (const vgpualloc::device_request& container : request.containers) {
            const double devices = times * static_cast<double>(container.count);
            if (container.memory_percent || !container.profile.empty()) continue;
            device_memory_ += devices * static_cast<double>(container.memory.count());
            if (container.memory == vgpualloc::mib{0}) whole_devices_ += devices;
        }
    }

    /// How many nodes have as much; at least one where there are pods.
    [[nodiscard]] std::int64_t nodes_like(const vgpualloc::node& kind, const vgpualloc::cluster& cluster) const {
        if (pods_ == 0.0) return 0;
        double device_memory = 0.0;
        bool are_exclusive = true;
        for (const vgpualloc::device& device : kind.devices) {
            const vgpualloc::device_spec& spec = cluster.kinds[device.kind];
            device_memory += static_cast<double>(spec.memory.count());
            are_exclusive = are_exclusive && spec.mode->name() == "exclusive";
        }
        double nodes = 1.0;
        const auto need = [&nodes](double sum, double of_one) {
            constexpr double rounding = 1e-12; // of sums that are too large to be exact
            if (of_one > 0.0) nodes = std::max(nodes, std::ceil(sum / of_one * (1.0 - rounding)));
        };
        need(pods_, static_cast<double>(kind.pods_max));
        need(cpu_, static_cast<double>(kind.cpu.count()));
        need(memory_, static_cast<double>(kind.memory.count()));
        need(device_memory_, device_memory);
        if (are_exclusive) need(whole_devices_, static_cast<double>(kind.devices.size()));
        return static_cast<std::int64_t>(nodes);
    }

private:
    double pods_ = 0.0;
    double cpu_ = 0.0;           ///< mCPU
    double memory_ = 0.0;        ///< bytes
    double device_memory_ = 0.0; ///< MiB
    double whole_devices_ = 0.0;
};

/// Whether so many nodes of the kind may hold the pods: only `false` is certain.
bool may_hold(const std::vector<plan::packing_demand>& demand, const node_kind& kind, vgpualloc::cluster& cluster,
              std::int64_t count, plan::lp_solver& solver) {
    constexpr std::int64_t search_max = 20'000; // nodes of the search over integers
    cluster.nodes.assign(static_cast<std::size_t>(count), kind.described);
    for (std::size_t i = 0; i < cluster.nodes.size(); ++i) cluster.nodes[i].name += "-" + std::to_string(i);
    auto packing = plan::pack_cluster(cluster, demand, {.objective = plan::packing_objective::pods, .by_node = true});
    if (!packing) return true;
    const auto solution = plan::solve_packing_exactly(packing->program, solver, {.limits = {.nodes = search_max}});
    return !solution || solution->status != plan::lp_status::infeasible;
}

} // namespace

std::int64_t nodes_by_amounts(std::span<const vgpualloc::counted_request> pods, const node_kind& kind,
                              const vgpualloc::cluster& nodes) {
    amounts wanted;
    for (const auto& [request, count] : pods) wanted.add(request, count);
    return wanted.nodes_like(kind.described, nodes);
}

std::int64_t nodes_by_program(std::span<const vgpualloc::counted_request> pods, const node_kind& kind,
                              const vgpualloc::cluster& nodes, std::int64_t least, std::int64_t most,
                              plan::lp_solver& solver) {
    constexpr std::int64_t nodes_max = 64; // equal nodes can be told apart in as many ways as they can be ordered
    if (most > nodes_max) return least;
    std::vector<plan::packing_demand> demand;
    for (const auto& [request, count] : pods) {
        const auto wanted = static_cast<double>(count);
        demand.push_back({.request = &request, .count = wanted, .forced = wanted});
    }
    vgpualloc::cluster cluster = nodes;
    // Most often one node less is too few, and then nothing else has to be solved.
    if (most > least && !may_hold(demand, kind, cluster, most - 1, solver)) return most;
    std::int64_t enough = std::max(most - 1, least);
    while (enough > least) {
        const std::int64_t middle = least + (enough - least) / 2;
        if (may_hold(demand, kind, cluster, middle, solver)) {
            enough = middle;
        } else {
            least = middle + 1;
        }
    }
    return least;
}

} // namespace vgpuops::whatif
