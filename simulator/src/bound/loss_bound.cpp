#include "vgpusim/bound/loss_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace vgpusim {

namespace {

constexpr double never_ends = std::numeric_limits<double>::infinity();
constexpr auto whole_milli = static_cast<double>(whole_gpu.count());

/// Where averages may begin, and how the end may count: any choice gives a bound, and the least one is taken. A cluster
/// that is empty at first fills within a few mean durations.
constexpr int begins_tried = 13;
constexpr double begins_per_duration = 2.0;
/// Multiples of prices that are tried: the least bound of those that know durations is where the longest pods of a
/// request are not worth their time.
constexpr double scales_tried[] = {0.25, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0};

std::vector<time_weights> all_weights(const lossy_workload& workload) {
    std::vector<time_weights> result;
    for (int i = 0; i < begins_tried; ++i) {
        const double from = static_cast<double>(i) / begins_per_duration * workload.mean_duration_s;
        if (from >= workload.until_s) break;
        for (const double at_end : {0.0, workload.mean_duration_s}) {
            result.push_back({.from = from, .until = workload.until_s, .at_end = at_end});
        }
    }
    return result;
}

/// What a pod's run counts where its duration is known.
double known_time(const lossy_workload&, const lossy_pod& pod, const time_weights& weights) {
    return weights.of(pod.arrival_s, pod.arrival_s + pod.duration_s);
}

/// What it counts on average where its duration is one of its request's.
double mean_time(const lossy_workload& workload, const lossy_pod& pod, const time_weights& weights) {
    const known_durations& durations = workload.durations[pod.request];
    const double left = weights.until - pod.arrival_s;
    const double before = std::max(0.0, weights.from - pod.arrival_s);
    return durations.mean_up_to(left) - durations.mean_up_to(before) +
           weights.at_end * durations.share_longer_than(left);
}

/// What pods of each request cost in a second, by the prices of the condition.
std::vector<double> prices_by_request(const lossy_workload& workload, const workload_packing& packing,
                                      const packing_cut& cut) {
    std::vector<double> result;
    for (std::size_t r = 0; r < workload.durations.size(); ++r) result.push_back(packing.sum_of(r, cut.price));
    return result;
}

/// For every policy the prices of the pods that it accepts, each for the time that it counts, sum up to at most `most`
/// for the time of all weights. So what it accepts is at most that and what each pod is worth beyond its price.
template <class Time>
accepted_bound least_accepted(const lossy_workload& workload, const workload_packing& packing,
                              std::span<const packing_cut> cuts, const Time& time_of) {
    accepted_bound best; // with prices of 0: all that can run
    for (const lossy_pod& pod : workload.pods) best.gpus += pod.counted_gpus;
    if (workload.mean_duration_s <= 0.0) return best;
    // Prices are for a second, and a pod is worth its GPUs only once.
    std::vector<double> scales;
    for (const double scale : scales_tried) scales.push_back(scale / workload.mean_duration_s);
    const std::vector<time_weights> weights = all_weights(workload);
    for (std::size_t c = 0; c < cuts.size(); ++c) {
        if (!std::isfinite(cuts[c].most)) continue;
        const std::vector<double> prices = prices_by_request(workload, packing, cuts[c]);
        for (const time_weights& of_time : weights) {
            std::vector<double> sums;
            for (const double scale : scales) sums.push_back(scale * cuts[c].most * of_time.total());
            for (const lossy_pod& pod : workload.pods) {
                if (pod.counted_gpus <= 0.0) continue;
                const double price = prices[pod.request] * time_of(workload, pod, of_time);
                for (std::size_t s = 0; s < sums.size(); ++s)
                    sums[s] += std::max(0.0, pod.counted_gpus - scales[s] * price);
            }
            for (std::size_t s = 0; s < sums.size(); ++s) {
                if (sums[s] >= best.gpus) continue;
                best = {.gpus = sums[s], .weights = of_time, .scale = scales[s], .cut = c};
            }
        }
    }
    return best;
}

} // namespace

known_durations::known_durations(std::vector<double> seconds) : sorted_{std::move(seconds)} {
    std::ranges::sort(sorted_);
    sums_.push_back(0.0);
    for (const double duration : sorted_) sums_.push_back(sums_.back() + duration);
}

double known_durations::mean_up_to(double most) const {
    if (sorted_.empty() || most <= 0.0) return 0.0;
    const auto shorter = static_cast<std::size_t>(std::ranges::upper_bound(sorted_, most) - sorted_.begin());
    const std::size_t longer = sorted_.size() - shorter;
    const double sum = sums_[shorter] + (longer > 0 ? static_cast<double>(longer) * most : 0.0);
    return sum / static_cast<double>(sorted_.size());
}

double known_durations::share_longer_than(double seconds) const {
    if (sorted_.empty()) return 0.0;
    const auto longer = sorted_.end() - std::ranges::upper_bound(sorted_, seconds);
    return static_cast<double>(longer) / static_cast<double>(sorted_.size());
}

double time_weights::of(double begin, double end) const noexcept {
    const double seconds = std::max(0.0, std::min(end, until) - std::max(begin, from));
    return seconds + (begin <= until && end > until ? at_end : 0.0);
}

