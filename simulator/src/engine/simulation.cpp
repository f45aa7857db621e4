// The event loop.
#include "vgpusim/engine/simulation.hpp"

#include <algorithm>
#include <utility>

#include "vgpualloc/model/trial.hpp"
#include "vgpusim/engine/empty_cluster.hpp"
#include "vgpusim/engine/fault_domain.hpp"

namespace vgpusim {

namespace {

/// Whether anything but arrivals can happen to a pod, so that its times have to be kept.
bool keeps_times(const simulation_input& input, const discipline& rules) {
    return rules.keeps_waiting() || !input.jobs.empty() || !input.cluster_events.empty() || !input.crashes.empty() ||
           std::ranges::any_of(input.pods, [](const arriving_pod& pod) { return pod.duration.has_value(); });
}

vgpualloc::plan::move_ticket ticket_of(const event& moved) { return {.plan = moved.subject, .step = moved.round}; }

} // namespace

simulation::simulation(const simulation_input& input, vgpualloc::ledger& book, vgpualloc::allocator& alloc,
                       discipline& rules, std::shared_ptr<vgpualloc::fragmentation_model> fragmentation,
                       simulation_options options)
    : scheduling_context{input, book, alloc, options.layout_change, options.decides != nullptr}, discipline_{&rules},
      options_{std::move(options)},
      gauges_{std::move(fragmentation), device_use_model{book.nodes(), options_.power}, book.nodes().nodes.size()},
      service_{book}, units_total_{device_count(book.nodes()) * input.requested.whole()},
      id_generation_{alloc.id_generation()},
      executor_{book,
                *this,
                {.allowance = {.per_accepted = options_.moves.per_accepted, .saved_max = options_.moves.tokens_max},
                 .instant = !moves_take_time()}} {
    requests_.reserve(input.requests.size());
    for (const auto& request : input.requests) {
        const auto known = alloc.intern(request);
        VGA_ASSERT(known.has_value(), "a workload's requests are within the core's limits");
        requests_.push_back(*known);
    }
    result_.pods.resize(input.pods.size());
    if (keeps_times(input, rules) || options_.moves.planner != nullptr) result_.times.resize(input.pods.size());
    if (!input.jobs.empty() || quotas_.limits()) members_live_.resize(jobs_.count());
    if (!input.jobs.empty()) members_here_.resize(jobs_.count());
    for (std::size_t i = 0; i < book.nodes().nodes.size(); ++i) update_node(node_index{i});
    result_.profiles = gauges_.profiles();
    result_.stranded_sums.resize(result_.profiles.size());
    result_.stranded_max = gauges_.stranded;
    if (counts_amounts() && options_.sample_interval == ticks{0}) result_.samples.reserve(input.pods.size());
}

simulation::~simulation() = default;

// ---- arrivals and attempts

void simulation::arrive() {
    const auto pod = static_cast<std::uint32_t>(arrivals_++);
    hold(input_->pods[pod].arrival);
    if (pod < input_->running.size()) return go_on(pod);
    result_.usage_of_arrivals = result_.usage;
    arrived_ += input_->requested[input_->pods[pod].request];
    allocator_->note_arrival(request_id_of(pod));
    if (options_.listens != nullptr) options_.listens->note_arrival(request_of(pod));
    const std::uint32_t job = jobs_.job_of(pod);
    if (!members_here_.empty() && ++members_here_[job] < jobs_.pod_count(job)) return;
    enqueue(job);
    if (discipline_->keeps_waiting()) record();
}

/// A pod that ran before the run began has its devices already, even those that nobody would give it now.
void simulation::go_on(std::uint32_t pod) {
    if (!members_here_.empty()) ++members_here_[jobs_.job_of(pod)];
    auto entry = booking_for(pod);
    entry.where = input_->running[pod];
    const auto booked = ledger_->adopt(std::move(entry));
    VGA_ASSERT(booked.has_value(), "what runs in a cluster can be counted there");
    static_cast<void>(instances_.provide(*ledger_, input_->running[pod])); // they are there
    begin({.pod = pod, .booking = booked->slot}, now_);
}

void simulation::enqueue(std::uint32_t job) {
    ++waiting_;
    pass_due_ = true;
    discipline_->on_arrival(job, *this);
}

std::optional<vgpualloc::placed_pod> simulation::place(std::uint32_t pod) {
    if (wants_stop()) return std::nullopt;
    const std::uint64_t asked_ns = decision_begin();
    const auto finish = [&](auto placed, const auto& code_of) -> std::optional<vgpualloc::placed_pod> {
        count_decision(asked_ns);
        if (placed) return *std::move(placed);
        result_.pods[pod].reason = code_of(placed.error());
        return std::nullopt;
    };
    if (options_.decides != nullptr)
        return finish(options_.decides->place(pod), [](rejection_code code) { return code; });
    return finish(allocator_->place(*ledger_, pod_id{pod}, requests_[input_->pods[pod].request]),
                  [](const vgpualloc::rejection& refusal) { return refusal.main_code(); });
}

bool simulation::has_quota(std::uint32_t job) {
    if (!quotas_.limits() || quotas_.admits(jobs_.queue(job), jobs_.amounts(job))) return true;
    for (std::uint32_t i = 0; i < jobs_.pod_count(job); ++i) {
        result_.pods[jobs_.pod(job, i)].reason = rejection_code::over_quota;
    }
    return false;
}

start_result simulation::try_start(std::uint32_t job, const approval* approve) {
    if (!has_quota(job)) return start_result::over_quota;
    return jobs_.pod_count(job) == 1 ? start_single(job, approve) : start_gang(job, approve);
}

/// What a pod books, without its place.
vgpualloc::booking simulation::booking_for(std::uint32_t pod) const {
    return vgpualloc::booking_for(pod_id{pod}, request_of(pod));
}

/// Reserves what was decided; returns the booking's slot.
std::uint32_t simulation::book(std::uint32_t pod, const vgpualloc::placement& where) {
    auto entry = booking_for(pod);
    entry.where = where;
    const auto booked = ledger_->reserve(std::move(entry));
    VGA_ASSERT(booked.has_value(), "the ledger accepts what the allocator decides");
    return booked->slot;
}

start_result simulation::start_single(std::uint32_t job, const approval* approve) {
    const std::uint32_t pod = jobs_.pod(job, 0);
    start_result result = start_result::started;
    --waiting_;
    if (approve != nullptr) {
        result = start_pod(pod, *approve);
    } else if (const auto placed = place(pod)) {
        begin({.pod = pod, .booking = placed->booking.slot}, provide_instances(*placed));
    } else if (stopped_ || !make_room(pod)) {
        result = start_result::does_not_fit;
    }
    if (result != start_result::started) ++waiting_;
    return result;
}

/// Starts one pod where it would be placed, if that is approved.
start_result simulation::start_pod(std::uint32_t pod, const approval& approve) {
    if (wants_stop()) return start_result::does_not_fit;
    const std::uint64_t asked_ns = decision_begin();
    const auto decided = allocator_->decide(requests_[input_->pods[pod].request]);
    count_decision(asked_ns);
    if (!decided) {
        result_.pods[pod].reason = decided.error().main_code();
        return start_result::does_not_fit;
    }
    const std::uint32_t slot = book(pod, *decided);
    if (!approve({&*decided, 1})) {
        ledger_->rollback(pod_id{pod});
        return start_result::not_approved;
    }
    ledger_->commit(pod_id{pod});
    begin({.pod = pod, .booking = slot}, provide_instances(*decided));
    return start_result::started;
}

start_result simulation::start_on(std::uint32_t job, std::span<const std::optional<node_index>> nodes) {
    if (!has_quota(job)) return start_result::over_quota;
    std::vector<member> members;
    vgpualloc::trial attempt{*ledger_};
    for (std::uint32_t i = 0; i < jobs_.pod_count(job); ++i) {
        if (!nodes[i]) continue;
        const std::uint32_t pod = jobs_.pod(job, i);
        const std::uint64_t asked_ns = decision_begin();
        const auto decision = allocator_->ask_node(*nodes[i], request_of(pod));
        count_decision(asked_ns);
        if (decision.answer.code != rejection_code::none) {
            result_.pods[pod].reason = decision.answer.code;
            return start_result::does_not_fit;
        }
        members.push_back({.pod = pod, .booking = book(pod, decision.where)});
        ledger_->commit(pod_id{pod});
    }
    attempt.keep();
    begin_job(job, members);
    return start_result::started;
}

start_result simulation::start_gang(std::uint32_t job, const approval* approve) {
    const std::uint32_t count = jobs_.pod_count(job);
    std::vector<member> members;
    places_.clear();
    vgpualloc::trial attempt{*ledger_};
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t pod = jobs_.pod(job, i);
        const auto placed = place(pod);
        if (placed) {
            members.push_back({.pod = pod, .booking = placed->booking.slot});
            places_.push_back(*placed);
        } else if (members.size() + (count - i - 1) < jobs_.minimum(job)) {
            for (const member& fitting : members) {
                result_.pods[fitting.pod].reason = rejection_code::gang_not_complete;
                if (options_.decides != nullptr) options_.decides->discard(fitting.pod);
            }
            for (std::uint32_t rest = i + 1; rest < count; ++rest) {
                result_.pods[jobs_.pod(job, rest)].reason = rejection_code::gang_not_complete;
            }
            return start_result::does_not_fit;
        }
    }
    if (approve != nullptr && !(*approve)(places_)) return start_result::not_approved;
    attempt.keep();
    begin_job(job, members);
    return start_result::started;
}

