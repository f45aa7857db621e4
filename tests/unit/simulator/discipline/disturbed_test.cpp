// What holds of every discipline whatever happens: random workloads with gangs, quotas, priorities, failures, drains,
// crashes, and a node that comes when it is needed.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../job_lists.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpusim/discipline/autoscaler.hpp"

namespace {

using vgpualloc::device_index;
using vgpualloc::node_index;
using vgpualloc::pod_id;
using vgpualloc::ticks;
using vgpusim_test::seconds;
using vgpusim_test::test_job;

class drawn {
public:
    explicit drawn(std::uint64_t seed) : random_{seed} {}
    std::int64_t below(std::int64_t bound) {
        return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound)));
    }

private:
    vgpualloc::rng random_;
};

constexpr int node_count = 4;
constexpr int gpus_of_a_node = 4;

/// `whole`: jobs take whole GPUs and no CPU, which every discipline can plan.
vgpusim::simulation_input random_workload(std::uint64_t seed, bool whole, bool disturbed, bool gangs) {
    drawn random{seed};
    std::vector<test_job> jobs;
    std::int64_t now = 0;
    for (int i = 0; i < 160; ++i) {
        now += random.below(10);
        test_job job{
            .arrival = now, .duration = random.below(60), .gpus = 1 + static_cast<int>(random.below(gpus_of_a_node))};
        job.estimate = job.duration + (random.below(2) == 0 ? 0 : random.below(100));
        job.priority = static_cast<std::int32_t>(random.below(4));
        job.queue = static_cast<std::uint32_t>(random.below(3));
        if (gangs && random.below(4) == 0) job.pods = 1 + static_cast<std::uint32_t>(random.below(4));
        if (!whole) {
            if (random.below(2) == 0) job.gpus = static_cast<int>(random.below(2));
            if (job.gpus == 1) job.milli = 100 + 100 * random.below(10);
            job.cpu_milli = 500 * random.below(5);
            job.minimum = 1 + static_cast<std::uint32_t>(random.below(job.pods));
        }
        jobs.push_back(job);
    }
    auto input = vgpusim_test::workload_of(jobs, node_count, gpus_of_a_node);
    input.queues = {{.name = "a", .guaranteed = {.devices = 6}, .limit = {.devices = 10}},
                    {.name = "b", .guaranteed = {.devices = 6}, .limit = {}},
                    {.name = "c", .guaranteed = {.devices = 4}, .limit = {}}};
    if (!disturbed) return input;
    for (int i = 0; i < 25; ++i) {
        const auto begin = seconds(random.below(now));
        const node_index where{random.below(node_count)};
        const auto what = random.below(2) == 0 ? vgpusim::cluster_change::stops : vgpusim::cluster_change::drains;
        std::optional<device_index> device;
        if (random.below(2) == 0) device = device_index{random.below(gpus_of_a_node)};
        input.cluster_events.push_back({.time = begin, .what = what, .node = where, .device = device});
        input.cluster_events.push_back({.time = begin + seconds(1 + random.below(80)),
                                        .what = vgpusim::cluster_change::resumes,
                                        .node = where,
                                        .device = device});
    }
    std::ranges::stable_sort(input.cluster_events, {}, &vgpusim::cluster_event::time);
    for (int i = 0; i < 25; ++i) {
        const auto pod = static_cast<std::uint32_t>(random.below(static_cast<std::int64_t>(input.pods.size())));
        input.crashes.push_back({.time = input.pods[pod].arrival + seconds(random.below(60)), .pod = pod});
    }
    std::ranges::stable_sort(input.crashes, {}, &vgpusim::pod_crash::time);
    return input;
}

/// Without the last node, which is there only when an autoscaler has added it.
void keep_last_node_away(vgpusim::simulation_input& input) {
    const node_index last{node_count - 1};
    std::erase_if(input.cluster_events, [last](const auto& event) { return event.node == last; });
    input.cluster_events.insert(
        input.cluster_events.begin(),
        {.time = {}, .what = vgpusim::cluster_change::stops, .node = last, .device = std::nullopt});
    input.autoscaler = vgpusim::autoscaling{.delay = seconds(20), .nodes = {last}};
}

/// Another discipline, looked over after each of its passes.
class watched final : public vgpusim::discipline {
public:
    explicit watched(const std::string& name) : rules_{(*vgpusim::find_discipline(name))->make()} {}

