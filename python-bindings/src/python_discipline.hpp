// Queue disciplines that a caller has written in Python.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include <nanobind/nanobind.h>

#include "python_policy.hpp"
#include "vgpusim/engine/discipline.hpp"

namespace vgpupython {

namespace nb = nanobind;

/// A job as a discipline sees it. Times in seconds.
struct shown_job {
    std::uint64_t run = 0; ///< number of the discipline that handed it out
    std::uint32_t id = 0;  ///< position in the workload
    double arrival_s = 0.0;
    double start_s = 0.0;    ///< NaN: it waits
    double estimate_s = 0.0; ///< infinite: nobody knows
    std::int32_t priority = 0;
    std::int64_t gpus = 0;
    std::int64_t pods = 0;
    std::string queue{}; ///< empty where there is only one
};

class python_discipline;

/// What schedule() gets; over when that returns.
struct shown_queue {
    python_discipline* discipline = nullptr;
    vgpusim::scheduling_context* run = nullptr;
};

/// Calls schedule() at the end of every instant in which something happened and a job waits. Jobs that would not fit an
/// empty cluster are given up when they arrive, as the disciplines of the library do. After a failure nothing starts.
class python_discipline final : public vgpusim::discipline {
public:
    /// `subject` is a vgpualloc.Discipline. Has the GIL.
    python_discipline(nb::handle subject, failure_sink fail);
    ~python_discipline() override;
    python_discipline(const python_discipline&) = delete;
    python_discipline& operator=(const python_discipline&) = delete;

    [[nodiscard]] bool keeps_waiting() const noexcept override { return keeps_waiting_; }
    void on_arrival(std::uint32_t job, vgpusim::scheduling_context& run) override;
    void on_start(std::uint32_t pod, vgpusim::ticks planned_end, vgpusim::scheduling_context& run) override;
    void on_end(std::uint32_t pod, vgpusim::scheduling_context& run) override;
    void pass(vgpusim::scheduling_context& run) override;

    // ---- what a Queue does; these raise StateError for a job that is not, or not yet, where it is taken to be

    [[nodiscard]] nb::list waiting(vgpusim::scheduling_context& run);
    [[nodiscard]] nb::list running(vgpusim::scheduling_context& run);
    bool start(const shown_job& job, vgpusim::scheduling_context& run);
    void give_up(const shown_job& job, vgpusim::scheduling_context& run);
    void preempt(const shown_job& job, vgpusim::scheduling_context& run);

private:
    /// By turn: the order of arrival.
    using jobs_by_turn = std::map<std::uint64_t, std::uint32_t>;

    [[nodiscard]] const nb::object& object_of(std::uint32_t job, vgpusim::scheduling_context& run);
    [[nodiscard]] std::uint64_t turn_of(const shown_job& job, const jobs_by_turn& among, const char* expected) const;
    [[nodiscard]] nb::list list_of(const jobs_by_turn& jobs, vgpusim::scheduling_context& run);

    nb::object subject_;
    nb::object schedule_;
    failure_sink fail_;
    std::uint64_t number_; ///< of this discipline, among all of the process
    bool keeps_waiting_ = true;
    bool has_failed_ = false;
    std::unordered_map<std::uint32_t, std::uint64_t> turns_;
    jobs_by_turn waiting_;
    jobs_by_turn running_;
    std::unordered_map<std::uint32_t, std::int64_t> running_pods_; ///< by job
    std::unordered_map<std::uint32_t, double> started_s_;          ///< by job that runs
    std::unordered_map<std::uint32_t, nb::object> objects_;
};

} // namespace vgpupython
