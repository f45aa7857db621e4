// The jobs of a published trace in one form, whatever the trace calls them, and what of the file is not among them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vgputraces/core_names.hpp"

namespace vgputraces {

/// Most devices of one job: more than any cluster has, small enough that sums over all jobs stay far from 2^63.
inline constexpr std::int64_t job_devices_max = 10'000'000;

/// One job: a row of the file.
struct trace_job {
    std::string name;
    std::int64_t row = 0;            ///< in the file, from 0, whatever became of the rows before it
    ticks arrival{};                 ///< on the clock of the trace
    std::optional<ticks> duration{}; ///< once it runs; absent: it stays
    std::optional<ticks> estimate{}; ///< how long it is said to run at most; absent: nobody knows
    std::int64_t devices = 0;        ///< 0: it needs none
    milli_cpu cpu{};                 ///< 0 where the trace does not say
    vgpualloc::bytes memory{};       ///< of the host; likewise
    std::string queue{};             ///< virtual cluster, queue or application; empty: none is named

    bool operator==(const trace_job&) const = default;
};

/// What becomes of rows that cannot be read.
struct row_options {
    bool skip_bad = false; ///< they are counted and passed over, instead of ending the reading
};

/// Rows that were passed over because they cannot be read.
struct skipped_rows {
    static constexpr std::size_t shown_max = 10;

    std::int64_t count = 0;
    std::vector<error> first; ///< what is wrong with the first of them, at most shown_max

    /// Counts a row, or gives its error back where bad rows end the reading.
    [[nodiscard]] expected<void> take(error failure, const row_options& options) {
        const bool is_of_row = failure.code != error_code::stopped;
        if (!options.skip_bad || !is_of_row) return unexpected(std::move(failure));
        ++count;
        if (first.size() < shown_max) first.push_back(std::move(failure));
        return {};
    }
};

/// Rows that say what the format allows and yet are no job to replay, of one kind.
struct left_out_rows {
    std::string reason; ///< in words, after "n rows are left out: "
    std::int64_t count = 0;
};

struct job_list {
    std::vector<trace_job> jobs; ///< by arrival; those of equal arrival as in the file
    skipped_rows skipped;
    std::vector<left_out_rows> left_out; ///< in the order of the format's documentation, only those that occur
};

} // namespace vgputraces