void simulation::start_at(std::uint32_t job, std::span<const std::optional<vgpualloc::placement>> places) {
    std::vector<member> members;
    for (std::uint32_t i = 0; i < jobs_.pod_count(job); ++i) {
        if (!places[i]) continue;
        const std::uint32_t pod = jobs_.pod(job, i);
        members.push_back({.pod = pod, .booking = book(pod, *places[i])});
        ledger_->commit(pod_id{pod});
    }
    begin_job(job, members);
}

/// A waiting job starts with those of its pods that are booked, in their order. The others start later or, without a
/// waiting queue, have failed.
void simulation::begin_job(std::uint32_t job, std::span<const member> members) {
    --waiting_;
    ticks time = now_; // pods of one job begin together: when the last of their MIG instances is there
    for (const member& started : members) {
        time = std::max(time, provide_instances(ledger_->bookings()[started.booking].where));
    }
    auto next = members.begin();
    for (std::uint32_t i = 0; i < jobs_.pod_count(job); ++i) {
        const std::uint32_t pod = jobs_.pod(job, i);
        if (next != members.end() && next->pod == pod) {
            begin(*next++, time);
        } else if (discipline_->keeps_waiting()) {
            late_members_.push_back(pod);
        } else {
            ++result_.failed;
            result_.times[pod].given_up = true;
        }
    }
}