    [[nodiscard]] bool keeps_waiting() const noexcept override { return rules_->keeps_waiting(); }
    void on_arrival(std::uint32_t job, vgpusim::scheduling_context& run) override {
        begun_.erase(job);
        rules_->on_arrival(job, run);
    }
    void on_start(std::uint32_t pod, ticks planned_end, vgpusim::scheduling_context& run) override {
        EXPECT_TRUE(running_.emplace(pod, run.now()).second) << "pod " << pod << " runs twice";
        ++begun_[run.jobs().job_of(pod)];
        rules_->on_start(pod, planned_end, run);
    }
    void on_end(std::uint32_t pod, vgpusim::scheduling_context& run) override {
        EXPECT_EQ(running_.erase(pod), 1U) << "pod " << pod << " ends and did not run";
        rules_->on_end(pod, run);
    }
    void on_cluster_change(vgpusim::scheduling_context& run) override { rules_->on_cluster_change(run); }
    void pass(vgpusim::scheduling_context& run) override {
        rules_->pass(run);
        run.book().check();
        EXPECT_EQ(running_.size(), run.book().live_count());
        expect_quotas_kept(run);
        expect_gangs_whole(run);
        if (const auto* queue = dynamic_cast<const vgpusim::queue_discipline*>(rules_.get())) note_promise(*queue);
    }

    std::map<std::uint32_t, ticks> promises; ///< by job, the first one

private:
    void expect_quotas_kept(vgpusim::scheduling_context& run) const {
        if (run.input().queues.empty()) return;
        std::vector<std::int64_t> used(run.input().queues.size(), 0);
        std::map<std::uint32_t, bool> counted;
        for (const auto& [pod, since] : running_) {
            const std::uint32_t job = run.jobs().job_of(pod);
            if (counted.emplace(job, true).second) used[run.jobs().queue(job)] += run.jobs().amounts(job).devices;
        }
        for (std::uint32_t queue = 0; queue < used.size(); ++queue) {
            ASSERT_EQ(run.quotas().used(queue).devices, used[queue]);
            const auto& terms = run.input().queues[queue];
            ASSERT_LE(used[queue], terms.limit.devices.value_or(used[queue])) << terms.name;
        }
    }
    /// Pods beyond the minimum may start later, when others of their job have ended already.
    void expect_gangs_whole(vgpusim::scheduling_context& run) const {
        for (const auto& [job, pods] : begun_) ASSERT_GE(pods, run.jobs().minimum(job)) << "job " << job;
    }
    void note_promise(const vgpusim::queue_discipline& queue) {
        if (const auto promise = queue.promise()) promises.emplace(promise->job, promise->time);
    }

    std::unique_ptr<vgpusim::discipline> rules_;
    std::map<std::uint32_t, ticks> running_;       ///< pods, and since when
    std::map<std::uint32_t, std::uint32_t> begun_; ///< by job: pods that have started since it last waited
};

TEST(disturbed_runs, lose_no_pod_count_none_twice_keep_quotas_and_start_gangs_whole) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        for (const auto& entry : vgpusim::all_disciplines) {
            const bool whole = entry.check != nullptr;
            SCOPED_TRACE(std::string{entry.name} + " seed " + std::to_string(seed));
            auto input = random_workload(seed, whole, true, true);
            std::unique_ptr<vgpusim::discipline> rules = std::make_unique<watched>(std::string{entry.name});
            if (rules->keeps_waiting() && seed % 3 == 0) {
                keep_last_node_away(input);
                rules = std::make_unique<vgpusim::autoscaler>(std::move(rules), *input.autoscaler);
            }
            const vgpusim_test::replayed run{std::move(input), *rules};
            if (!rules->keeps_waiting()) continue;
            for (std::size_t pod = 0; pod < run.input.pods.size(); ++pod) {
                const auto& times = run.result.times[pod];
                ASSERT_TRUE(times.ended || times.given_up) << "pod " << pod;
                if (!times.ended) continue;
                ASSERT_EQ(times.end - times.begun, *run.input.pods[pod].duration) << "pod " << pod;
            }
            ASSERT_EQ(run.book.live_count(), 0U);
            ASSERT_EQ(run.result.placed + run.result.failed, static_cast<std::int64_t>(run.input.pods.size()));
            ASSERT_EQ(run.result.finished, run.result.placed);
            ASSERT_EQ(run.result.samples.back().waiting, 0);
            ASSERT_EQ(run.result.samples.back().served, vgpusim::requested_units{});
        }
    }
}

TEST(disturbed_runs, easy_never_delays_what_it_has_promised_to_the_first_in_the_queue) {
    std::size_t promises = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        // Gangs of whole GPUs, or single pods with parts of GPUs and CPU: what is planned from tables and not by trial.
        const bool whole = seed % 2 == 0;
        auto input = random_workload(seed, whole, false, whole);
        input.queues.clear();
        for (auto& job : input.jobs) job.queue = 0;
        watched rules{"easy"};
        const vgpusim_test::replayed run{std::move(input), rules};
        for (const auto& [job, time] : rules.promises) {
            const std::uint32_t pod = run.input.members[run.input.jobs[job].first];
            ASSERT_LE(run.result.times[pod].start, time) << "job " << job << " seed " << seed;
        }
        promises += rules.promises.size();
    }
    EXPECT_GT(promises, 500U);
}

} // namespace
