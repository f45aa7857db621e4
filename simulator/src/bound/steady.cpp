#include "vgpusim/bound/steady.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "vgpusim/bound/loss_bound.hpp"
#include "vgpusim/bound/wait_bound.hpp"
#include "vgpusim/engine/empty_cluster.hpp"

namespace vgpusim {

namespace {

/// By request, whether no pod of it fits the empty cluster, which every discipline finds out in the same way.
std::vector<bool> requests_that_never_fit(const simulation_input& input) {
    empty_cluster nobody_there{input.nodes};
    std::vector<bool> result;
    for (const pod_request& request : input.requests) {
        const pod_request* const pod = &request;
        result.push_back(nobody_there.why_not({&pod, 1}, 1) != rejection_code::none);
    }
    return result;
}

bool has_jobs_of_several_pods(const simulation_input& input) {
    return std::ranges::any_of(input.jobs, [](const job& whole) { return whole.pods > 1; });
}

std::string why_no_accepted(const simulation_input& input, const run_config& config, double seconds) {
    if (config.discipline != "try_once") return "with a queue every pod starts in the end";
    if (has_jobs_of_several_pods(input)) return "jobs of several pods are accepted as one";
    if (seconds <= 0.0) return "all pods arrive at one moment";
    return {};
}

std::string why_no_wait(const simulation_input& input, const run_config& config, const std::vector<bool>& never_fits) {
    if (config.discipline == "try_once") return "nobody waits under try_once";
    if (config.discipline != "fifo")
        return fmt::format("pods overtake each other under {}; the bound is for fifo", config.discipline);
    if (has_jobs_of_several_pods(input)) return "jobs of several pods may start in part";
    if (input.queues.size() > 1) return "there are several queues";
    if (std::ranges::any_of(input.queues, [](const job_queue& queue) {
            return queue.limit.devices || queue.limit.memory_mib || queue.limit.cores_percent ||
                   queue.guaranteed.devices || queue.guaranteed.memory_mib || queue.guaranteed.cores_percent;
        })) {
        return "the queue has a quota";
    }
    const bool some_stay = std::ranges::any_of(
        input.pods, [&](const arriving_pod& pod) { return !pod.duration && !never_fits[pod.request]; });
    if (some_stay) return "some pods never leave";
    return {};
}

/// A share of what there is, 1 where there is nothing.
double share_of(double part, double all) { return all > 0.0 ? std::min(1.0, part / all) : 1.0; }

void add_accepted_bounds(steady_figures& figures, const lossy_workload& workload, const workload_packing& packing,
                         const std::vector<packing_cut>& cuts, const run_record* finished) {
    const accepted_bound knowing = most_accepted(workload, packing, cuts);
    const accepted_bound blind = most_accepted_blindly(workload, packing, cuts);
    figures.accepted = share_bound{.most = share_of(knowing.gpus, workload.gpus_arrived)};
    figures.blind = share_bound{.most = share_of(blind.gpus, workload.gpus_arrived)};
    if (finished == nullptr) return;
    std::vector<bool> accepted;
    for (const pod_outcome& outcome : finished->result.pods) accepted.push_back(outcome.booking != no_booking);
    figures.accepted->achieved = finished->accepted.gpu_ratio();
    figures.blind->achieved = figures.accepted->achieved;
    if (workload.gpus_arrived > 0.0) {
        figures.blind->luck = luck_of(workload, packing, cuts, blind, accepted) / workload.gpus_arrived;
    }
}

void add_achieved(least_wait& wait, const run_record* finished) {
    // A run that ends with pods that still wait says nothing of how long.
    if (finished == nullptr || finished->rows.started != wait.pods) return;
    wait.achieved_mean_s = finished->rows.wait_mean_s();
    wait.achieved_gpu_mean_s = finished->accepted.gpu_wait_mean_s();
}

/// The number at group.key of a summary.
expected<double> figure_in(const document& summary, const std::string& path, const std::string& group,
                           const std::string& key) {
    const document* part = summary.find(group);
    const document* value = part == nullptr ? nullptr : part->find(key);
    const auto number = value == nullptr ? std::nullopt : value->real();
    if (number) return *number;
    return unexpected(bad_value(error_code::missing, fmt::format("{}.{}", group, key), "",
                                "the summary.json of a run with the same discipline, which has it")
                          .at(path));
}

expected<void> check_discipline(const document& summary, const std::string& path, const std::string& discipline) {
    const document* config = summary.find("config");
    const document* written = config == nullptr ? nullptr : config->find("discipline");
    const std::string of_run = written != nullptr && written->is_text() ? written->text : "";
    if (of_run == discipline) return {};
    return unexpected(bad_value(error_code::mismatch, "config.discipline", of_run,
                                fmt::format("{}, which the bounds are for (--discipline)", discipline))
                          .at(path));
}

} // namespace

expected<steady_figures> steady_bounds_of(const simulation_input& input, const run_config& config,
                                          const run_record* finished, vgpualloc::plan::lp_solver& solver) {
    steady_figures figures;
    const std::vector<bool> never_fits = requests_that_never_fit(input);
    auto packing = workload_packing::of(input);
    if (!packing) return unexpected(std::move(packing.error()));
    const lossy_workload workload = lossy_workload_of(input, never_fits);
    const auto cuts = loss_cuts(workload, *packing, solver);
    if (!cuts) return unexpected(cuts.error());
    figures.seconds = workload.until_s;
    figures.why_no_accepted = why_no_accepted(input, config, figures.seconds);
    const auto devices = static_cast<double>(device_count(input.nodes));
    const bool may_wait = config.discipline != "try_once";
    figures.served.most = share_of(most_served(workload, *packing, *cuts, may_wait), devices);
    if (finished != nullptr) {
        const over_time& usage = finished->result.usage_of_arrivals;
        const double units = devices * static_cast<double>(finished->requested_whole);
        if (units > 0.0) figures.served.achieved = usage.mean<&amounts_in_use::served>() / units;
    }
    if (figures.why_no_accepted.empty()) add_accepted_bounds(figures, workload, *packing, *cuts, finished);
    figures.why_no_wait = why_no_wait(input, config, never_fits);
    if (!figures.why_no_wait.empty()) return figures;
    const auto bound = least_waits(input, never_fits, *packing, solver);
    if (!bound) return unexpected(bound.error());
    figures.wait = least_wait{.mean_s = bound->queue.mean_s,
                              .gpu_mean_s = bound->queue.gpu_mean_s,
                              .pods = bound->queue.pods,
                              .conditions = bound->cuts};
    add_achieved(*figures.wait, finished);
    return figures;
}

std::string why_not_steady(const simulation_input& input, const run_config& config) {
    if (!input.cluster_events.empty() || input.autoscaler) return "nodes come, go or fail";
    if (!input.crashes.empty()) return "pods crash";
    if (config.layout_change_s > 0) return "making MIG instances takes time";
    if (config.defragment != defragment::never && config.move_downtime_s > 0) return "moves make pods run longer";
    if (config.policy == "compat:volcano") return "compat:volcano gives out more than devices have";
    return {};
}

expected<void> read_steady(const document& summary, const std::string& path, const run_config& config,
                           steady_figures& figures) {
    if (auto checked = check_discipline(summary, path, config.discipline); !checked) return checked;
    const auto read = [&](const char* group, const char* key, std::optional<double>& into) -> expected<void> {
        auto number = figure_in(summary, path, group, key);
        if (!number) return unexpected(std::move(number.error()));
        into = *number;
        return {};
    };
    if (figures.accepted) {
        if (auto done = read("acceptance", "accepted_gpu_ratio", figures.accepted->achieved); !done) return done;
        figures.blind->achieved = figures.accepted->achieved;
    }
    if (!figures.wait) return {};
    const auto started = figure_in(summary, path, "wait_s", "count");
    if (!started) return unexpected(started.error());
    if (std::llround(*started) != figures.wait->pods || figures.wait->pods == 0) return {};
    if (auto done = read("wait_s", "mean", figures.wait->achieved_mean_s); !done) return done;
    return read("acceptance", "gpu_wait_mean_s", figures.wait->achieved_gpu_mean_s);
}

} // namespace vgpusim
