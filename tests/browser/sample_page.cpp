// Writes report.html of two runs that have everything a report can show: queues, MIG, shared GPUs, NPUs, failures.
// The runs are drawn by lot and mean nothing. Usage: report_sample FILE
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "vgpualloc/core/rng.hpp"
#include "vgpureport/report.hpp"

namespace {

using vgpualloc::milli_gpu;
using vgpualloc::ticks;
using vgpureport::history_event;
using vgpureport::history_event_kind;
using vgpureport::report_run;

constexpr std::int64_t second = 1'000'000;
constexpr std::uint16_t mig_slices = 8;
constexpr std::uint32_t mig_nodes = 12;
constexpr std::uint32_t shared_nodes = 20;
constexpr std::uint32_t npu_nodes = 6;
constexpr std::uint16_t devices = 8;

struct profile {
    std::uint32_t label;
    std::uint16_t length;
    std::vector<std::uint16_t> starts;
};
const std::vector<profile> profiles{{0, 1, {0, 1, 2, 3, 4, 5, 6}}, {1, 2, {0, 2, 4}}, {2, 4, {0, 4}}};

struct live_part {
    std::int64_t end;
    std::uint32_t node;
    std::uint16_t device;
    vgpureport::device_part part;
};

/// A cluster on which parts come and go.
class drawn_run {
public:
    explicit drawn_run(std::uint64_t seed, std::string policy) : random_{seed} {
        run_.policy = std::move(policy);
        const auto add = [this](std::uint32_t count, const std::string& name, const std::string& model,
                                std::uint16_t slices) {
            for (std::uint32_t i = 0; i < count; ++i) {
                run_.nodes.push_back({name + std::to_string(i), model, std::vector<milli_gpu>(devices), 0.3});
                if (slices > 0) run_.nodes.back().slices.assign(devices, slices);
            }
        };
        add(mig_nodes, "mig-", "A100-40GB", mig_slices);
        add(shared_nodes, "shared-", "L40S", 0);
        add(npu_nodes, "npu-", "Ascend910B4", 0);
        used_.resize(run_.nodes.size() * devices);
        taken_.resize(run_.nodes.size() * devices);
        run_.total = milli_gpu{static_cast<std::int64_t>(used_.size()) * 1000};
        run_.history.labels = {"1g.5gb",   "2g.10gb",  "3g.20gb",      "inference",
                               "training", "notebook", "vir05_1c_16g", "batch"};
    }

    report_run draw() && {
        constexpr std::int64_t arrivals = 6'000;
        for (std::int64_t i = 0; i < arrivals; ++i) {
            now_ += 20 + static_cast<std::int64_t>(draw_below(80));
            give_back_until(now_);
            arrived_ += 300;
            start();
            sample();
            if (i == 2'000 || i == 3'500) close(i == 2'000);
        }
        fill_in();
        return std::move(run_);
    }

private:
    std::uint64_t draw_below(std::uint64_t bound) { return random_.next() % bound; }

    std::size_t place(std::uint32_t node, std::uint16_t device) const { return std::size_t{node} * devices + device; }

    void start() {
        const auto node = static_cast<std::uint32_t>(draw_below(run_.nodes.size()));
        const auto device = static_cast<std::uint16_t>(draw_below(devices));
        const std::size_t at = place(node, device);
        vgpureport::device_part part;
        if (node < mig_nodes) {
            const profile& wanted = profiles[draw_below(profiles.size())];
            const auto free = std::find_if(wanted.starts.begin(), wanted.starts.end(), [&](std::uint16_t first) {
                return (taken_[at] & mask(first, wanted.length)) == 0;
            });
            if (free == wanted.starts.end()) return;
            part = {.first = *free, .length = wanted.length, .label = wanted.label};
        } else if (node < mig_nodes + shared_nodes) {
            part = {.first = 0,
                    .length = static_cast<std::uint16_t>(100 + 50 * draw_below(9)),
                    .label = 3 + static_cast<std::uint32_t>(draw_below(3))};
        } else {
            part = {.first = 0, .length = 250, .label = draw_below(6) == 0 ? 7U : 6U};
        }
        if (used_[at] + milli(node, part) > 1000) return;
        change(node, device, part, history_event_kind::part_taken);
        const auto duration = 2'000 + static_cast<std::int64_t>(draw_below(60'000));
        live_.push_back({now_ + duration, node, device, part});
        ++placed_;
    }

