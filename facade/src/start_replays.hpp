// A table of arrivals that is replayed from living clusters, many times.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vgpufacade/core_names.hpp"
#include "vgpusim/study/waiting_goal.hpp"
#include "vgpusim/workload/kubernetes.hpp"

namespace vgpufacade {

/// Inputs by name; the texts are those of the settings of a run.
struct replay_settings {
    std::string pods;
    std::string classes;
    std::string policy; ///< empty: the default
    std::string discipline;
    std::string start_ends;
};

/// How long an arrival waited.
struct arrival_wait {
    std::optional<vgpualloc::ticks> wait{}; ///< none: it did not start
    bool never = false;                     ///< it can start nowhere, however long it waits
};

class start_replays {
public:
    /// Reads the inputs. `dialects` are those of a snapshot of the cluster. Errors: theirs; unsupported for a
    /// discipline without a queue.
    [[nodiscard]] static expected<start_replays>
    read(const replay_settings& settings, const vgpualloc::dialect_set& dialects, vgpusim::input_reader& from);

    /// Errors: those of vgpusim::start_of().
    [[nodiscard]] expected<vgpusim::cluster_start> start_from(const vgpualloc::kube::snapshot& state,
                                                              std::span<const vgpualloc::kube::manifest> objects,
                                                              std::int64_t seed) const;

    /// What arrives, what waits at first before the rows of the table. Errors: those of the run; stopped.
    [[nodiscard]] expected<std::vector<arrival_wait>> waits_from(const vgpualloc::kube::snapshot& state,
                                                                 vgpusim::cluster_start start, std::int64_t seed,
                                                                 const stop_signal& stop) const;

    /// Pods of the table, which arrive behind those that wait at first.
    [[nodiscard]] std::size_t rows() const noexcept { return rows_; }

private:
    vgpusim::run_config config_{};
    vgpusim::kubernetes_workload workload_{};
    vgpusim::pod_ends ends_{}; ///< but for the seed
    std::size_t rows_ = 0;
};

/// The waits of arrivals but for those at `left_out`, positions in ascending order.
struct counted_waits {
    std::vector<vgpualloc::ticks> waits{};
    std::size_t endless = 0;
};
[[nodiscard]] counted_waits count_waits(const std::vector<arrival_wait>& arrivals,
                                        std::span<const std::size_t> left_out);

} // namespace vgpufacade
