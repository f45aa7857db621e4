#include "vgpualloc/plan/price_program.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>

#include "vgpualloc/plan/cluster_packing.hpp"
#include "vgpualloc/plan/packing_lp.hpp"

namespace vgpualloc::plan {

namespace {

std::int64_t thousandths(double price) { return std::llround(price * 1000.0); }

/// The least that one entry of each type's demand is worth on any device that serves it; 0 where none does.
std::vector<double> values_of_types(const packing_program& program) {
    std::vector<std::optional<double>> values(program.types.size());
    const auto take = [&values](std::uint32_t type, double value) {
        values[type] = std::min(values[type].value_or(value), value);
    };
    for (const packing_devices& devices : program.devices) {
        for (std::size_t part = 0; part < devices.type_of_part.size(); ++part) {
            take(devices.type_of_part[part], devices.value_of_part[part]);
        }
    }
    for (const packing_block& block : program.blocks) take(block.type, block.value.value_or(0.0) / block.pods);
    std::vector<double> result;
    for (const std::optional<double>& value : values) result.push_back(value.value_or(0.0));
    return result;
}

/// What all of the demand is worth; 0 where none of it takes devices.
double worth_of_demand(const packing_program& program) {
    const std::vector<double> values = values_of_types(program);
    double worth = 0.0;
    for (std::size_t t = 0; t < values.size(); ++t) worth += program.types[t].demand * values[t];
    return worth;
}

void scale_demand(packing_program& program, double factor) {
    for (packing_type& type : program.types) type.demand *= factor;
}

void add_part(const device_request& request, double worth, price_table::device_prices& into) {
    if (thousandths(worth) <= 0) return;
    const worthy_part part{.request = request, .worth = thousandths(worth)};
    if (std::ranges::find(into.parts, part) == into.parts.end()) into.parts.push_back(part);
}

/// Prices the kinds of device that are worth something and have no price yet.
void add_prices(const cluster& nodes, const cluster_packing& packing, const packing_prices& prices, price_table& into) {
    for (std::size_t c = 0; c < packing.program.devices.size(); ++c) {
        const packing_devices& of_class = packing.program.devices[c];
        auto& entry = into.entry_of(nodes.kinds[packing.kind_of_class[c]]);
        if (entry.idle > 0 || thousandths(prices.theta[c]) <= 0) continue;
        entry.idle = thousandths(prices.theta[c]);
        for (std::size_t part = 0; part < of_class.type_of_part.size(); ++part) {
            const std::uint32_t type = of_class.type_of_part[part];
            device_request request = packing.part_of_type[type];
            request.count = 1;
            request.units = 1;
            request.memory_of_first = false; // of one device that is nothing to ask for
            add_part(request, of_class.value_of_part[part] - prices.type[type], entry);
        }
    }
}

void add_premiums(const cluster& nodes, const cluster_packing& packing, const packing_prices& prices,
                  price_table& into) {
    const auto [least, most] = std::ranges::minmax(prices.theta);
    if (most <= 0.0) return;
    for (std::size_t c = 0; c < prices.theta.size(); ++c) {
        auto& entry = into.entry_of(nodes.kinds[packing.kind_of_class[c]]);
        entry.premium = std::max(entry.premium, thousandths((prices.theta[c] - least) / most));
    }
}

/// What a pod wants of devices, whatever their models.
std::vector<device_request> without_names(const pod_request& request) {
    std::vector<device_request> containers;
    for (const device_request& container : request.containers) {
        containers.push_back(without_models(container));
        containers.back().uuids_allowed.clear();
        containers.back().uuids_denied.clear();
    }
    return containers;
}

error no_solution(const lp_solver& solver, lp_status status) {
    return bad_value(error_code::unsupported, "prices", to_string(status),
                     "a workload whose packing program can be solved")
        .at(std::string{solver.name()});
}

/// What the most asked for want of devices: other pods say little of what rests are worth, and with hundreds of sizes
/// the programs take minutes.
weighted_pods most_wanted(const weighted_pods& demand) {
    constexpr std::size_t kinds_max = 64;
    std::map<std::vector<device_request>, double> weight;
    for (const auto& [request, count] : demand) weight[without_names(*request)] += count;
    if (weight.size() <= kinds_max) return demand;
    std::vector<std::pair<std::vector<device_request>, double>> by_weight(weight.begin(), weight.end());
    std::ranges::stable_sort(by_weight, std::greater{}, [](const auto& kind) { return kind.second; });
    for (const auto& [containers, count] : std::span{by_weight}.subspan(kinds_max)) weight.erase(containers);
    weighted_pods result;
    std::ranges::copy_if(demand, std::back_inserter(result),
                         [&weight](const auto& pods) { return weight.contains(without_names(*pods.first)); });
    return result;
}

/// Of one program after another, each with more demand, until every kind of device that serves pods is scarce, what
/// `take` makes of the solutions. It says whether it needs no more.
template <class Take>
expected<void> solve_until_scarce(const cluster& nodes, const weighted_pods& demand, bool any_model, lp_solver& solver,
                                  const Take& take) {
    std::vector<packing_demand> entries;
    for (const auto& [request, count] : demand) entries.push_back({.request = request, .count = count});
    auto packing = pack_cluster(nodes, entries, {.any_model = any_model, .pooled = true, .least_value = true});
    if (!packing) return unexpected(std::move(packing.error()));
    const double worth = worth_of_demand(packing->program);
    if (worth <= 0.0) return {};
    scale_demand(packing->program, packing->total / worth);
    double load = 1.0;
    for (const double wanted : {1.0, 1.02, 1.04, 1.08, 1.16, 1.32, 1.64, 2.28}) {
        scale_demand(packing->program, wanted / load);
        load = wanted;
        const auto prices = solve_packing_lp(packing->program, solver);
        if (!prices) return unexpected(prices.error());
        if (prices->status != lp_status::optimal) return unexpected(no_solution(solver, prices->status));
        if (take(*packing, *prices)) return {};
    }
    return {};
}

} // namespace

expected<price_table> solve_prices(const cluster& nodes, const weighted_pods& demand, lp_solver& solver) {
    workload target;
    for (const auto& [request, count] : demand) {
        target.typical.push_back({.cpu = request->cpu, .containers = request->containers, .frequency = count});
    }
    price_table result = prices_by_size(target, nodes);
    const weighted_pods wanted = most_wanted(demand);
    auto solved = solve_until_scarce(nodes, wanted, true, solver, [&](const auto& packing, const auto& prices) {
        add_prices(nodes, packing, prices, result);
        return std::ranges::all_of(result.devices, [](const auto& device) { return device.idle > 0; });
    });
    if (!solved) return unexpected(std::move(solved.error()));
    const bool names_any = std::ranges::any_of(wanted, [](const auto& pods) {
        return std::ranges::any_of(pods.first->containers, &device_request::names_models);
    });
    if (!names_any) return result;
    solved = solve_until_scarce(nodes, wanted, false, solver, [&](const auto& packing, const auto& prices) {
        add_premiums(nodes, packing, prices, result);
        return true;
    });
    if (!solved) return unexpected(std::move(solved.error()));
    return result;
}

expected<price_table> solve_prices(const cluster& nodes, const workload& demand, lp_solver& solver) {
    std::vector<pod_request> requests;
    for (const typical_request& pod : demand.typical) {
        requests.push_back({.cpu = pod.cpu, .memory = {}, .containers = pod.containers});
    }
    weighted_pods pods;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const typical_request& pod = demand.typical[i];
        pods.emplace_back(&requests[i], pod.weight > 0 ? static_cast<double>(pod.weight) : pod.frequency);
    }
    return solve_prices(nodes, pods, solver);
}

bool price_learner::is_due() const noexcept {
    const bool early = arrived_ < options_.every && std::has_single_bit(static_cast<std::uint64_t>(arrived_));
    return early || arrived_ % options_.every == 0;
}

expected<void> price_learner::note_arrival(const pod_request& request) {
    constexpr double increment_max = 1e100;
    // The host rules, tags and memory of a pod say nothing about devices.
    counts_[{.cpu = request.cpu, .memory = {}, .containers = request.containers}] += increment_;
    increment_ *= 1.0 + 1.0 / options_.window_arrivals;
    if (increment_ > increment_max) {
        for (auto& [pod, count] : counts_) count /= increment_;
        increment_ = 1.0;
    }
    ++arrived_;
    if (!is_due()) return {};
    weighted_pods demand;
    for (const auto& [pod, count] : counts_) demand.emplace_back(&pod, count / increment_);
    auto prices = solve_prices(*nodes_, demand, *solver_);
    if (!prices) return unexpected(std::move(prices.error()));
    ++solutions_;
    book_->replace(*std::move(prices));
    return {};
}

} // namespace vgpualloc::plan
