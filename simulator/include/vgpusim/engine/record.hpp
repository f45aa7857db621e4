// What a run leaves: the outputs are written from it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/metrics/fragmentation.hpp"
#include "vgpualloc/metrics/idle_split.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/view.hpp"
#include "vgpualloc/policy/learned_prices.hpp"
#include "vgpusim/engine/acceptance.hpp"
#include "vgpusim/engine/bound_figures.hpp"
#include "vgpusim/engine/simulation.hpp"
#include "vgpusim/workload/input.hpp"
#include "vgpusim/workload/settings.hpp"

namespace vgpusim {

/// Devices of a mode in which a fatal fault of one container takes the others with it (sharing_mode::shares_faults).
struct fault_domain_count {
    std::int64_t shared = 0;         ///< devices on which one fault ends more than one container
    std::int64_t containers_max = 0; ///< that one fault ends; 0 without any

    void count(const vgpualloc::device_spec& spec, const vgpualloc::device_state& state) {
        const std::int64_t containers = spec.mode->fault_domain_size(state);
        if (containers < 2) return;
        ++shared;
        containers_max = std::max(containers_max, containers);
    }
};

/// What became of the rows of pods.csv.
struct row_counts {
    std::int64_t arrived = 0;
    std::int64_t placed = 0;  ///< started, now or once
    std::int64_t failed = 0;  ///< given up
    std::int64_t waiting = 0; ///< neither, when the run ended
    std::int64_t finished = 0;
    std::int64_t started = 0;          ///< at least once
    std::int64_t ran_before = 0;       ///< they ran when the run began, and count nowhere above
    std::int64_t ran_before_ended = 0; ///< of these, those that have ended
    wide_integer waited_ticks = 0;     ///< those, until their first start

    [[nodiscard]] double wait_mean_s() const noexcept {
        constexpr auto per_second = static_cast<double>(ticks_per_second.count());
        return started == 0 ? 0.0 : static_cast<double>(waited_ticks) / static_cast<double>(started) / per_second;
    }
};

/// A finished replay with what is needed to describe it.
struct run_record {
    run_config config;
    std::unique_ptr<vgpualloc::ledger> ledger;
    simulation_result result;
    vgpualloc::fragmentation_buckets buckets; ///< over all nodes at the end
    fault_domain_count fault_domains;         ///< in the state to show
    row_counts rows;
    acceptance accepted{};                ///< of the rows; of a workload model without those that fill the cluster
    std::vector<std::int64_t> code_count; ///< rows that were not placed, by rejection code
    std::int64_t total_milli = 0;
    std::int64_t gpus = 0;
    std::int64_t requested_whole = 1000;     ///< requested_table::whole()
    std::int64_t memory_total_mib = 0;       ///< of all devices; 0 where the lists do not say it
    std::int64_t gpus_of_unknown_power = 0;  ///< whose energy is not counted
    std::int64_t idle_watts = 0;             ///< of the others, with nothing running on any
    std::int64_t busy_watts = 0;             ///< with something running on every one
    std::vector<std::int64_t> stranded_last; ///< at the end, by position in simulation_result::profiles
    sample last;                             ///< the state at the end
    /// Some pods of the workload end: the state at the end then says little, and what counts are means over time.
    bool pods_leave = false;
    bool has_queue = false; ///< jobs that do not fit wait
    ticks first_arrival;
    ticks last_arrival;
    std::optional<double> offered_load;         ///< offered_load_of()
    std::unique_ptr<vgpualloc::ledger> at_peak; ///< when the most was allocated; null where pods stay
    vgpualloc::idle_parts idle{};               ///< in the state to show, to the mean pod of the workload
    std::optional<bound_figures> bound{};       ///< where it was asked for
    /// What policies that price rests of devices went by, at the end where it was learned.
    std::optional<vgpualloc::learned_prices> prices{};

    /// Whether every row ran to the end that it has.
    [[nodiscard]] bool runs_all() const noexcept {
        return rows.placed == rows.arrived && result.disturbed.pods_lost == 0;
    }

    /// The state to show of the cluster: at the peak where pods leave, else at the end.
    [[nodiscard]] const vgpualloc::ledger& shown_ledger() const noexcept { return at_peak ? *at_peak : *ledger; }
    [[nodiscard]] const sample& shown_state() const noexcept { return pods_leave ? result.peak.state : last; }
};

/// Lets the means of runs whose pods leave be over one span, up to the latest end of any of them: else the run that
/// places a long pod would have the longest span and the smallest means.
inline void share_span(std::span<run_record* const> runs) {
    ticks end{};
    for (const run_record* run : runs) end = std::max(end, run->result.usage.end());
    for (run_record* run : runs) {
        if (run->pods_leave) run->result.extend_to(end);
    }
}

} // namespace vgpusim
