#include "vgpusim/outputs/rows.hpp"

#include <algorithm>

namespace vgpusim {

outcome_rows::outcome_rows(const run_record& record, const simulation_input& input) : record_{&record}, input_{&input} {
    if (input.queues.size() < 2) return;
    queues_.resize(count());
    for (std::uint32_t number = 0; number < input.jobs.size(); ++number) {
        const job& whole = input.jobs[number];
        if (input.rows_are_jobs) {
            queues_[number] = whole.queue;
            continue;
        }
        for (std::uint32_t i = 0; i < whole.pods; ++i) queues_[input.members[whole.first + i]] = whole.queue;
    }
}

/// When the pod ran, as far as the loop has kept it.
pod_times outcome_rows::times_of(std::uint32_t pod) const noexcept {
    if (!record_->result.times.empty()) return record_->result.times[pod];
    const bool placed = record_->result.pods[pod].booking != no_booking;
    const ticks arrival = input_->pods[pod].arrival;
    pod_times times;
    times.start = arrival;
    times.begun = arrival;
    times.starts = placed ? 1U : 0U;
    times.given_up = !placed;
    return times;
}

void outcome_rows::read(std::size_t number, outcome_row& row) const {
    const simulation_input& input = *input_;
    row.pods.clear();
    if (input.rows_are_jobs) {
        const job& whole = input.jobs[number];
        for (std::uint32_t i = 0; i < whole.pods; ++i) row.pods.push_back(input.members[whole.first + i]);
    } else {
        row.pods.push_back(static_cast<std::uint32_t>(number));
    }
    row.arrival = input.pods[row.pods.front()].arrival;
    row.ran_before = !input.rows_are_jobs && number < input.running.size();
    row.placed = false;
    row.reason = rejection_code::none;
    row.start.reset();
    row.end.reset();
    row.attempts = 0;
    bool all_ended = true;
    bool given_up = false;
    ticks end;
    for (const std::uint32_t pod : row.pods) {
        const pod_times times = times_of(pod);
        row.arrival = std::max(row.arrival, input.pods[pod].arrival);
        if (times.starts > 0 && (!row.start || times.start < *row.start)) row.start = times.start;
        if (times.starts > 0 && (row.attempts == 0 || times.begun < row.begun)) row.begun = times.begun;
        row.attempts = std::max(row.attempts, times.starts);
        all_ended = all_ended && times.ended;
        given_up = given_up || times.given_up;
        end = std::max(end, times.end);
        if (row.reason == rejection_code::none) row.reason = record_->result.pods[pod].reason;
    }
    row.placed = row.attempts > 0;
    row.given_up = !row.placed && given_up;
    if (all_ended) row.end = end;
    if (row.placed) row.reason = rejection_code::none;
    if (row.given_up) row.attempts = 1;
    if (row.ran_before) row.start.reset(); // that was before the run
}

} // namespace vgpusim