/// The MIG instances of a booking are there at the time that this returns.
ticks simulation::provide_instances(const vgpualloc::placement& where) {
    const bool takes_time = options_.layout_change > ticks{0};
    if (result_.times.empty() || (!counts_amounts() && !takes_time)) return now_;
    const std::int64_t created = instances_.provide(*ledger_, where);
    result_.disturbed.layout_changes += created;
    return created > 0 ? now_ + options_.layout_change : now_;
}

/// A pod that is booked has its devices from now on, and runs from `time` on.
void simulation::begin(const member& started, ticks time) {
    const std::uint32_t pod = started.pod;
    const node_index where = ledger_->bookings()[started.booking].where.node;
    pod_outcome& outcome = result_.pods[pod];
    executor_.note_accepted();
    if (outcome.booking == no_booking) {
        ++result_.placed;
    } else if (result_.times[pod].node != where) { // without times no pod starts again
        ++result_.disturbed.migrations;
    }
    outcome.booking = started.booking;
    ++running_;
    outcome.reason = rejection_code::none;
    served_ += input_->requested.served(input_->pods[pod].request);
    if (!members_live_.empty()) {
        const std::uint32_t job = jobs_.job_of(pod);
        if (members_live_[job]++ == 0 && quotas_.limits()) quotas_.add(jobs_.queue(job), jobs_.amounts(job));
    }
    update_node(where);
    note_peak();
    record();
    if (result_.times.empty()) return;
    pod_times& times = result_.times[pod];
    times.begun = time;
    times.node = where;
    times.failed = false;
    ++times.starts;
    times.delayed = {};
    if (!times.has_run) times.start = times.begun;
    if (const auto& duration = input_->pods[pod].duration) {
        queue_.push(times.begun + *duration, event_class::finish, pod, times.round());
    }
    const ticks estimate = jobs_.estimate(jobs_.job_of(pod));
    discipline_->on_start(pod, estimate == ticks::max() ? estimate : times.begun + estimate, *this);
}

