#include "vgpusim/workload/offered_load.hpp"

#include <cstdint>
#include <span>

#include <fmt/format.h>

namespace vgpusim {

namespace {

using wide = wide_integer;

/// What the offered load is made of.
struct demand {
    wide unit_ticks = 0; ///< asked for by the pods that leave, times their durations: in the larger dimension
    ticks span;          ///< from the first arrival to the last
};

demand demand_of(const simulation_input& input) {
    demand result;
    wide_requested_units sum;
    for (const arriving_pod& pod : std::span{input.pods}.subspan(input.running.size())) {
        if (!pod.duration) continue;
        sum += input.requested[pod.request].as<wide>().times(pod.duration->count());
    }
    result.unit_ticks = sum.larger();
    if (!input.pods.empty()) result.span = input.pods.back().arrival - input.pods.front().arrival;
    return result;
}

double units_of(const simulation_input& input, milli_gpu gpus) {
    return static_cast<double>(gpus.count() / whole_gpu.count() * input.requested.whole());
}

error impossible(const char* expectation) {
    return bad_value(error_code::unsupported, "offered_load", "", expectation);
}

} // namespace

std::optional<double> offered_load_of(const simulation_input& input, milli_gpu gpus) {
    const demand total = demand_of(input);
    if (total.unit_ticks == 0 || gpus == milli_gpu{} || total.span <= ticks{0}) return std::nullopt;
    return static_cast<double>(total.unit_ticks) / units_of(input, gpus) / static_cast<double>(total.span.count());
}

expected<void> set_offered_load(simulation_input& input, milli_gpu gpus, double target) {
    const demand total = demand_of(input);
    if (gpus == milli_gpu{}) return unexpected(impossible("the cluster has no GPUs to load"));
    if (total.unit_ticks == 0) {
        return unexpected(impossible("no pod that asks for a GPU leaves, so that there is no load to set"));
    }
    if (total.span <= ticks{0}) {
        return unexpected(impossible("all pods arrive at one instant, which nothing can move apart"));
    }
    constexpr double span_max = 1e18; // 10^12 seconds
    const double exact = static_cast<double>(total.unit_ticks) / units_of(input, gpus) / target;
    if (!(exact >= 0.5 && exact <= span_max)) {
        error failure = impossible("a load at which the arrivals span between a microsecond and 10^12 seconds");
        failure.value = fmt::format("{}", target);
        return unexpected(failure);
    }
    const auto span = static_cast<std::int64_t>(exact + 0.5);
    const ticks begin = input.pods.front().arrival;
    for (arriving_pod& pod : input.pods) {
        const wide after = wide{(pod.arrival - begin).count()} * span;
        const auto half = wide{total.span.count() / 2};
        pod.arrival = begin + ticks{static_cast<std::int64_t>((after + half) / total.span.count())};
    }
    return {};
}

} // namespace vgpusim
