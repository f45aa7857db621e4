// A straight implementation of fifo, easy and conservative on one pool of identical units: what the disciplines must
// agree with, job by job. It shares no code with them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vgpusim_test {

struct pool_job {
    std::int64_t arrival = 0;
    std::int64_t duration = 0;
    std::int64_t estimate = 0; ///< at least the duration
    std::int64_t units = 1;
    std::int64_t start = -1; ///< the answer
};

/// One instant: all finishes, then all arrivals, then one pass over the queue in order of arrival.
class pool_reference {
public:
    pool_reference(std::vector<pool_job> jobs, std::int64_t units) : jobs_{std::move(jobs)}, free_{units} {}

    std::vector<pool_job> run(const std::string& discipline) {
        std::size_t next = 0;
        while (next < jobs_.size() || !running_.empty()) {
            std::int64_t now = INT64_MAX;
            if (next < jobs_.size()) now = jobs_[next].arrival;
            for (const std::size_t r : running_) now = std::min(now, end(r));
            std::erase_if(running_, [&](std::size_t r) {
                if (end(r) != now) return false;
                free_ += jobs_[r].units;
                return true;
            });
            for (; next < jobs_.size() && jobs_[next].arrival == now; ++next) queue_.push_back(next);
            if (discipline == "conservative") {
                plan(now);
            } else {
                while (!queue_.empty() && jobs_[queue_.front()].units <= free_) start(0, now);
                if (discipline == "easy" && !queue_.empty()) backfill(now);
            }
        }
        return jobs_;
    }

private:
    [[nodiscard]] std::int64_t end(std::size_t job) const { return jobs_[job].start + jobs_[job].duration; }
    [[nodiscard]] std::int64_t planned_end(std::size_t job) const { return jobs_[job].start + jobs_[job].estimate; }

    void start(std::size_t position, std::int64_t now) {
        const std::size_t job = queue_[position];
        jobs_[job].start = now;
        free_ -= jobs_[job].units;
        running_.push_back(job);
        queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(position));
    }

    void backfill(std::int64_t now) {
        std::vector<std::size_t> by_end = running_;
        std::ranges::sort(by_end, {}, [this](std::size_t job) { return planned_end(job); });
        std::int64_t units = free_;
        std::int64_t shadow = now;
        for (std::size_t i = 0; i < by_end.size() && units < jobs_[queue_.front()].units; ++i) {
            shadow = planned_end(by_end[i]);
            units += jobs_[by_end[i]].units;
            for (; i + 1 < by_end.size() && planned_end(by_end[i + 1]) == shadow; ++i) {
                units += jobs_[by_end[i + 1]].units;
            }
        }
        std::int64_t extra = units - jobs_[queue_.front()].units;
        for (std::size_t i = 1; i < queue_.size();) {
            const pool_job& job = jobs_[queue_[i]];
            const bool in_time = now + job.estimate <= shadow;
            if (job.units > free_ || (!in_time && job.units > extra)) {
                ++i;
                continue;
            }
            if (!in_time) extra -= job.units;
            start(i, now);
        }
    }

    /// The fewest units free in [from, to) beside what runs and what is planned.
    void plan(std::int64_t now) {
        struct busy {
            std::int64_t from, to, units;
        };
        std::vector<busy> all;
        for (const std::size_t r : running_) all.push_back({now, planned_end(r), jobs_[r].units});
        std::int64_t total = free_;
        for (const busy& b : all) total += b.units;
        const auto fits = [&](const pool_job& job, std::int64_t from) {
            std::vector<std::int64_t> moments{from};
            for (const busy& b : all) {
                if (b.from > from && b.from < from + job.estimate) moments.push_back(b.from);
            }
            return std::ranges::all_of(moments, [&](std::int64_t moment) {
                std::int64_t used = 0;
                for (const busy& b : all) {
                    if (b.from <= moment && moment < b.to) used += b.units;
                }
                return used + job.units <= total;
            });
        };
        for (std::size_t i = 0; i < queue_.size();) {
            const pool_job& job = jobs_[queue_[i]];
            std::vector<std::int64_t> moments{now};
            for (const busy& b : all) moments.push_back(b.to);
            std::ranges::sort(moments);
            const auto slot =
                *std::ranges::find_if(moments, [&](std::int64_t moment) { return moment >= now && fits(job, moment); });
            all.push_back({slot, slot + job.estimate, job.units});
            if (slot == now) {
                start(i, now);
            } else {
                ++i;
            }
        }
    }

    std::vector<pool_job> jobs_;
    std::vector<std::size_t> running_;
    std::vector<std::size_t> queue_;
    std::int64_t free_;
};

} // namespace vgpusim_test