void simulation::start_late_members() {
    if (!capacity_freed_ || late_members_.empty()) return;
    std::erase_if(late_members_, [this](std::uint32_t pod) {
        const std::uint32_t job = jobs_.job_of(pod);
        if (members_live_[job] == 0 && !has_quota(job)) return false; // the others have ended and gave it back
        if (options_.decides != nullptr) {
            const auto placed = place(pod);
            if (placed) begin({.pod = pod, .booking = placed->booking.slot}, provide_instances(*placed));
            return placed.has_value();
        }
        const approval approve = [&](std::span<const vgpualloc::placement> places) {
            return discipline_->approves_late_member(pod, places.front(), *this);
        };
        return start_pod(pod, approve) == start_result::started;
    });
}

void simulation::give_up(std::uint32_t job, rejection_code why) {
    --waiting_;
    for (std::uint32_t i = 0; i < jobs_.pod_count(job); ++i) {
        pod_outcome& outcome = result_.pods[jobs_.pod(job, i)];
        if (why != rejection_code::none) outcome.reason = why;
        if (outcome.booking == no_booking) ++result_.failed;
        if (!result_.times.empty()) result_.times[jobs_.pod(job, i)].given_up = true;
        record();
    }
}

rejection_code simulation::why_never(std::uint32_t job) {
    if (never_.empty()) never_.resize(jobs_.class_count());
    auto& answer = never_[jobs_.class_of(job)];
    if (answer) return *answer;
    if (quotas_.limits() && !quotas_.ever_admits(jobs_.queue(job), jobs_.amounts(job))) {
        answer = rejection_code::over_quota;
    } else if (options_.decides != nullptr) {
        std::vector<std::uint32_t> pods;
        for (std::uint32_t i = 0; i < jobs_.pod_count(job); ++i) pods.push_back(jobs_.pod(job, i));
        answer = options_.decides->why_never(pods, jobs_.minimum(job));
    } else {
        if (!empty_) empty_ = std::make_unique<empty_cluster>(ledger_->nodes());
        std::vector<const pod_request*> pods;
        for (std::uint32_t i = 0; i < jobs_.pod_count(job); ++i) pods.push_back(&request_of(jobs_.pod(job, i)));
        answer = empty_->why_not(pods, jobs_.minimum(job));
    }
    return *answer;
}

// ---- the loop

bool simulation::is_stale(const event& happening) const noexcept {
    if (happening.what == event_class::moved) return !executor_.is_current(ticket_of(happening));
    if (happening.what == event_class::crash) return !ledger_->is_live(pod_id{input_->crashes[happening.subject].pod});
    return happening.what == event_class::finish && (!ledger_->is_live(pod_id{happening.subject}) ||
                                                     result_.times[happening.subject].round() != happening.round);
}

bool simulation::is_over() const noexcept {
    return arrivals_ == input_->pods.size() && waiting_ == 0 && late_members_.empty() && ledger_->live_count() == 0;
}