    static std::uint64_t mask(std::uint16_t first, std::uint16_t length) { return ((1ULL << length) - 1) << first; }
    std::int32_t milli(std::uint32_t node, const vgpureport::device_part& part) const {
        return node < mig_nodes ? part.length * 1000 / mig_slices : part.length;
    }

    void change(std::uint32_t node, std::uint16_t device, const vgpureport::device_part& part,
                history_event_kind kind) {
        const std::size_t at = place(node, device);
        const std::int32_t sign = kind == history_event_kind::part_taken ? 1 : -1;
        used_[at] += sign * milli(node, part);
        allocated_ += sign * milli(node, part);
        if (node < mig_nodes) taken_[at] ^= mask(part.first, part.length);
        run_.history.events.push_back({.time = ticks{now_ * second},
                                       .node = node,
                                       .device = device,
                                       .kind = kind,
                                       .part = part,
                                       .used_milli = used_[at],
                                       .stranded = node < mig_nodes ? stranded(taken_[at]) : 0});
    }

    static std::uint64_t stranded(std::uint64_t taken) {
        std::uint64_t of_use = taken;
        for (const profile& wanted : profiles) {
            for (const std::uint16_t first : wanted.starts) {
                if ((taken & mask(first, wanted.length)) == 0) of_use |= mask(first, wanted.length);
            }
        }
        return ~of_use & mask(0, mig_slices);
    }

