#include "vgpusim/bound/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "vgpualloc/plan/cluster_packing.hpp"
#include "vgpuformats/json.hpp"
#include "vgpusim/bound/forced.hpp"
#include "vgpusim/bound/steady.hpp"

namespace vgpusim {

using vgpualloc::plan::lp_solver;
using vgpualloc::plan::packing_demand;
using vgpualloc::plan::packing_objective;

namespace {

/// In which dimension what pods ask for is bounded.
using dimension = std::int64_t requested_units::*;
constexpr dimension dimensions[] = {&requested_units::memory, &requested_units::compute};

class solving {
public:
    solving(const simulation_input& input, lp_solver& solver) : input_{input}, solver_{solver} {}

    /// On what running pods ask for: that is the larger of two sums, so the larger of their bounds.
    [[nodiscard]] expected<lp_bound> served(const forced_pods* forced) const {
        expected<lp_bound> result;
        for (const dimension part : dimensions_that_differ()) {
            auto bound = solve(packing_objective::given, demand_of(forced, part), forced);
            if (!bound) return bound;
            if (part == dimensions[0] || bound->amount > result->amount) result = std::move(bound);
        }
        return result;
    }

    [[nodiscard]] expected<lp_bound> on(packing_objective objective) const {
        return solve(objective, demand_of(nullptr, dimensions[0]), nullptr);
    }

    [[nodiscard]] expected<exact_bound> exact(const bound_question& question) const {
        expected<exact_bound> result;
        for (const dimension part : dimensions_that_differ()) {
            auto bound = exact(question, part);
            if (!bound) return bound;
            if (part == dimensions[0] || bound->milli > result->milli) result = std::move(bound);
        }
        return result;
    }

    [[nodiscard]] milli_gpu total() const { return whole_gpu * device_count(input_.nodes); }

private:
    /// Only the memory where every request asks for as much compute.
    [[nodiscard]] std::span<const dimension> dimensions_that_differ() const {
        for (std::size_t i = 0; i < input_.requested.size(); ++i) {
            if (input_.requested.served(i).memory != input_.requested.served(i).compute) return dimensions;
        }
        return std::span{dimensions}.first(1);
    }

    [[nodiscard]] std::vector<packing_demand> demand_of(const forced_pods* forced, dimension part) const {
        std::vector<packing_demand> demand;
        for (std::size_t i = 0; i < input_.requests.size(); ++i) {
            packing_demand& pods = demand.emplace_back();
            pods.request = &input_.requests[i];
            pods.forced = forced == nullptr ? 0.0 : forced->of_request[i];
            for (const requested_units& units : input_.requested.served_parts(i)) {
                pods.value_of_part.push_back(static_cast<double>(units.*part) * input_.requested.milli_of_unit());
            }
        }
        for (const arriving_pod& pod : input_.pods) demand[pod.request].count += 1.0;
        return demand;
    }

    [[nodiscard]] expected<lp_bound> solve(packing_objective objective, const std::vector<packing_demand>& demand,
                                           const forced_pods* forced) const {
        auto packing = pack_cluster(input_.nodes, demand, {.objective = objective});
        if (!packing) return unexpected(std::move(packing.error()));
        auto prices = solve_packing_lp(packing->program, solver_);
        if (!prices) return unexpected(std::move(prices.error()));
        return lp_bound{.status = prices->status,
                        .amount = std::min(prices->bound, packing->total),
                        .forced_pods = forced == nullptr ? 0 : forced->pods,
                        .forced_load = forced == nullptr ? 0.0 : share(*forced),
                        .shortage = prices->shortage,
                        .rounds = prices->rounds,
                        .columns = prices->columns};
    }

    [[nodiscard]] expected<exact_bound> exact(const bound_question& question, dimension part) const {
        auto packing = pack_cluster(input_.nodes, demand_of(nullptr, part),
                                    {.objective = packing_objective::given, .by_node = true});
        if (!packing) return unexpected(std::move(packing.error()));
        if (!packing->pods_are_whole) {
            return unexpected(bad_value(error_code::unsupported, "--exact", "",
                                        "pods that want whole devices, or a part of one device: a pod that "
                                        "wants parts of several is not one unknown of an integer program"));
        }
        auto solved = solve_packing_exactly(
            packing->program, solver_, {.columns_max = question.columns_max, .limits = {.nodes = question.nodes_max}});
        if (!solved) {
            if (solved.error().code == error_code::unsupported) {
                solved.error() =
                    bad_value(error_code::unsupported, "--exact",
                              fmt::format("{} nodes, {} pods", input_.nodes.nodes.size(), input_.pods.size()),
                              fmt::format("a smaller case: of at most {} ways to fill the devices of all "
                                          "nodes",
                                          question.columns_max));
            }
            return unexpected(std::move(solved.error()));
        }
        return exact_bound{
            .status = solved->status, .milli = std::min(solved->bound, packing->total), .columns = solved->columns};
    }

