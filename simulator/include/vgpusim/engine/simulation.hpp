// The discrete-event loop: replays a workload against the allocator and records what happened.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/plan/move_executor.hpp"
#include "vgpusim/engine/cluster_service.hpp"
#include "vgpusim/engine/discipline.hpp"
#include "vgpusim/engine/event_clock.hpp"
#include "vgpusim/engine/event_queue.hpp"
#include "vgpusim/engine/gauges.hpp"
#include "vgpusim/engine/latency.hpp"
#include "vgpusim/engine/mig_instances.hpp"
#include "vgpusim/engine/move_planner.hpp"
#include "vgpusim/engine/over_time.hpp"
#include "vgpusim/engine/placer.hpp"
#include "vgpusim/engine/scheduling_context.hpp"
#include "vgpusim/workload/settings.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

inline constexpr std::uint32_t no_booking = std::numeric_limits<std::uint32_t>::max();

/// What became of one pod.
struct pod_outcome {
    /// Of the last start, position in ledger::bookings(); no_booking = never placed. Where the log is dropped it says
    /// only whether the pod was placed.
    std::uint32_t booking = no_booking;
    rejection_code reason = rejection_code::none; ///< of the last attempt that failed
};

/// When a pod ran.
struct pod_times {
    ticks start;              ///< the first time that it ran, or will; meaningful if starts > 0
    ticks end;                ///< meaningful if ended
    ticks begun;              ///< of the latest start
    std::uint32_t starts = 0; ///< more than one after preemptions and failures
    bool ended = false;       ///< it has run to its end
    bool given_up = false;    ///< it will not be tried again
    bool has_run = false;     ///< it was not stopped before its MIG instances were there
    bool failed = false;      ///< a failure has stopped it, and it has not started since
    std::uint32_t moves = 0;  ///< of this and earlier runs
    node_index node;          ///< of the latest start, or where it was moved since
    ticks delayed;            ///< by the downtime of the moves of this run

    /// Tells the finish of this run, with the moves so far, from others.
    [[nodiscard]] std::uint32_t round() const noexcept { return starts + moves; }
};

/// The cluster after one event, or at one sampling time.
struct sample {
    ticks time;
    std::int64_t arrived_milli = 0; ///< asked for by all pods that have arrived, failed ones too
    std::int64_t allocated_milli = 0;
    requested_units served{};        ///< asked for by the pods that run, in each dimension at most what devices have
    std::int64_t unusable_micro = 0; ///< fragmentation F, millionths of a milli-GPU
    std::int64_t used_nodes = 0;
    std::int64_t used_gpus = 0;
    std::int64_t waiting = 0; ///< jobs in the queue
    std::int64_t running = 0; ///< pods
    device_use devices{};
};

/// Somebody who learns from arrivals.
class arrival_listener {
public:
    arrival_listener() = default;
    virtual ~arrival_listener() = default;
    arrival_listener(const arrival_listener&) = delete;
    arrival_listener& operator=(const arrival_listener&) = delete;

    virtual void note_arrival(const pod_request& request) = 0;
};

/// How pods are moved for others that would be lost, or so that devices become empty; without a planner none is.
struct move_rules {
    move_planner* planner = nullptr;
    ticks interval{};           ///< so often devices are emptied; 0: pods move for others that would be lost
    double per_accepted = 0.01; ///< moves that each pod that starts allows
    double tokens_max = 50.0;   ///< moves that may be saved up
    ticks downtime{};           ///< of a pod, per move: it runs so much longer
    ticks copy_per_gib{};       ///< while it is copied a pod has its old place and the new one
};

/// What came of them.
struct move_figures {
    std::int64_t planned = 0; ///< plans
    std::int64_t dropped = 0; ///< plans that came to nothing, because something else happened first
    std::int64_t done = 0;    ///< moves
    std::int64_t pods_moved = 0;
    double downtime_s = 0.0;
    double copy_s = 0.0;
};

/// What of a run is kept: all that its files tell; its figures, without why idle devices are of no use, which takes a
/// tenth of a study's time; or what became of the pods alone, which makes many runs of a study faster. Then the
/// ledger's log is dropped as it is read, and of simulation_result the samples, what is counted over time or at the
/// peak, the clock, the latencies and layout_changes say nothing.
enum class kept_of_run : std::uint8_t { everything, figures, pods };

struct simulation_options {
    kept_of_run kept = kept_of_run::everything;
    /// Time between samples; 0 = a sample after every placement, failure and finish.
    ticks sample_interval{};
    after_failure on_failure = after_failure::requeue;
    /// How long it takes to make a MIG instance that is not there; its slices are taken meanwhile.
    ticks layout_change{};
    /// By kind of device, what it draws (power_of_kinds()).
    std::vector<std::optional<power_draw>> power{};
    /// Decides in place of the allocator, which then only shows the state of nodes; null: the allocator decides. It
    /// needs a discipline that only tries (discipline_entry::only_tries).
    placer* decides = nullptr;
    /// Told of every pod that arrives, before its first decision; null: nobody is.
    arrival_listener* listens = nullptr;
    /// Needs a discipline that only tries.
    move_rules moves{};
    stop_signal stop{};
};

