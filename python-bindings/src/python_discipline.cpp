#include "python_discipline.hpp"

#include <atomic>
#include <cmath>
#include <limits>

#include <nanobind/stl/string.h>

#include "bind.hpp"
#include "errors.hpp"
#include "vgpusim/engine/scheduling_context.hpp"

namespace vgpupython {

using vgpusim::scheduling_context;
using vgpusim::ticks;

namespace {

std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

} // namespace

python_discipline::python_discipline(nb::handle subject, failure_sink fail)
    : subject_{nb::borrow(subject)}, schedule_{subject.attr("schedule")}, fail_{std::move(fail)},
      number_{next_number()}, keeps_waiting_{nb::cast<bool>(subject.attr("keeps_waiting"))} {}

python_discipline::~python_discipline() {
    const nb::gil_scoped_acquire python;
    objects_.clear();
    schedule_.reset();
    subject_.reset();
    fail_ = {};
}

void python_discipline::on_arrival(std::uint32_t job, scheduling_context& run) {
    const auto [turn, is_new] = turns_.try_emplace(job, turns_.size());
    if (is_new && keeps_waiting_) {
        if (const auto why = run.why_never(job); why != vgpusim::rejection_code::none) {
            run.give_up(job, why);
            return;
        }
    }
    waiting_.emplace(turn->second, job);
}

void python_discipline::on_start(std::uint32_t pod, ticks /*planned_end*/, scheduling_context& run) {
    const std::uint32_t job = run.jobs().job_of(pod);
    if (running_pods_[job]++ > 0) return;
    const auto turn = turns_.try_emplace(job, turns_.size()).first->second;
    waiting_.erase(turn);
    running_.emplace(turn, job);
    started_s_[job] = seconds_of(run.now());
}

void python_discipline::on_end(std::uint32_t pod, scheduling_context& run) {
    const std::uint32_t job = run.jobs().job_of(pod);
    const auto pods = running_pods_.find(job);
    if (--pods->second > 0) return;
    running_pods_.erase(pods);
    running_.erase(turns_.at(job));
    started_s_.erase(job);
}

void python_discipline::pass(scheduling_context& run) {
    if (has_failed_ || waiting_.empty()) return;
    {
        const nb::gil_scoped_acquire python;
        try {
            const nb::object queue = nb::cast(shown_queue{.discipline = this, .run = &run});
            auto& shown = *nb::inst_ptr<shown_queue>(queue);
            try {
                schedule_(queue);
            } catch (...) {
                shown = {};
                throw;
            }
            shown = {};
        } catch (nb::python_error& raised) {
            has_failed_ = true;
            fail_(std::move(raised));
            return;
        }
    }
    if (keeps_waiting_) return;
    const jobs_by_turn left = std::exchange(waiting_, {});
    for (const auto& [turn, job] : left) run.give_up(job);
}

// ---- the queue

const nb::object& python_discipline::object_of(std::uint32_t job, scheduling_context& run) {
    auto [entry, is_new] = objects_.try_emplace(job);
    if (is_new) {
        const auto& jobs = run.jobs();
        const ticks estimate = jobs.estimate(job);
        shown_job shown{.run = number_,
                        .id = job,
                        .estimate_s =
                            estimate == ticks::max() ? std::numeric_limits<double>::infinity() : seconds_of(estimate),
                        .priority = jobs.priority(job),
                        .pods = jobs.pod_count(job)};
        for (std::uint32_t member = 0; member < jobs.pod_count(job); ++member) {
            const std::uint32_t pod = jobs.pod(job, member);
            shown.arrival_s = std::max(shown.arrival_s, seconds_of(run.input().pods[pod].arrival));
            shown.gpus += vgpusim::amounts_of(run.request_of(pod)).devices;
        }
        if (!run.input().queues.empty()) shown.queue = run.input().queues[jobs.queue(job)].name;
        entry->second = nb::cast(std::move(shown));
    }
    const auto started = started_s_.find(job);
    nb::inst_ptr<shown_job>(entry->second)->start_s = started == started_s_.end() ? std::nan("") : started->second;
    return entry->second;
}

nb::list python_discipline::list_of(const jobs_by_turn& jobs, scheduling_context& run) {
    nb::list result;
    for (const auto& [turn, job] : jobs) result.append(object_of(job, run));
    return result;
}

nb::list python_discipline::waiting(scheduling_context& run) { return list_of(waiting_, run); }
nb::list python_discipline::running(scheduling_context& run) { return list_of(running_, run); }

std::uint64_t python_discipline::turn_of(const shown_job& job, const jobs_by_turn& among, const char* expected) const {
    if (job.run == number_) {
        const auto turn = turns_.find(job.id);
        if (turn != turns_.end() && among.contains(turn->second)) return turn->second;
    }
    raise_state("job " + std::to_string(job.id) + ": expected " + expected);
}

bool python_discipline::start(const shown_job& job, scheduling_context& run) {
    const std::uint64_t turn = turn_of(job, waiting_, "one that waits");
    if (run.try_start(job.id) != vgpusim::start_result::started) return false;
    waiting_.erase(turn);
    return true;
}

void python_discipline::give_up(const shown_job& job, scheduling_context& run) {
    waiting_.erase(turn_of(job, waiting_, "one that waits"));
    run.give_up(job.id);
}

void python_discipline::preempt(const shown_job& job, scheduling_context& run) {
    static_cast<void>(turn_of(job, running_, "one that runs"));
    run.preempt(job.id);
}

void bind_discipline(nb::module_& module) {
    nb::class_<shown_job>(module, "Job")
        .def_ro("id", &shown_job::id)
        .def_ro("arrival_s", &shown_job::arrival_s)
        .def_ro("start_s", &shown_job::start_s)
        .def_ro("estimate_s", &shown_job::estimate_s)
        .def_ro("priority", &shown_job::priority)
        .def_ro("gpus", &shown_job::gpus)
        .def_ro("pods", &shown_job::pods)
        .def_ro("queue", &shown_job::queue)
        .def("__repr__", [](const shown_job& job) {
            return "Job(" + std::to_string(job.id) + ": " + std::to_string(job.gpus) + " GPUs, " +
                   std::to_string(job.pods) + " pods)";
        });
    const auto open = [](const shown_queue& queue) -> const shown_queue& {
        if (queue.discipline == nullptr) raise_state("a Queue is used while schedule() runs, not later");
        return queue;
    };
    nb::class_<shown_queue>(module, "Queue")
        .def_prop_ro("now", [open](const shown_queue& queue) { return seconds_of(open(queue).run->now()); })
        .def_prop_ro("waiting",
                     [open](const shown_queue& queue) { return open(queue).discipline->waiting(*queue.run); })
        .def_prop_ro("running",
                     [open](const shown_queue& queue) { return open(queue).discipline->running(*queue.run); })
        .def("start", [open](const shown_queue& queue,
                             const shown_job& job) { return open(queue).discipline->start(job, *queue.run); })
        .def("give_up", [open](const shown_queue& queue,
                               const shown_job& job) { open(queue).discipline->give_up(job, *queue.run); })
        .def("preempt", [open](const shown_queue& queue, const shown_job& job) {
            open(queue).discipline->preempt(job, *queue.run);
        });
}

} // namespace vgpupython