    void give_back_until(std::int64_t time) {
        for (std::size_t i = 0; i < live_.size();) {
            if (live_[i].end > time) {
                ++i;
                continue;
            }
            change(live_[i].node, live_[i].device, live_[i].part, history_event_kind::part_given_back);
            live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }

    void close(bool is_closed) {
        for (std::uint16_t device = 0; device < devices; ++device) {
            run_.history.events.push_back({.time = ticks{now_ * second},
                                           .node = 1,
                                           .device = device,
                                           .kind = is_closed ? history_event_kind::closed : history_event_kind::opened,
                                           .used_milli = used_[place(1, device)]});
        }
    }

    void sample() {
        const auto busy = std::count_if(used_.begin(), used_.end(), [](std::int32_t milli) { return milli > 0; });
        run_.samples.push_back({.time = ticks{now_ * second},
                                .arrived = milli_gpu{arrived_},
                                .allocated = milli_gpu{allocated_},
                                .served = milli_gpu{allocated_ * 9 / 10},
                                .fragmentation_milli = static_cast<double>(run_.total.count() - allocated_) / 3.0,
                                .used_nodes = static_cast<std::int64_t>(run_.nodes.size()),
                                .used_gpus = busy});
        queue_ = std::max<std::int64_t>(0, queue_ + static_cast<std::int64_t>(draw_below(7)) - 3);
        queue_lengths_.push_back(static_cast<double>(queue_));
        running_.push_back(static_cast<double>(live_.size()));
        power_.push_back(60.0 * static_cast<double>(used_.size()) + 0.34 * static_cast<double>(allocated_));
        waits_.push_back(queue_ == 0 ? 0.0
                                     : static_cast<double>(queue_ * queue_) *
                                           (0.5 + static_cast<double>(draw_below(900)) / 10.0));
        if (allocated_ > peak_) {
            peak_ = allocated_;
            run_.shown_at = ticks{now_ * second};
            run_.peak_after = ticks{now_ * second} - run_.samples.front().time;
            for (std::size_t i = 0; i < used_.size(); ++i) {
                run_.nodes[i / devices].used[i % devices] = milli_gpu{used_[i]};
            }
        }
    }

    void add_spreads(const std::string& measure, const std::string& unit, double scale) {
        const auto row = [&](std::string by, std::string group, std::size_t begin, std::size_t step) {
            std::vector<double> values;
            for (std::size_t i = begin; i < waits_.size(); i += step)
                values.push_back(waits_[i] * scale + (unit.empty() ? 1 : 0));
            std::sort(values.begin(), values.end());
            double sum = 0.0;
            for (const double value : values) sum += value;
            const auto quantile = [&](std::size_t percent) { return values[(values.size() - 1) * percent / 100]; };
            run_.spreads.push_back({.measure = measure,
                                    .unit = unit,
                                    .by = std::move(by),
                                    .group = std::move(group),
                                    .jobs = static_cast<std::int64_t>(values.size()),
                                    .mean = sum / static_cast<double>(values.size()),
                                    .p50 = quantile(50),
                                    .p95 = quantile(95),
                                    .p99 = quantile(99),
                                    .max = values.back()});
        };
        row("", "", 0, 1);
        row("class", "inference", 0, 3);
        row("class", "training", 1, 3);
        row("queue", "research", 0, 2);
        row("queue", "production", 1, 2);
    }

    void fill_in() {
        run_.pods_leave = true;
        run_.pods_arrived = static_cast<std::int64_t>(run_.samples.size());
        run_.pods_placed = placed_;
        const double all = static_cast<double>(run_.total.count());
        run_.figures = {.served = 0.9 * static_cast<double>(peak_) / all * 0.8,
                        .allocated = static_cast<double>(peak_) / all * 0.8,
                        .allocated_peak = static_cast<double>(peak_) / all,
                        .fragmentation = 0.081,
                        .fragmentation_of_idle = 0.31,
                        .used_gpus = 200,
                        .used_nodes = 38};
        run_.classes = {{"inference", 2'000, 11}, {"training", 2'000, 240}, {"notebook", 2'000, 3}};
        run_.failures = {{"no_free_instance", 190}, {"insufficient_device_memory", 64}};
        run_.facts = {{"policy", run_.policy}, {"discipline", "easy"}, {"seed", "42"}};
        run_.series = {{"queue", "Queue length", "", queue_lengths_},
                       {"running", "Running jobs", "", running_},
                       {"power", "Power", "W", power_}};
        run_.waits.push_back({"", waits_});
        for (std::size_t i = 0; i < 2; ++i) {
            run_.waits.push_back({i == 0 ? "queue research" : "queue production", {}});
            for (std::size_t j = i; j < waits_.size(); j += 2) run_.waits.back().seconds.push_back(waits_[j]);
        }
        add_spreads("Wait", "s", 1.0);
        add_spreads("Completion time", "s", 4.0);
        add_spreads("Bounded slowdown", "", 0.01);
        using vgpureport::better;
        run_.more_figures = {
            {.name = "Fairness over queues (Jain)",
             .unit = "",
             .decimals = 3,
             .direction = better::higher,
             .value = 0.913,
             .headline = true},
            {.name = "Wait, mean",
             .unit = " s",
             .decimals = 1,
             .direction = better::lower,
             .value = run_.spreads.front().mean,
             .headline = true},
            {.name = "Preemptions", .unit = "", .decimals = 0, .direction = better::neither, .value = 17.0},
            {.name = "Pods lost to failures", .unit = "", .decimals = 0, .direction = better::lower, .value = 8.0},
            {.name = "Work redone", .unit = " GPU-h", .decimals = 2, .direction = better::lower, .value = 31.25},
            {.name = "Layout changes", .unit = "", .decimals = 0, .direction = better::neither, .value = 421.0},
            {.name = "Energy", .unit = " kWh", .decimals = 1, .direction = better::lower, .value = {}},
        };
        run_.decisions_per_second = 412'345.0;
        run_.latency_p50_us = 1.1;
        run_.latency_p99_us = 7.4;
    }

    vgpualloc::rng random_;
    report_run run_;
    std::int64_t now_ = 0;
    std::int64_t arrived_ = 0;
    std::int64_t allocated_ = 0;
    std::int64_t peak_ = 0;
    std::int64_t placed_ = 0;
    std::int64_t queue_ = 0;
    std::vector<std::int32_t> used_;
    std::vector<std::uint64_t> taken_;
    std::vector<live_part> live_;
    std::vector<double> queue_lengths_;
    std::vector<double> running_;
    std::vector<double> power_;
    std::vector<double> waits_;
};

} // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    std::vector<report_run> runs;
    runs.push_back(drawn_run{7, "fgd"}.draw());
    runs.push_back(drawn_run{8, "compat:volcano"}.draw());
    std::ofstream file{arguments[1], std::ios::binary};
    file << render_report(runs);
    return file.flush() ? 0 : 1;
}
