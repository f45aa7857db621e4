#include "vgpusim/bound/workload_packing.hpp"

#include <algorithm>

namespace vgpusim {

using vgpualloc::plan::lp_solver;
using vgpualloc::plan::packing_demand;
using vgpualloc::plan::packing_objective;
using vgpualloc::plan::packing_prices;

expected<workload_packing> workload_packing::of(const simulation_input& input) {
    std::vector<packing_demand> demand;
    for (std::size_t r = 0; r < input.requests.size(); ++r) {
        packing_demand& pods = demand.emplace_back();
        pods.request = &input.requests[r];
        // Requests that differ only in what the program leaves out share a type, so values are given to types later.
        pods.value_of_part.assign(pods.request->containers.size(), 0.0);
    }
    for (const arriving_pod& pod : input.pods) demand[pod.request].count += 1.0;
    auto packing = pack_cluster(input.nodes, demand, {.objective = packing_objective::given});
    if (!packing) return unexpected(std::move(packing.error()));
    workload_packing result;
    result.packing_ = *std::move(packing);
    result.all_entries_.reserve(result.types());
    for (const auto& type : result.packing_.program.types) result.all_entries_.push_back(type.demand);
    result.milli_.assign(result.types(), 0.0);
    for (std::size_t r = 0; r < input.requests.size(); ++r) {
        const requested_units& whole_pod = input.requested[r];
        const auto dimension =
            whole_pod.memory >= whole_pod.compute ? &requested_units::memory : &requested_units::compute;
        std::vector<std::int64_t> devices;
        for (const auto& container : input.requests[r].containers) {
            if (container.count > 0) devices.push_back(container.count);
        }
        const std::vector<std::uint32_t>& types = result.packing_.types_of_demand[r];
        auto& entries = result.entries_.emplace_back();
        for (std::size_t part = 0; part < types.size(); ++part) {
            entries.emplace_back(types[part], devices.empty() ? 1.0 : static_cast<double>(devices[part]));
            if (part >= input.requested.parts(r).size()) continue;
            double& milli = result.milli_[types[part]];
            const auto units = static_cast<double>(input.requested.parts(r)[part].*dimension);
            milli = std::max(milli, units * input.requested.milli_of_unit());
        }
    }
    return result;
}

std::vector<double> workload_packing::host_share(std::size_t resource) const {
    double all = 0.0;
    for (const auto& group : packing_.program.groups) all += group.host[resource];
    std::vector<double> result(types(), 0.0);
    if (all <= 0.0) return result;
    std::ranges::transform(packing_.program.types, result.begin(),
                           [&](const auto& type) { return type.host[resource] / all; });
    return result;
}

double workload_packing::sum_of(std::size_t request, const std::vector<double>& of_type) const {
    double sum = 0.0;
    for (const auto& [type, count] : entries_[request]) sum += count * of_type[type];
    return sum;
}

expected<packing_prices> workload_packing::solve(const std::vector<double>& value, const std::vector<double>& demand,
                                                 lp_solver& solver) {
    vgpualloc::plan::packing_program& program = packing_.program;
    for (std::size_t t = 0; t < value.size(); ++t) program.types[t].demand = demand[t];
    for (auto& devices : program.devices) {
        for (std::size_t part = 0; part < devices.type_of_part.size(); ++part) {
            devices.value_of_part[part] = value[devices.type_of_part[part]];
        }
    }
    for (auto& block : program.blocks) block.value = block.pods * value[block.type];
    return solve_packing_lp(program, solver);
}

expected<packing_cut> cut_at(std::vector<double> price, workload_packing& packing, lp_solver& solver) {
    const auto solved = packing.solve(price, packing.all_entries(), solver);
    if (!solved) return unexpected(solved.error());
    return packing_cut{.price = std::move(price), .most = solved->bound};
}

std::vector<double> costs_of(const packing_prices& prices, const std::vector<double>& value) {
    std::vector<double> result(value.size(), 0.0);
    for (std::size_t t = 0; t < value.size(); ++t) result[t] = std::max(0.0, value[t] - prices.type[t]);
    return result;
}

} // namespace vgpusim