/// When the most was allocated; of equal moments the first.
struct allocation_peak {
    sample state;
    std::uint64_t events = 0; ///< of the ledger up to there
};

/// What went otherwise than planned.
struct disturbances {
    std::int64_t preemptions = 0;    ///< jobs that were stopped for others
    std::int64_t migrations = 0;     ///< pods that started again on another node than before
    std::int64_t pods_stopped = 0;   ///< by failures of what they ran on, and by crashes
    std::int64_t pods_lost = 0;      ///< of these, those that never ran again
    std::int64_t layout_changes = 0; ///< MIG instances that were made
    /// requested_units x seconds of runs that were stopped, for whatever reason.
    basic_requested_units<double> unit_seconds_redone{};
};

struct simulation_result {
    std::vector<pod_outcome> pods; ///< in order of arrival
    /// Likewise; empty where no pod leaves and none waits: then every pod that is placed starts when it arrives.
    std::vector<pod_times> times;
    std::vector<sample> samples;
    std::vector<std::string> profiles;           ///< of MIG, whose stranded slices are counted
    std::vector<std::int64_t> stranded;          ///< for each sample, memory slices by profile
    std::vector<amount_over_time> stranded_sums; ///< by profile, over usage.span()
    std::vector<std::int64_t> stranded_max;      ///< by profile, after any event
    over_time usage;                             ///< from the first arrival to the last event, or further (extend_to)
    amounts_in_use at_end;                       ///< after the last event
    ticks ended;                                 ///< when that was
    std::vector<std::int64_t> stranded_at_end;   ///< by profile
    over_time usage_of_arrivals;                 ///< from the first arrival to the last one
    allocation_peak peak;
    std::int64_t served_peak = 0;     ///< requested_units, the larger dimension, after any event
    bool served_beyond_total = false; ///< at some moment pods ran that asked for more than all devices have
    event_clock clock;                ///< of the ledger's events
    disturbances disturbed;
    move_figures moves;
    overcommitment given_beyond; ///< by a placer
    std::int64_t placed = 0;     ///< pods that started at least once
    std::int64_t failed = 0;     ///< pods that were given up
    std::int64_t finished = 0;
    std::int64_t decisions = 0;
    std::uint64_t loop_ns = 0; ///< wall time of the loop
    double loop_cpu_s = 0.0;   ///< CPU time of the loop's thread, which nothing beside it lengthens
    latency_histogram decision_latency;
    bool stopped = false; ///< the caller wanted an end (simulation_options::stop): nothing else here says anything

    /// Lets the state at the end last until `end`: the means of runs that are compared are over one span of time.
    void extend_to(ticks end);

    /// Decisions per CPU second: the loop is one thread, so on an idle machine this is the rate by the wall clock too.
    [[nodiscard]] double decisions_per_s() const noexcept {
        return loop_cpu_s > 0.0 ? static_cast<double>(decisions) / loop_cpu_s : 0.0;
    }
};

/// One replay. The input, ledger and allocator must outlive it and not be used for anything else meanwhile.
class simulation final : public scheduling_context, private vgpualloc::plan::move_host {
public:
    /// Called now and then with the number of arrivals handled.
    using progress = std::function<void(std::size_t)>;
    using scheduling_context::book;

    simulation(const simulation_input& input, vgpualloc::ledger& book, vgpualloc::allocator& alloc, discipline& rules,
               std::shared_ptr<vgpualloc::fragmentation_model> fragmentation, simulation_options options);

    /// Runs until no event is left, or the caller wants an end.
    [[nodiscard]] simulation_result run(const progress& tell);

    // The same in parts, for a caller that decides between them: begin() once, advance() while it returns true, end().

    void begin();
    /// Handles the next event, or the pass at the end of an instant. False when nothing is left, or at a stop.
    [[nodiscard]] bool advance();
    [[nodiscard]] simulation_result end();
    /// Gives what the caller has booked between two calls of advance() the current time.
    void note_events();
    /// Pods that have arrived.
    [[nodiscard]] std::size_t arrivals() const noexcept { return arrivals_; }

    /// The state as the loop counts it.
    [[nodiscard]] gauges& state() noexcept { return gauges_; }

    [[nodiscard]] bool wants_stop() override { return stopped_ || (stopped_ = options_.stop.poll()); }
    start_result try_start(std::uint32_t job, const approval* approve = nullptr) override;
    start_result start_on(std::uint32_t job, std::span<const std::optional<node_index>> nodes) override;
    void start_at(std::uint32_t job, std::span<const std::optional<vgpualloc::placement>> places) override;
    void give_up(std::uint32_t job, rejection_code why = rejection_code::none) override;
    void add_node_at(node_index node, ticks time) override { queue_.push(time, event_class::node_added, node.value()); }
    [[nodiscard]] bool is_given_up(std::uint32_t pod) const noexcept override { return result_.times[pod].given_up; }
    void preempt(std::uint32_t job) override;
    [[nodiscard]] rejection_code why_never(std::uint32_t job) override;

private:
    /// A pod of a job that starts, and the slot of its booking.
    struct member {
        std::uint32_t pod = 0;
        std::uint32_t booking = 0;
    };

