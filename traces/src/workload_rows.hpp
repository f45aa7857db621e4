// Draws the rows of a workload model, one after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "draws.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgputraces/arrivals.hpp"
#include "vgputraces/generator.hpp"
#include "vgputraces/workload_nodes.hpp"
#include "workload_classes.hpp"

namespace vgputraces {

struct workload_model {
    std::string prefix = "gen";
    std::uint64_t seed = 1;
    std::vector<workload_node_kind> kinds;
    std::int64_t node_total = 0;
    std::int64_t pod_count = 0;
    std::optional<double> load;     ///< in place of the count: what all rows ask for, in multiples of all devices
    double warm_up_lifetimes = 0.0; ///< rows that come earlier are not among the count
    std::vector<workload_class> classes;
    arrival_model arrivals;
    duration_model durations;
};

[[nodiscard]] ticks in_ticks(double seconds);

/// Draws how long the rows run and what is said of it. Every stream but that of exponential times draws for every row,
/// so that the durations of one class shift those of no other.
class duration_source {
public:
    duration_source(const workload_model& model, const vgpualloc::rng& root)
        : model_{&model}, quantiles_{root.fork("durations")}, exponentials_{root.fork("exponential durations")},
          estimates_{root.fork("estimates")} {}

    void fill(const workload_class& of, arrival_row& row);

private:
    const workload_model* model_;
    vgpualloc::rng quantiles_;
    vgpualloc::rng exponentials_;
    vgpualloc::rng estimates_;
};

/// When there are rows enough, beside workload_model::pod_count.
struct row_wish {
    ticks warm_up{};                            ///< rows that come earlier are not among the count
    std::optional<std::int64_t> memory_least{}; ///< that all rows ask for; absent: the count alone says
};

/// The rows in turn, without names. The same model gives the same rows; it has to outlive this.
class row_source {
public:
    /// `queues` are those of the table that the rows are for.
    row_source(const workload_model& model, const std::vector<std::string>& queues, const row_wish& wish,
               std::string where);

    /// Makes `row` the next one; false at the end, and after a failure.
    [[nodiscard]] bool next(arrival_row& row);
    [[nodiscard]] const std::optional<error>& failure() const noexcept { return failure_; }

    [[nodiscard]] std::int64_t drawn() const noexcept { return drawn_; }
    [[nodiscard]] std::size_t warm_up_rows() const noexcept { return warm_up_rows_; }
    [[nodiscard]] const std::vector<std::int64_t>& rows_per_class() const noexcept { return rows_per_class_; }
    [[nodiscard]] ticks last_arrival() const noexcept { return last_arrival_; }

private:
    [[nodiscard]] bool is_enough();
    bool fail(error failure);

    const workload_model* model_;
    row_wish wish_;
    std::string where_;
    std::vector<std::uint32_t> queues_; ///< by class
    lottery classes_;
    vgpualloc::rng class_stream_;
    arrival_clock clock_;
    duration_source durations_;
    std::vector<std::int64_t> rows_per_class_;
    std::int64_t drawn_ = 0;
    std::int64_t measured_ = 0; ///< of these, after the warm-up
    std::int64_t memory_ = 0;
    std::size_t warm_up_rows_ = 0;
    ticks last_arrival_{};
    std::optional<error> failure_{};
};

} // namespace vgputraces
