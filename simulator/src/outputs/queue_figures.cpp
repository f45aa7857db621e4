#include "vgpusim/outputs/queue_figures.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "vgpusim/outputs/rows.hpp"

namespace vgpusim {

namespace {

/// The values of a group while its rows are read.
struct group_values {
    group_figures figures;
    std::vector<double> waits;
    std::vector<double> completions;
    std::vector<double> slowdowns;
    basic_requested_units<double> demanded; ///< milli-GPU x seconds
    basic_requested_units<double> served;

    void add(const outcome_row& row, const basic_requested_units<double>& milli, double duration_s) {
        constexpr double run_least_s = 10.0; // so that very short jobs do not decide the mean (Feitelson, JSSPP 2001)
        ++figures.arrived;
        demanded += milli.times(duration_s);
        if (const auto wait = row.wait()) {
            ++figures.started;
            waits.push_back(seconds_of(*wait));
        }
        if (const auto completion = row.completion()) {
            completions.push_back(seconds_of(*completion));
            const double run = seconds_of(*row.end - row.begun); // the last run, not those that were stopped
            slowdowns.push_back(std::max(1.0, completions.back() / std::max(run, run_least_s)));
            served += milli.times(duration_s);
        }
    }
    [[nodiscard]] group_figures finished() && {
        figures.wait_s = distribution_of(std::move(waits));
        figures.jct_s = distribution_of(std::move(completions));
        figures.bounded_slowdown = distribution_of(std::move(slowdowns));
        figures.demanded_milli_s = demanded.larger();
        figures.served_milli_s = served.larger();
        return std::move(figures);
    }
};

double jain(const std::vector<double>& values) {
    double sum = 0.0;
    double squares = 0.0;
    for (const double value : values) {
        sum += value;
        squares += value * value;
    }
    return squares > 0.0 ? sum * sum / (static_cast<double>(values.size()) * squares) : 1.0;
}

/// How a row's class is called: its request's name, or how many devices it asks for.
std::string class_name(const outcome_row& row, const simulation_input& input) {
    const std::uint32_t request = input.pods[row.pods.front()].request;
    if (!input.request_names.empty()) return input.request_names[request];
    std::int64_t devices = 0;
    for (const std::uint32_t pod : row.pods) {
        for (const auto& container : input.requests[input.pods[pod].request].containers) devices += container.count;
    }
    return std::to_string(devices) + (devices == 1 ? " device" : " devices");
}

} // namespace

distribution distribution_of(std::vector<double> values) {
    distribution result{.count = values.size()};
    if (values.empty()) return result;
    result.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    // From one quantile on only larger values are looked at: sorting all of them would take ten times as long.
    auto from = values.begin();
    const auto rank = [&](double quantile) {
        const double exact = std::ceil(quantile * static_cast<double>(values.size()));
        const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max(exact, 1.0)) - 1;
        std::nth_element(from, at, values.end());
        from = at;
        return *at;
    };
    result.p50 = rank(0.50);
    result.p95 = rank(0.95);
    result.p99 = rank(0.99);
    result.max = *std::max_element(from, values.end());
    return result;
}

queue_figures queue_figures_of(const run_record& record, const simulation_input& input) {
    const outcome_rows rows{record, input};
    group_values all;
    std::map<std::string, group_values> classes;
    std::vector<group_values> queues(input.queues.size());
    outcome_row row;
    for (std::size_t i = 0; i < rows.count(); ++i) {
        rows.read(i, row);
        if (row.ran_before) continue;
        requested_units units;
        ticks longest;
        for (const std::uint32_t pod : row.pods) {
            units += input.requested[input.pods[pod].request];
            longest = std::max(longest, input.pods[pod].duration.value_or(ticks{}));
        }
        const double duration_s = seconds_of(longest);
        const auto milli = units.as<double>().times(input.requested.milli_of_unit());
        all.add(row, milli, duration_s);
        classes[class_name(row, input)].add(row, milli, duration_s);
        if (!queues.empty()) queues[rows.queue_of(i)].add(row, milli, duration_s);
    }
    queue_figures result;
    result.all = std::move(all).finished();
    for (auto& [name, values] : classes) {
        result.by_class.push_back(std::move(values).finished());
        result.by_class.back().name = name;
    }
    std::ranges::stable_sort(result.by_class, [](const auto& a, const auto& b) { return a.arrived > b.arrived; });
    if (queues.size() < 2) return result;
    std::vector<double> served;
    std::vector<double> speeds;
    for (std::size_t i = 0; i < queues.size(); ++i) {
        result.by_queue.push_back(std::move(queues[i]).finished());
        group_figures& queue = result.by_queue.back();
        queue.name = input.queues[i].name;
        if (queue.demanded_milli_s > 0.0) served.push_back(queue.served_milli_s / queue.demanded_milli_s);
        if (queue.bounded_slowdown.count > 0) speeds.push_back(1.0 / queue.bounded_slowdown.mean);
    }
    result.jain_served = jain(served);
    result.jain_slowdown = jain(speeds);
    return result;
}

std::vector<group_waits> waits_of(const run_record& record, const simulation_input& input) {
    const outcome_rows rows{record, input};
    group_waits all;
    std::vector<group_waits> queues(input.queues.size());
    std::map<std::string, group_waits> classes;
    outcome_row row;
    for (std::size_t i = 0; i < rows.count(); ++i) {
        rows.read(i, row);
        const auto wait = row.wait();
        if (!wait) continue;
        all.seconds.push_back(seconds_of(*wait));
        if (queues.size() > 1) queues[rows.queue_of(i)].seconds.push_back(seconds_of(*wait));
        classes[class_name(row, input)].seconds.push_back(seconds_of(*wait));
    }
    std::vector<group_waits> groups;
    const auto add = [&groups](group_waits group, std::string name) {
        if (group.seconds.empty()) return;
        group.group = std::move(name);
        std::ranges::sort(group.seconds);
        groups.push_back(std::move(group));
    };
    add(std::move(all), "");
    for (std::size_t i = 0; i < queues.size(); ++i) add(std::move(queues[i]), "queue " + input.queues[i].name);
    const std::size_t before_classes = groups.size();
    if (classes.size() > 1) {
        for (auto& [name, waits] : classes) add(std::move(waits), "class " + name);
    }
    std::ranges::stable_sort(groups.begin() + static_cast<std::ptrdiff_t>(before_classes), groups.end(),
                             std::ranges::greater{}, [](const group_waits& group) { return group.seconds.size(); });
    return groups;
}

} // namespace vgpusim
