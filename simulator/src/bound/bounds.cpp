#include "vgpusim/bound/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "vgpualloc/plan/cluster_packing.hpp"
#include "vgpuformats/json.hpp"
#include "vgpusim/bound/forced.hpp"

namespace vgpusim {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::milli_gpu;
using vgpualloc::unexpected;
using vgpualloc::plan::cluster_packing;
using vgpualloc::plan::cluster_packing_options;
using vgpualloc::plan::lp_solver;
using vgpualloc::plan::packing_demand;
using vgpualloc::plan::packing_objective;

namespace {

std::vector<packing_demand> demand_of(const simulation_input& input, const forced_pods* forced) {
    std::vector<packing_demand> demand;
    for (std::size_t i = 0; i < input.requests.size(); ++i) {
        demand.push_back({.request = &input.requests[i], .forced = forced == nullptr ? 0.0 : forced->of_request[i]});
    }
    for (const arriving_pod& pod : input.pods) demand[pod.request].count += 1.0;
    return demand;
}

class solving {
public:
    solving(const simulation_input& input, lp_solver& solver) : input_{input}, solver_{solver} {}

    expected<lp_bound> bound(packing_objective objective, const forced_pods* forced) const {
        auto packing = pack_cluster(input_.nodes, demand_of(input_, forced), {.objective = objective});
        if (!packing) return unexpected(std::move(packing.error()));
        auto prices = solve_packing_lp(packing->program, solver_);
        if (!prices) return unexpected(std::move(prices.error()));
        return lp_bound{.status = prices->status,
                        .amount = std::min(prices->bound, packing->total),
                        .forced_pods = forced == nullptr ? 0 : forced->pods,
                        .forced_load = forced == nullptr ? 0.0 : share(forced->milli),
                        .shortage = prices->shortage,
                        .rounds = prices->rounds,
                        .columns = prices->columns};
    }

    expected<exact_bound> exact(const bound_question& question) const {
        auto packing = pack_cluster(input_.nodes, demand_of(input_, nullptr), {.by_node = true});
        if (!packing) return unexpected(std::move(packing.error()));
        if (!packing->pods_are_whole) {
            return unexpected(error{.code = error_code::unsupported,
                                    .where = "",
                                    .field = "--exact",
                                    .value = "",
                                    .expected = "pods that want whole devices, or a part of one device: a pod that "
                                                "wants parts of several is not one unknown of an integer program"});
        }
        auto solved = solve_packing_exactly(
            packing->program, solver_, {.columns_max = question.columns_max, .limits = {.nodes = question.nodes_max}});
        if (!solved) {
            if (solved.error().code == error_code::unsupported) {
                solved.error() = {
                    .code = error_code::unsupported,
                    .where = "",
                    .field = "--exact",
                    .value = fmt::format("{} nodes, {} pods", input_.nodes.nodes.size(), input_.pods.size()),
                    .expected = fmt::format("a smaller case: of at most {} ways to fill the devices of all "
                                            "nodes",
                                            question.columns_max)};
            }
            return unexpected(std::move(solved.error()));
        }
        return exact_bound{
            .status = solved->status, .milli = std::min(solved->bound, packing->total), .columns = solved->columns};
    }

