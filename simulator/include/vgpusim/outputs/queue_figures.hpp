// How long jobs waited: distributions over all rows, and by class and queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "vgpusim/engine/record.hpp"

namespace vgpusim {

/// Of values that are 0 or more. Quantiles are values that occurred: the smallest that at least so many are not above
/// (nearest rank).
struct distribution {
    std::size_t count = 0;
    double mean = 0.0;
    double p50 = 0.0;
    double p95 = 0.0;
    double p99 = 0.0;
    double max = 0.0;
};

[[nodiscard]] distribution distribution_of(std::vector<double> values);

/// Jobs that are told together.
struct group_figures {
    std::string name;
    std::int64_t arrived = 0;
    std::int64_t started = 0;
    distribution wait_s;           ///< of those that started: from arrival to first start
    distribution jct_s;            ///< of those that ended: from arrival to end
    distribution bounded_slowdown; ///< of those that ended: max(1, jct / max(run, 10 s)), Feitelson's
    double demanded_milli_s = 0.0; ///< milli-GPU x seconds that the rows with a duration ask for
    double served_milli_s = 0.0;   ///< what of it those that ended have had
};

struct queue_figures {
    group_figures all;
    std::vector<group_figures> by_class; ///< by request name, or number of devices; largest first
    std::vector<group_figures> by_queue; ///< in the order of the queues; empty with fewer than two
    /// Jain's index over the queues, (sum x)^2 / (n sum x^2), with x = share of the demand that was served; 1 = all
    /// alike.
    double jain_served = 1.0;
    /// The same with x = 1 / mean bounded slowdown.
    double jain_slowdown = 1.0;
};

[[nodiscard]] queue_figures queue_figures_of(const run_record& record, const simulation_input& input);

/// Waits in seconds of some rows that started, ascending: what a curve of the distribution is drawn from.
struct group_waits {
    std::string group; ///< "queue NAME" or "class NAME"; empty: all rows
    std::vector<double> seconds;
};

/// Of all rows; then of each queue, in their order, where there are several; then of each class, where there are
/// several, the one with most rows first. Groups in which nothing started are left out.
[[nodiscard]] std::vector<group_waits> waits_of(const run_record& record, const simulation_input& input);

} // namespace vgpusim
