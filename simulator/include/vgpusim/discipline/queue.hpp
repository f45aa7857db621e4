// Disciplines with a queue: in which order waiting jobs are tried, and which may overtake one that does not fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "vgpusim/discipline/forecast.hpp"
#include "vgpusim/discipline/freed_nodes.hpp"
#include "vgpusim/discipline/waiting_line.hpp"
#include "vgpusim/engine/discipline.hpp"

namespace vgpusim {

/// Who may start while a job before it in the queue does not fit.
enum class overtaking : std::uint8_t {
    none,       ///< nobody: strict order
    unpromised, ///< whoever does not delay the first one, by the estimates (EASY backfilling)
    everybody,  ///< whoever fits
};

struct queue_rules {
    overtaking overtakes = overtaking::none;
    bool by_priority = false; ///< higher priority first, then order of arrival; and it preempts lower priority
};

/// A queue over the whole cluster. A job of several pods starts with at least its minimum or not at all. A job that
/// would not fit an empty cluster fails when it arrives. A job whose queue has no quota left is passed over: it holds
/// up nobody of another queue.
///
/// `unpromised` is EASY: Mu'alem and Feitelson, "Utilization, Predictability, Workloads, and User Runtime Estimates in
/// Scheduling the IBM SP2 with Backfilling", IEEE TPDS 12(6), 2001. The first job that does not fit is promised the
/// earliest time at which it does by the estimates; another one starts if it fits now and either ends by then or leaves
/// enough for the first one.
class queue_discipline final : public discipline {
public:
    explicit queue_discipline(queue_rules rules) : rules_{rules} {}

    [[nodiscard]] bool keeps_waiting() const noexcept override { return true; }
    void on_arrival(std::uint32_t job, scheduling_context& run) override;
    void on_start(std::uint32_t pod, ticks planned_end, scheduling_context& run) override;
    void on_end(std::uint32_t pod, scheduling_context& run) override;
    void on_cluster_change(scheduling_context& run) override;
    [[nodiscard]] bool approves_late_member(std::uint32_t pod, const vgpualloc::placement& where,
                                            scheduling_context& run) override;
    void pass(scheduling_context& run) override;

    /// Which job was last promised a start, and by when at the latest; none if nobody ever was.
    struct start_promise {
        std::uint32_t job = 0;
        ticks time;
    };
    [[nodiscard]] std::optional<start_promise> promise() const noexcept { return promised_; }

private:
    /// Jobs of one class, which fit or do not fit together.
    struct line {
        waiting_line jobs;
        bool is_active = false;  ///< it is in active_
        bool has_joined = false; ///< it is in joined_
        std::int32_t priority = 0;
        bool refused = false;          ///< one did not fit, and since then nothing has become free that would do
        std::size_t freed_read = 0;    ///< where refused: how many ends of freed_ cannot change that
        freed_nodes::asker asker;      ///< of a line whose jobs fit or not by what single nodes have; else of nobody
        bool preempts_in_vain = false; ///< to stop lower priority made no room for one
        std::size_t preempt_read = 0;  ///< then: how many ends of freed_ there had been
        std::uint64_t delaying_in = 0; ///< promise_ when one that ends too late would have delayed the first job
    };
    /// A job that could be tried next.
    struct candidate {
        std::int32_t priority = 0;
        std::uint64_t turn = 0;
        std::uint32_t line = 0;
        std::size_t position = 0;

        /// Whether the other one is to be tried before it.
        [[nodiscard]] bool operator<(const candidate& other) const noexcept {
            if (priority != other.priority) return priority < other.priority;
            return turn > other.turn;
        }
    };

    bool start_in_order(scheduling_context& run);
    void start_whoever_fits(std::span<const std::uint32_t> lines, scheduling_context& run);
    void backfill(std::uint32_t head, std::span<const std::uint32_t> lines, scheduling_context& run);
    void activate(std::uint32_t number);
    void drop_empty_lines();
    void collect(std::span<const std::uint32_t> lines, ticks longest, scheduling_context& run);
    void collect_next(std::uint32_t line, std::size_t from, ticks longest, scheduling_context& run);
    [[nodiscard]] candidate take_candidate();
    void refuse(line& jobs, std::uint32_t job, scheduling_context& run);
    [[nodiscard]] bool is_refused(line& jobs, scheduling_context& run);
    [[nodiscard]] bool has_quota(std::uint32_t job, scheduling_context& run) const;
    [[nodiscard]] static bool leaves_quota(std::uint32_t head, std::uint32_t other, scheduling_context& run);
    void hold_up_queues(scheduling_context& run);
    [[nodiscard]] std::optional<candidate> head_of(std::uint32_t number) const;
    [[nodiscard]] std::uint32_t job_of(const candidate& one) const noexcept {
        return lines_[one.line].jobs.at(one.position).job;
    }
    [[nodiscard]] std::optional<candidate> first_in_order(scheduling_context& run);
    bool try_start(const candidate& next, scheduling_context& run);
    bool preempts(line& jobs, std::uint32_t job, scheduling_context& run);
    [[nodiscard]] bool tenants_decide(scheduling_context& run);

    queue_rules rules_;
    release_forecast forecast_;
    std::vector<line> lines_;           ///< by class of jobs
    std::vector<std::uint32_t> active_; ///< lines in which somebody waits, and some in which nobody does any more
    std::vector<std::uint32_t> joined_; ///< lines that jobs have joined since the last pass
    bool settled_ = false;              ///< the last pass left nobody who could start, and jobs have only arrived since
    std::vector<std::uint64_t> turns_;  ///< by job, from 1; 0: it never waited
    std::vector<candidate> candidates_; ///< a heap
    std::map<std::int32_t, std::int64_t> running_; ///< pods by priority, where that counts
    std::uint64_t next_turn_ = 1;
    std::optional<bool> tenants_decide_;
    freed_nodes freed_;
    std::optional<candidate> first_; ///< as first_in_order() found it, until another may be the first
    std::uint64_t promise_ = 1;      ///< rises when one that would have delayed the first job may no longer do so
    std::optional<start_promise> promised_;
    bool head_waits_ = false;   ///< the job of promised_ has not started since
    std::vector<bool> held_up_; ///< by queue, where jobs go in order: its first one has no quota
};

} // namespace vgpusim