lossy_workload lossy_workload_of(const simulation_input& input, const std::vector<bool>& never_fits) {
    constexpr auto ticks_in_second = static_cast<double>(ticks_per_second.count());
    lossy_workload result;
    if (input.pods.empty()) return result;
    const ticks begin = input.pods.front().arrival;
    const std::size_t first_measured = input.measured ? input.measured->first_pod : 0;
    result.until_s = static_cast<double>((input.pods.back().arrival - begin).count()) / ticks_in_second;
    std::vector<std::vector<double>> durations(input.requests.size());
    double gpu_seconds = 0.0;
    double gpus_of_all = 0.0;
    for (std::size_t i = 0; i < input.pods.size(); ++i) {
        const arriving_pod& pod = input.pods[i];
        const double gpus =
            static_cast<double>(input.requested[pod.request].larger()) / static_cast<double>(input.requested.whole());
        const double duration =
            pod.duration ? static_cast<double>(pod.duration->count()) / ticks_in_second : never_ends;
        durations[pod.request].push_back(duration);
        gpus_of_all += gpus;
        gpu_seconds += gpus * std::min(duration, result.until_s);
        if (i >= first_measured) result.gpus_arrived += gpus;
        result.pods.push_back({.request = pod.request,
                               .arrival_s = static_cast<double>((pod.arrival - begin).count()) / ticks_in_second,
                               .duration_s = duration,
                               .gpus = never_fits[pod.request] ? 0.0 : gpus,
                               .counted_gpus = never_fits[pod.request] || i < first_measured ? 0.0 : gpus});
    }
    if (gpus_of_all > 0.0) result.mean_duration_s = gpu_seconds / gpus_of_all;
    for (std::vector<double>& of_request : durations) result.durations.emplace_back(std::move(of_request));
    return result;
}

accepted_bound most_accepted(const lossy_workload& workload, const workload_packing& packing,
                             std::span<const packing_cut> cuts) {
    return least_accepted(workload, packing, cuts, known_time);
}

accepted_bound most_accepted_blindly(const lossy_workload& workload, const workload_packing& packing,
                                     std::span<const packing_cut> cuts) {
    return least_accepted(workload, packing, cuts, mean_time);
}

double luck_of(const lossy_workload& workload, const workload_packing& packing, std::span<const packing_cut> cuts,
               const accepted_bound& bound, const std::vector<bool>& accepted) {
    if (bound.scale == 0.0) return 0.0;
    const std::vector<double> prices = prices_by_request(workload, packing, cuts[bound.cut]);
    double luck = 0.0;
    for (std::size_t i = 0; i < workload.pods.size(); ++i) {
        const lossy_pod& pod = workload.pods[i];
        if (!accepted[i] || pod.counted_gpus <= 0.0) continue;
        luck += bound.scale * prices[pod.request] *
                (mean_time(workload, pod, bound.weights) - known_time(workload, pod, bound.weights));
    }
    return luck;
}

double most_served(const lossy_workload& workload, const workload_packing& packing, std::span<const packing_cut> cuts,
                   bool may_wait) {
    if (workload.until_s <= 0.0) return 0.0;
    double best = 0.0; // all that is offered
    for (const lossy_pod& pod : workload.pods) {
        best += pod.gpus * std::min(pod.duration_s, workload.until_s - pod.arrival_s);
    }
    for (const packing_cut& cut : cuts) {
        if (!std::isfinite(cut.most)) continue;
        const std::vector<double> prices = prices_by_request(workload, packing, cut);
        for (const time_weights& weights : all_weights(workload)) {
            if (weights.at_end > 0.0 || (may_wait && weights.from > 0.0)) continue;
            double gpu_seconds = cut.most * weights.total();
            for (const lossy_pod& pod : workload.pods) {
                const double end = std::min(pod.arrival_s + pod.duration_s, workload.until_s);
                const double priced = std::max(0.0, end - std::max(pod.arrival_s, weights.from));
                gpu_seconds +=
                    pod.gpus * (end - pod.arrival_s - priced) + std::max(0.0, pod.gpus - prices[pod.request]) * priced;
            }
            best = std::min(best, gpu_seconds);
        }
    }
    return best / workload.until_s;
}

expected<std::vector<packing_cut>> loss_cuts(const lossy_workload& workload, workload_packing& packing,
                                             vgpualloc::plan::lp_solver& solver) {
    std::vector<double> offered(packing.types(), 0.0); // entries that would run on average if none were lost
    for (const lossy_pod& pod : workload.pods) {
        const double seconds = std::min(pod.duration_s, workload.until_s);
        for (const auto& [type, entries] : packing.entries_of(pod.request)) {
            offered[type] += entries * seconds / std::max(workload.until_s, 1.0);
        }
    }
    std::vector<double> mean_duration(packing.types(), 0.0);
    for (std::size_t r = 0; r < workload.durations.size(); ++r) {
        const double mean = workload.durations[r].mean_up_to(workload.until_s);
        for (const auto& [type, entries] : packing.entries_of(r))
            mean_duration[type] = std::max(mean_duration[type], mean);
    }
    // What a second is worth: its GPUs, or that share of an accepted pod.
    std::vector<double> by_pod = packing.milli();
    for (std::size_t t = 0; t < by_pod.size(); ++t) {
        if (mean_duration[t] > 0.0) by_pod[t] *= workload.mean_duration_s / mean_duration[t];
    }
    std::vector<packing_cut> result;
    for (const std::vector<double>& value : {packing.milli(), by_pod}) {
        const auto prices = packing.solve(value, offered, solver);
        if (!prices) return unexpected(prices.error());
        for (std::vector<double> price : {value, costs_of(*prices, value)}) {
            const bool is_known = std::ranges::any_of(result, [&](const auto& cut) { return cut.price == price; });
            if (is_known) continue;
            auto cut = cut_at(std::move(price), packing, solver);
            if (!cut) return unexpected(std::move(cut.error()));
            result.push_back(*std::move(cut));
        }
    }
    for (packing_cut& cut : result) {
        for (double& price : cut.price) price /= whole_milli;
        cut.most /= whole_milli;
    }
    return result;
}

} // namespace vgpusim