    [[nodiscard]] double share(const forced_pods& forced) const {
        const std::int64_t all = device_count(input_.nodes) * input_.requested.whole();
        return all == 0 ? 0.0 : static_cast<double>(forced.asked.larger()) / static_cast<double>(all);
    }

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
    return bad_value(error_code::missing, field, "", "the summary.json of a run, which has it").at(path);
}

/// The number at gpu.KEY or pods.KEY of a summary.
expected<std::int64_t> number_in(const document& summary, const std::string& path, const char* group, const char* key) {
    const document* part = summary.find(group);
    const document* value = part == nullptr ? nullptr : part->find(key);
    const auto number = value == nullptr ? std::nullopt : value->integer();
    if (!number) return unexpected(no_summary(path, fmt::format("{}.{}", group, key)));
    return *number;
}

} // namespace

expected<bound_figures> bounds_of(const loaded_input& loaded, const bound_question& question, lp_solver& solver) {
    if (!loaded.input.running.empty()) {
        return unexpected(bad_value(error_code::unsupported, "start", question.config.start,
                                    "none with a bound, which knows no pods that keep their places"));
    }
    const simulation_input& input = loaded.input;
    const solving solve{input, solver};
    bound_figures figures{.solver = std::string{solver.name()}, .total_milli = solve.total().count()};
    wide_requested_units arrived;
    for (const arriving_pod& pod : input.pods) arrived += input.requested[pod.request];
    figures.arrived_milli = static_cast<double>(arrived.larger()) * static_cast<double>(whole_gpu.count()) /
                            static_cast<double>(input.requested.whole());
    figures.pods_leave =
        std::ranges::any_of(input.pods, [](const arriving_pod& pod) { return pod.duration.has_value(); });

    auto configuration = solve.served(nullptr);
    if (!configuration) return unexpected(std::move(configuration.error()));
    figures.configuration = *configuration;
    auto pods = solve.on(packing_objective::pods);
    if (!pods) return unexpected(std::move(pods.error()));
    figures.pods = pods->amount;
    if (input.has_device_memory) {
        auto memory = solve.on(packing_objective::memory_mib);
        if (!memory) return unexpected(std::move(memory.error()));
        figures.memory_mib = memory->amount;
        figures.memory_total_mib = memory_of(input);
    }
    if (const forced_pods sure = surely_placed(input); sure.pods > 0) {
        auto bound = solve.served(&sure);
        if (!bound) return unexpected(std::move(bound.error()));
        figures.work_conserving = *bound;
    }
    if (!figures.pods_leave && (question.forced_load || question.finished != nullptr)) {
        const std::size_t count = question.forced_load ? arrivals_up_to(input, *question.forced_load)
                                                       : placed_before_first_failure(*question.finished);
        const forced_pods prefix = first_arrivals(input, count);
        auto bound = solve.served(&prefix);
        if (!bound) return unexpected(std::move(bound.error()));
        figures.prefix = *bound;
        if (!question.forced_load) figures.prefix_policy = question.finished->config.policy;
    }
    if (question.exact) {
        auto exact = solve.exact(question);
        if (!exact) return unexpected(std::move(exact.error()));
        figures.exact = *exact;
    }
    if (figures.pods_leave) {
        figures.pool = replay_pool(input);
        figures.why_not_steady = why_not_steady(input, question.config);
        if (figures.why_not_steady.empty()) {
            auto steady = steady_bounds_of(input, question.config, question.finished, solver);
            if (!steady) return unexpected(std::move(steady.error()));
            figures.steady = *std::move(steady);
        }
    }
    if (question.finished != nullptr) figures.achieved = achieved_by(*question.finished, input);
    return figures;
}

std::size_t placed_before_first_failure(const run_record& record) {
    const auto failed = std::ranges::find(record.result.pods, no_booking, &pod_outcome::booking);
    return static_cast<std::size_t>(failed - record.result.pods.begin());
}

achieved_amount achieved_by(const run_record& record, const simulation_input& input) {
    const std::int64_t units = record.pods_leave ? record.result.served_peak : record.last.served.larger();
    const double milli = static_cast<double>(units) * static_cast<double>(whole_gpu.count()) /
                         static_cast<double>(record.requested_whole);
    achieved_amount result{.policy = record.config.policy, .milli = milli};
    if (!record.pods_leave) return result;
    std::vector<bool> placed;
    for (const pod_outcome& outcome : record.result.pods) placed.push_back(outcome.booking != no_booking);
    result.accepted = amounts_of(input, placed);
    return result;
}

expected<void> read_achieved(std::string_view text, const std::string& path, const loaded_input& loaded,
                             const run_config& config, bound_figures& figures) {
    const auto summary = vgpuformats::parse_json(text, path);
    if (!summary) return unexpected(summary.error());
    const document* policy = summary->find("policy");
    if (policy == nullptr || !policy->is_text()) return unexpected(no_summary(path, "policy"));
    const std::tuple<const char*, const char*, std::int64_t> equal[] = {
        {"gpu", "total_milli", figures.total_milli},
        {"gpu", "arrived_milli", std::llround(figures.arrived_milli)},
        {"pods", "arrived", static_cast<std::int64_t>(loaded.input.pods.size())}};
    for (const auto& [group, key, wanted] : equal) {
        const auto value = number_in(*summary, path, group, key);
        if (!value) return unexpected(value.error());
        if (*value == wanted) continue;
        return unexpected(bad_value(error_code::mismatch, fmt::format("{}.{}", group, key), fmt::format("{}", *value),
                                    fmt::format("{}, as of the workload that bounds are asked for", wanted))
                              .at(path));
    }
    const char* const key = figures.pods_leave ? "served_peak_ratio" : "served_ratio";
    const auto* const written = summary->find("gpu")->find(key);
    const auto ratio = written == nullptr ? std::nullopt : written->real();
    if (!ratio) return unexpected(no_summary(path, fmt::format("gpu.{}", key)));
    figures.achieved =
        achieved_amount{.policy = policy->text, .milli = *ratio * static_cast<double>(figures.total_milli)};
    if (figures.steady) return read_steady(*summary, path, config, *figures.steady);
    return {};
}

} // namespace vgpusim
