#include "workload_rows.hpp"

#include <algorithm>
#include <utility>

#include "generator_limits.hpp"
#include "table_reader.hpp"

namespace vgputraces {

using vgpualloc::rng;

namespace {

std::vector<std::int64_t> weights_of(const workload_model& model) {
    std::vector<std::int64_t> weights;
    for (const workload_class& entry : model.classes) weights.push_back(entry.weight);
    return weights;
}

} // namespace

ticks in_ticks(double seconds) {
    return ticks{static_cast<std::int64_t>(seconds * static_cast<double>(ticks_per_second.count()) + 0.5)};
}

void duration_source::fill(const workload_class& of, arrival_row& row) {
    const double probability = quantiles_.unit();
    const double place = estimates_.unit();
    const duration_model& durations = of.durations.empty() ? model_->durations : of.durations;
    if (durations.constant_s) row.duration = in_ticks(*durations.constant_s);
    if (durations.mean_s) row.duration = in_ticks(exponentials_.exponential() * *durations.mean_s);
    if (!durations.quantiles.empty()) row.duration = in_ticks(quantile_s(durations.quantiles, probability));
    if (!of.estimate_factor || !row.duration) return;
    const auto [least, most] = *of.estimate_factor;
    // As much as a table of arrivals may say.
    constexpr std::int64_t estimate_max = table_seconds_max * ticks_per_second.count();
    const double wanted = static_cast<double>(row.duration->count()) * (least + (most - least) * place) + 0.5;
    row.estimate = ticks{static_cast<std::int64_t>(std::min(wanted, static_cast<double>(estimate_max)))};
}

row_source::row_source(const workload_model& model, const std::vector<std::string>& queues, const row_wish& wish,
                       std::string where)
    : model_{&model}, wish_{wish}, where_{std::move(where)}, classes_{weights_of(model)},
      class_stream_{rng{model.seed}.fork("classes")}, clock_{model.arrivals, rng{model.seed}},
      durations_{model, rng{model.seed}}, rows_per_class_(model.classes.size(), 0) {
    for (const workload_class& entry : model.classes) {
        queues_.push_back(static_cast<std::uint32_t>(std::ranges::find(queues, entry.queue) - queues.begin()));
    }
}

bool row_source::next(arrival_row& row) {
    if (failure_ || is_enough()) return false;
    const std::size_t number = classes_.draw(class_stream_);
    ++rows_per_class_[number];
    row = {};
    row.pod_class = static_cast<std::uint32_t>(number);
    row.queue = queues_[number];
    row.priority = model_->classes[number].priority;
    row.arrival = clock_.next();
    if (row.arrival > limits::last_arrival_s_max * ticks_per_second) {
        return fail(
            bad_input(error_code::out_of_range, "arrivals", "the last pod comes after 10^12 seconds").at(where_));
    }
    durations_.fill(model_->classes[number], row);
    memory_ += model_->classes[number].demand.share.memory;
    ++drawn_;
    last_arrival_ = row.arrival;
    if (row.arrival >= wish_.warm_up) {
        ++measured_;
    } else if (std::cmp_equal(++warm_up_rows_, limits::pods_max)) {
        return fail(bad_value(error_code::out_of_range, "pods.warm_up_lifetimes", "",
                              "at most " + std::to_string(limits::pods_max) + " pods that come before")
                        .at(where_));
    }
    return true;
}

bool row_source::is_enough() {
    if (wish_.memory_least && memory_ >= *wish_.memory_least) return true;
    if (measured_ < model_->pod_count) return false;
    if (wish_.memory_least) {
        fail(bad_value(error_code::unsupported, "pods.load", "",
                       "a load that " + std::to_string(limits::pods_max) + " pods reach")
                 .at(where_));
    }
    return true;
}

bool row_source::fail(error failure) {
    failure_ = std::move(failure);
    return false;
}

} // namespace vgputraces
