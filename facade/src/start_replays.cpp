#include "start_replays.hpp"

#include <algorithm>
#include <utility>

#include "vgpusim/discipline/all.hpp"
#include "vgpusim/outputs/rows.hpp"
#include "vgpusim/study/run.hpp"

namespace vgpufacade {

expected<start_replays> start_replays::read(const replay_settings& settings, const vgpualloc::dialect_set& dialects,
                                            vgpusim::input_reader& from) {
    start_replays result;
    vgpusim::run_config& config = result.config_;
    config.format = "kubernetes";
    if (!settings.policy.empty()) config.policy = settings.policy;
    config.discipline = settings.discipline;
    config.pods = settings.pods;
    config.classes = settings.classes;
    config.start_ends = settings.start_ends;
    const auto discipline = vgpusim::find_discipline(settings.discipline);
    if (!discipline) return unexpected(discipline.error());
    if (!(*discipline)->make()->keeps_waiting()) {
        return unexpected(bad_value(error_code::unsupported, "discipline", settings.discipline,
                                    "a discipline with a queue: without one nobody waits"));
    }
    auto workload = vgpusim::read_workload(config, dialects, from);
    if (!workload) return unexpected(std::move(workload).error());
    result.workload_ = *std::move(workload);
    for (const auto& row : result.workload_.arrivals.rows) {
        const std::string& name = result.workload_.arrivals.classes[row.pod_class];
        const auto pod_class = std::ranges::find(result.workload_.classes, name, &vgpusim::pod_class::name);
        if (pod_class != result.workload_.classes.end()) result.rows_ += static_cast<std::size_t>(pod_class->pods);
    }
    auto ends = vgpusim::load_pod_ends(config, from);
    if (!ends) return unexpected(std::move(ends).error());
    result.ends_ = *std::move(ends);
    return result;
}

expected<vgpusim::cluster_start> start_replays::start_from(const vgpualloc::kube::snapshot& state,
                                                           std::span<const vgpualloc::kube::manifest> objects,
                                                           std::int64_t seed) const {
    vgpusim::pod_ends ends = ends_;
    ends.seed = static_cast<std::uint64_t>(seed);
    return vgpusim::start_of(state, objects, workload_.arrivals, workload_.classes, ends);
}

expected<std::vector<arrival_wait>> start_replays::waits_from(const vgpualloc::kube::snapshot& state,
                                                              vgpusim::cluster_start start, std::int64_t seed,
                                                              const stop_signal& stop) const {
    vgpusim::kubernetes_workload workload = workload_;
    workload.start = std::move(start);
    auto input = vgpusim::build_kubernetes_workload(state, std::move(workload));
    if (!input) return unexpected(std::move(input).error());
    const vgpusim::loaded_input loaded{.input = *std::move(input), .files = {}};
    vgpusim::run_config config = config_;
    config.seed = seed;
    const auto record =
        vgpusim::replay(config, loaded, loaded.input.nodes, {}, {.kept = vgpusim::kept_of_run::pods, .stop = stop});
    if (!record) return unexpected(record.error());
    const vgpusim::outcome_rows rows{*record, loaded.input};
    std::vector<arrival_wait> waits;
    vgpusim::outcome_row row;
    for (std::size_t i = loaded.input.running.size(); i < rows.count(); ++i) {
        rows.read(i, row);
        waits.push_back({.wait = row.wait(), .never = row.given_up});
    }
    return waits;
}

counted_waits count_waits(const std::vector<arrival_wait>& arrivals, std::span<const std::size_t> left_out) {
    counted_waits result;
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
        if (std::ranges::binary_search(left_out, i)) continue;
        if (arrivals[i].wait) {
            result.waits.push_back(*arrivals[i].wait);
        } else {
            ++result.endless;
        }
    }
    return result;
}

} // namespace vgpufacade