    [[nodiscard]] milli_gpu total() const {
        std::int64_t devices = 0;
        for (const vgpualloc::node& node : input_.nodes.nodes)
            devices += static_cast<std::int64_t>(node.devices.size());
        return vgpualloc::whole_gpu * devices;
    }
    [[nodiscard]] double share(milli_gpu amount) const {
        const milli_gpu all = total();
        return all.count() == 0 ? 0.0 : static_cast<double>(amount.count()) / static_cast<double>(all.count());
    }

private:
    const simulation_input& input_;
    lp_solver& solver_;
};

std::int64_t memory_of(const simulation_input& input) {
    std::int64_t memory_mib = 0;
    for (const vgpualloc::node& node : input.nodes.nodes) {
        for (const vgpualloc::device& device : node.devices) {
            memory_mib += input.nodes.kinds[device.kind].memory.count();
        }
    }
    return memory_mib;
}

error no_summary(const std::string& path, std::string field) {
    return {.code = error_code::missing,
            .where = path,
            .field = std::move(field),
            .value = "",
            .expected = "the summary.json of a run, which has it"};
}

/// The number at gpu.KEY or pods.KEY of a summary.
expected<std::int64_t> number_in(const vgpuformats::document& summary, const std::string& path, const char* group,
                                 const char* key) {
    const vgpuformats::document* part = summary.find(group);
    const vgpuformats::document* value = part == nullptr ? nullptr : part->find(key);
    const auto number = value == nullptr ? std::nullopt : value->integer();
    if (!number) return unexpected(no_summary(path, fmt::format("{}.{}", group, key)));
    return *number;
}

} // namespace

expected<bound_figures> bounds_of(const loaded_input& loaded, const bound_question& question, lp_solver& solver) {
    const simulation_input& input = loaded.input;
    const solving solve{input, solver};
    bound_figures figures{.solver = std::string{solver.name()}, .total_milli = solve.total().count()};
    for (const arriving_pod& pod : input.pods) figures.arrived_milli += input.requested[pod.request].count();
    figures.pods_leave =
        std::ranges::any_of(input.pods, [](const arriving_pod& pod) { return pod.duration.has_value(); });

    auto configuration = solve.bound(packing_objective::milli_gpu, nullptr);
    if (!configuration) return unexpected(std::move(configuration.error()));
    figures.configuration = *configuration;
    auto pods = solve.bound(packing_objective::pods, nullptr);
    if (!pods) return unexpected(std::move(pods.error()));
    figures.pods = pods->amount;
    if (input.has_device_memory) {
        auto memory = solve.bound(packing_objective::memory_mib, nullptr);
        if (!memory) return unexpected(std::move(memory.error()));
        figures.memory_mib = memory->amount;
        figures.memory_total_mib = memory_of(input);
    }
    if (const forced_pods sure = surely_placed(input); sure.pods > 0) {
        auto bound = solve.bound(packing_objective::milli_gpu, &sure);
        if (!bound) return unexpected(std::move(bound.error()));
        figures.work_conserving = *bound;
    }
    if (!figures.pods_leave && (question.forced_load || question.finished != nullptr)) {
        const std::size_t count = question.forced_load ? arrivals_up_to(input, *question.forced_load, solve.total())
                                                       : placed_before_first_failure(*question.finished);
        const forced_pods prefix = first_arrivals(input, count);
        auto bound = solve.bound(packing_objective::milli_gpu, &prefix);
        if (!bound) return unexpected(std::move(bound.error()));
        figures.prefix = *bound;
        if (!question.forced_load) figures.prefix_policy = question.finished->config.policy;
    }
    if (question.exact) {
        auto exact = solve.exact(question);
        if (!exact) return unexpected(std::move(exact.error()));
        figures.exact = *exact;
    }
    if (figures.pods_leave) figures.pool = replay_pool(input);
    if (question.finished != nullptr) figures.achieved = achieved_by(*question.finished, input);
    return figures;
}

std::size_t placed_before_first_failure(const run_record& record) {
    const auto failed = std::ranges::find(record.result.pods, no_booking, &pod_outcome::booking);
    return static_cast<std::size_t>(failed - record.result.pods.begin());
}

achieved_amount achieved_by(const run_record& record, const simulation_input& input) {
    achieved_amount result{.policy = record.config.policy, .milli = record.shown_state().allocated_milli};
    if (!record.pods_leave) return result;
    std::vector<bool> placed;
    for (const pod_outcome& outcome : record.result.pods) placed.push_back(outcome.booking != no_booking);
    result.accepted = amounts_of(input, placed);
    return result;
}

expected<achieved_amount> achieved_in(std::string_view text, const std::string& path, const loaded_input& loaded,
                                      const bound_figures& figures) {
    const auto summary = vgpuformats::parse_json(text, path);
    if (!summary) return unexpected(summary.error());
    const vgpuformats::document* policy = summary->find("policy");
    if (policy == nullptr || !policy->is_text()) return unexpected(no_summary(path, "policy"));
    const std::tuple<const char*, const char*, std::int64_t> equal[] = {
        {"gpu", "total_milli", figures.total_milli},
        {"gpu", "arrived_milli", figures.arrived_milli},
        {"pods", "arrived", static_cast<std::int64_t>(loaded.input.pods.size())}};
    for (const auto& [group, key, wanted] : equal) {
        const auto value = number_in(*summary, path, group, key);
        if (!value) return unexpected(value.error());
        if (*value == wanted) continue;
        return unexpected(error{.code = error_code::mismatch,
                                .where = path,
                                .field = fmt::format("{}.{}", group, key),
                                .value = fmt::format("{}", *value),
                                .expected = fmt::format("{}, as of the workload that bounds are asked for", wanted)});
    }
    achieved_amount result{.policy = policy->text};
    if (!figures.pods_leave) {
        const auto allocated = number_in(*summary, path, "gpu", "allocated_milli");
        if (!allocated) return unexpected(allocated.error());
        result.milli = *allocated;
        return result;
    }
    const auto* ratio = summary->find("gpu")->find("allocation_peak_ratio");
    const auto peak = ratio == nullptr ? std::nullopt : ratio->real();
    if (!peak) return unexpected(no_summary(path, "gpu.allocation_peak_ratio"));
    result.milli = std::llround(*peak * static_cast<double>(figures.total_milli));
    return result;
}

} // namespace vgpusim
