// The jobs of a workload as the loop and the disciplines look at them: where the workload names none, every pod is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

/// Jobs are numbered from 0: in the order of simulation_input::jobs, or as the pods are. The input must outlive it.
class job_table {
public:
    explicit job_table(const simulation_input& input);

    [[nodiscard]] std::size_t count() const noexcept { return named() ? input_->jobs.size() : input_->pods.size(); }
    [[nodiscard]] std::uint32_t pod_count(std::uint32_t job) const noexcept {
        return named() ? input_->jobs[job].pods : 1;
    }
    /// The member at `position`, as a position in simulation_input::pods.
    [[nodiscard]] std::uint32_t pod(std::uint32_t job, std::uint32_t position) const noexcept {
        return named() ? input_->members[input_->jobs[job].first + position] : job;
    }
    [[nodiscard]] std::uint32_t job_of(std::uint32_t pod) const noexcept { return named() ? job_of_[pod] : pod; }
    [[nodiscard]] std::uint32_t minimum(std::uint32_t job) const noexcept {
        return named() ? input_->jobs[job].minimum : 1;
    }
    [[nodiscard]] std::uint32_t queue(std::uint32_t job) const noexcept {
        return named() ? input_->jobs[job].queue : 0;
    }
    [[nodiscard]] std::int32_t priority(std::uint32_t job) const noexcept {
        return named() ? input_->jobs[job].priority : 0;
    }
    /// How long a planner takes the job to run: what it is said to run, else what it will, else for ever.
    [[nodiscard]] ticks estimate(std::uint32_t job) const noexcept;
    [[nodiscard]] std::uint32_t request_of(std::uint32_t pod) const noexcept { return input_->pods[pod].request; }

    /// Jobs of one class ask for the same, in one queue with one priority: where one does not fit, no other one does.
    [[nodiscard]] std::uint32_t class_of(std::uint32_t job) const noexcept {
        return named() ? class_of_[job] : input_->pods[job].request;
    }
    [[nodiscard]] std::size_t class_count() const noexcept { return class_count_; }
    /// What a job counts for its queue's quota.
    [[nodiscard]] device_amounts amounts(std::uint32_t job) const noexcept;

private:
    [[nodiscard]] bool named() const noexcept { return !input_->jobs.empty(); }

    const simulation_input* input_;
    std::vector<std::uint32_t> job_of_;   ///< by pod
    std::vector<std::uint32_t> class_of_; ///< by job
    std::size_t class_count_ = 0;
    std::vector<device_amounts> amounts_of_request_;
};

/// What a request says by itself that it takes, over all its containers and devices.
[[nodiscard]] device_amounts amounts_of(const pod_request& request) noexcept;

} // namespace vgpusim