void simulation::handle(const event& happening) {
    // A sample is no part of the run: the last one may come long after everything has ended.
    if (happening.what == event_class::sample) {
        add_sample(happening.time);
        repeat(event_class::sample, happening.time + options_.sample_interval);
        return;
    }
    if (happening.what == event_class::tidy) {
        if (!repeat(event_class::tidy, happening.time + options_.moves.interval)) return;
        hold(happening.time);
        tidy_due_ = pass_due_ = true; // after the pass of this instant
        return;
    }
    if (is_stale(happening)) return;
    hold(happening.time);
    if (happening.what == event_class::finish) {
        finish(happening.subject);
    } else if (happening.what == event_class::moved) {
        executor_.copied(ticket_of(happening));
    } else if (happening.what == event_class::node_added) {
        change_cluster({.time = now_, .what = cluster_change::resumes, .node = node_index{happening.subject}});
    } else if (happening.what == event_class::crash) {
        stop_pods(hit_by_fault_of(*ledger_, pod_id{input_->crashes[happening.subject].pod}));
    } else {
        change_cluster(input_->cluster_events[happening.subject]);
    }
}

/// Handles the next event, or the pass at the end of an instant. False when nothing is left.
bool simulation::step() {
    const bool any_arrival = arrivals_ < input_->pods.size();
    const event* const next = queue_.empty() ? nullptr : &queue_.next();
    bool arrival_first = any_arrival;
    if (any_arrival && next != nullptr) {
        const ticks arrival = input_->pods[arrivals_].arrival;
        arrival_first = arrival != next->time ? arrival < next->time : next->what > event_class::arrival;
    }
    if (pass_due_) {
        const bool same_instant = arrival_first
                                      ? input_->pods[arrivals_].arrival == now_
                                      : next != nullptr && next->time == now_ && next->what != event_class::sample;
        if (!same_instant) {
            pass_due_ = false;
            if (options_.decides != nullptr) options_.decides->begin_pass();
            start_late_members();
            capacity_freed_ = false;
            discipline_->pass(*this);
            if (std::exchange(tidy_due_, false)) tidy();
            return true;
        }
    }
    if (arrival_first) {
        arrive();
        return true;
    }
    if (next == nullptr || (next->what > event_class::finish && next->what < event_class::arrival && is_over()))
        return false;
    handle(queue_.pop());
    return true;
}

void simulation::begin() {
    began_ns_ = now_ns();
    began_cpu_s_ = thread_cpu_seconds();
    const ticks first_arrival = input_->pods.empty() ? ticks{} : input_->pods.front().arrival;
    now_ = first_arrival;
    const auto push_all = [&](const auto& events, event_class what) {
        for (std::size_t i = 0; i < events.size(); ++i) {
            queue_.push(std::max(events[i].time, first_arrival), what, static_cast<std::uint32_t>(i));
        }
    };
    push_all(input_->cluster_events, event_class::cluster);
    push_all(input_->crashes, event_class::crash);
    result_.peak = {.state = state_at(first_arrival), .events = ledger_->next_event()};
    const bool sampled = counts_amounts() && options_.sample_interval > ticks{0};
    if (sampled && !input_->pods.empty()) {
        queue_.push(first_arrival, event_class::sample, 0);
        ++repeating_;
    }
    if (options_.moves.planner != nullptr && options_.moves.interval > ticks{0} && !input_->pods.empty()) {
        queue_.push(first_arrival + options_.moves.interval, event_class::tidy, 0);
        ++repeating_;
    }
}

bool simulation::advance() {
    if (wants_stop() || !step()) return false;
    note_events();
    return true;
}

void simulation::note_events() {
    if (counts_amounts()) {
        result_.clock.note(ledger_->next_event(), now_);
    } else {
        forget_log();
    }
}

simulation_result simulation::end() {
    result_.stopped = stopped_;
    count_outcomes();
    result_.at_end = amounts();
    result_.ended = result_.usage.end();
    result_.stranded_at_end = gauges_.stranded;
    if (options_.decides != nullptr) result_.given_beyond = options_.decides->given_beyond();
    result_.loop_ns = now_ns() - began_ns_;
    result_.loop_cpu_s = thread_cpu_seconds() - began_cpu_s_;
    return std::move(result_);
}

simulation_result simulation::run(const progress& tell) {
    constexpr std::uint64_t steps_between_marks = 1U << 14U;
    begin();
    for (std::uint64_t handled = 1; advance(); ++handled) {
        if (tell && handled % steps_between_marks == 0) tell(arrivals_);
    }
    return end();
}

} // namespace vgpusim