    // Moves (simulation_moves.cpp). The executor reports here what it does.
    void set_closed(node_index node, device_index device, bool closed) override;
    [[nodiscard]] pod_id new_copy() override;
    void begin_copy(vgpualloc::plan::move_ticket ticket, const vgpualloc::plan::pod_move& move) override;
    void go_on_soon(vgpualloc::plan::move_ticket ticket) override;
    void leaves(const vgpualloc::plan::pod_move& move) override;
    void arrives(const vgpualloc::plan::pod_move& move, vgpualloc::booking_id booked) override;
    void use_changed(node_index node) override;
    [[nodiscard]] bool may_start(pod_id arriving) override;
    void ended(const vgpualloc::plan::ended_plan& plan) override;
    [[nodiscard]] room_wanted question_about_moves();
    [[nodiscard]] bool make_room(std::uint32_t pod);
    void tidy();
    [[nodiscard]] bool start_plan(vgpualloc::plan::move_plan planned, std::optional<vgpualloc::booking> arriving);
    [[nodiscard]] bool moves_take_time() const noexcept;
    [[nodiscard]] ticks copy_time(const vgpualloc::plan::pod_move& move) const;
    void drop_plans_of_copies(std::vector<std::uint32_t>& stopped);
    bool repeat(event_class what, ticks time);

    [[nodiscard]] bool step();
    [[nodiscard]] bool is_over() const noexcept;
    void hold(ticks until);
    void arrive();
    void go_on(std::uint32_t pod);
    void enqueue(std::uint32_t job);
    void handle(const event& happening);
    void finish(std::uint32_t pod);
    [[nodiscard]] bool is_stale(const event& happening) const noexcept;
    void change_cluster(const cluster_event& change);
    void stop_pods(std::vector<std::uint32_t> pods);
    void stop_job(std::uint32_t job, bool again);
    void end_pod(std::uint32_t pod);
    [[nodiscard]] std::optional<vgpualloc::placed_pod> place(std::uint32_t pod);
    start_result start_single(std::uint32_t job, const approval* approve);
    start_result start_pod(std::uint32_t pod, const approval& approve);
    start_result start_gang(std::uint32_t job, const approval* approve);
    void begin_job(std::uint32_t job, std::span<const member> members);
    void start_late_members();
    [[nodiscard]] bool has_quota(std::uint32_t job);
    [[nodiscard]] vgpualloc::booking booking_for(std::uint32_t pod) const;
    [[nodiscard]] std::uint32_t book(std::uint32_t pod, const vgpualloc::placement& where);
    [[nodiscard]] ticks provide_instances(const vgpualloc::placement& where);
    void begin(const member& started, ticks time);
    [[nodiscard]] bool counts_amounts() const noexcept { return options_.kept != kept_of_run::pods; }
    [[nodiscard]] std::uint64_t decision_begin() const noexcept; ///< ns
    void count_decision(std::uint64_t begin);
    void forget_log();
    void update_node(node_index where);
    /// What the running pods ask for, at most what devices have.
    [[nodiscard]] requested_units served() const noexcept;
    [[nodiscard]] sample state_at(ticks time) const;
    [[nodiscard]] amounts_in_use amounts() const noexcept;
    void record();
    void add_sample(ticks time);
    void note_peak();
    void count_outcomes();

    discipline* discipline_;
    simulation_options options_;
    gauges gauges_;
    cluster_service service_;
    mig_instances instances_;
    event_queue queue_;
    std::int64_t units_total_ = 0; ///< requested_units of all devices, in each dimension
    simulation_result result_;
    std::size_t arrivals_ = 0;                 ///< pods that have arrived
    std::vector<std::uint32_t> members_live_;  ///< by job, where jobs are named or have quotas: pods that run
    std::vector<std::uint32_t> members_here_;  ///< by job, where jobs are named: pods that have arrived
    std::vector<std::uint32_t> late_members_;  ///< pods of running jobs beyond their minimum, in the order of starting
    std::vector<vgpualloc::placement> places_; ///< of the gang that is being tried
    std::vector<std::optional<rejection_code>> never_; ///< why_never() by class
    std::unique_ptr<class empty_cluster> empty_;       ///< made when first asked
    wide_requested_units arrived_{};
    requested_units served_{};
    std::int64_t waiting_ = 0;
    std::int64_t running_ = 0;
    std::uint64_t id_generation_ = 0;
    vgpualloc::plan::move_executor executor_;
    std::uint32_t copies_made_ = 0;
    std::size_t repeating_ = 0; ///< samples and looks for devices to empty that are queued
    std::uint64_t began_ns_ = 0;
    double began_cpu_s_ = 0.0;
    bool stopped_ = false;
    bool tidy_due_ = false;
    bool pass_due_ = false;
    bool capacity_freed_ = false; ///< since late members were last tried

public:
    ~simulation() override;
    simulation(const simulation&) = delete;
    simulation& operator=(const simulation&) = delete;
};

} // namespace vgpusim
