// The rows of pods.csv: what arrived, and what became of it. A row is a pod, or a job of a trace whose lines are jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "vgpusim/engine/record.hpp"

namespace vgpusim {

/// What became of one arrival.
struct outcome_row {
    std::vector<std::uint32_t> pods; ///< positions in simulation_input::pods; the first one has the name
    ticks arrival;                   ///< of the last pod
    bool ran_before = false;         ///< it ran when the run began: nobody knows when it arrived and started
    bool placed = false;             ///< it has started, at least its minimum of pods
    bool given_up = false;           ///< it has not, and would not be tried again
    rejection_code reason = rejection_code::none;
    std::optional<ticks> start; ///< the first one
    std::optional<ticks> end;   ///< of all of its pods
    ticks begun;                ///< the last start, after which it ran to its end; meaningful if that is known
    std::uint32_t attempts = 0; ///< how often it was started; 1 if it was tried in vain and given up

    /// From its arrival to its first start.
    [[nodiscard]] std::optional<ticks> wait() const { return start ? std::optional{*start - arrival} : std::nullopt; }
    /// From its arrival to its end: the job completion time (JCT).
    [[nodiscard]] std::optional<ticks> completion() const {
        return end && !ran_before ? std::optional{*end - arrival} : std::nullopt;
    }
};

/// Reads the rows of a run in order of arrival. Record and input must outlive it.
class outcome_rows {
public:
    outcome_rows(const run_record& record, const simulation_input& input);

    [[nodiscard]] std::size_t count() const noexcept {
        return input_->rows_are_jobs ? input_->jobs.size() : input_->pods.size();
    }
    /// Row `number` is filled in anew; its memory is used again.
    void read(std::size_t number, outcome_row& row) const;
    /// Position in simulation_input::queues; 0 where there are none.
    [[nodiscard]] std::uint32_t queue_of(std::size_t number) const noexcept {
        return queues_.empty() ? 0 : queues_[number];
    }

private:
    [[nodiscard]] pod_times times_of(std::uint32_t pod) const noexcept;

    const run_record* record_;
    const simulation_input* input_;
    std::vector<std::uint32_t> queues_; ///< by row; empty where there is at most one queue
};

} // namespace vgpusim
