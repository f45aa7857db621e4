#include "pod_runs.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "device_resources.hpp"
#include "time_text.hpp"
#include "vgputraces/kube_metrics.hpp"

namespace vgputraces {

namespace {

/// Why a pod is not replayed.
enum class pod_omission : std::uint8_t { none, no_requests, never_ran, ended_before, length_unknown };
constexpr std::array<const char*, 5> pod_omission_words{
    "", "no requests of them are in the answers", "they were Running at no sample",
    "they had ended before the first sample",
    "they have ended, were Running at no sample, and do not have both a start and a completion time"};

constexpr std::int64_t ms_per_second = 1000;

/// The samples of one pod. Without uids several pods that follow each other may have one name.
struct pod_life {
    std::int64_t first_ms = 0;
    std::int64_t last_ms = 0;
    std::vector<std::int64_t> running{};
};

std::int64_t count_within(const std::vector<std::int64_t>& times, std::int64_t from_ms, std::int64_t to_ms) {
    return std::ranges::upper_bound(times, to_ms) - std::ranges::lower_bound(times, from_ms);
}

class pod_reader {
public:
    pod_reader(pods_of_metrics& pods, const row_options& options, skipped_rows skipped)
        : pods_{&pods}, options_{options} {
        result_.source = accounting_source::prometheus;
        result_.skipped = std::move(skipped);
    }

    [[nodiscard]] expected<accounting> read() {
        for (const auto& [key, pod] : pods_->by_key) {
            const std::vector<std::int64_t> running = running_of(pod);
            add_own_sum(pod, running);
            for (const pod_life& life : lives_of(pod, running)) {
                if (auto added = add(pod, life); !added) {
                    auto taken = result_.skipped.take(std::move(added).error(), options_);
                    if (!taken) return unexpected(std::move(taken).error());
                }
            }
        }
        finish();
        return std::move(result_);
    }

private:
    [[nodiscard]] const sample_grid& grid() const { return pods_->grid; }

    [[nodiscard]] std::vector<std::int64_t> running_of(const pod_series& pod) const {
        if (pods_->has_phases) return pod.running.sorted();
        std::vector<std::int64_t> times;
        for (const auto& [key, amounts] : pod.requests) {
            for (const requested_at& amount : amounts) amount.times.append_to(times);
        }
        std::ranges::sort(times);
        times.erase(std::unique(times.begin(), times.end()), times.end());
        return times;
    }

    /// What PromQL adds up: the largest amount at each sample at which the pod runs.
    void add_own_sum(const pod_series& pod, const std::vector<std::int64_t>& running) {
        for (const auto& [key, amounts] : pod.requests) {
            if (!counts_as_gpus(key.second)) continue;
            std::map<std::int64_t, std::int64_t> amount_at;
            for (const requested_at& requested : amounts) {
                for (const std::int64_t time : requested.times.sorted()) {
                    std::int64_t& amount = amount_at[time];
                    amount = std::max(amount, requested.amount);
                }
            }
            for (const std::int64_t time : running) {
                const auto at = amount_at.find(time);
                if (at != amount_at.end()) own_gpu_steps_ += at->second;
            }
        }
    }

    [[nodiscard]] std::vector<pod_life> lives_of(const pod_series& pod,
                                                 const std::vector<std::int64_t>& running) const {
        const std::vector<std::int64_t> present = pod.present();
        if (present.empty()) return {};
        std::vector<pod_life> lives{{.first_ms = present.front(), .last_ms = present.front()}};
        for (const std::int64_t time : present) {
            constexpr std::int64_t gap_ms_max = kube_metrics_reader::gap_seconds_max * ms_per_second;
            const bool is_other = !pod.has_uid && grid().sampled_between_ms(lives.back().last_ms, time) > gap_ms_max;
            if (is_other) lives.push_back({.first_ms = time, .last_ms = time});
            lives.back().last_ms = time;
        }
        for (pod_life& life : lives) {
            life.running.assign(std::ranges::lower_bound(running, life.first_ms),
                                std::ranges::upper_bound(running, life.last_ms));
        }
        return lives;
    }

    /// The largest amounts of the samples, and whether they differ.
    static std::pair<std::map<std::string, accounted_container>, bool> amounts_in(const pod_series& pod,
                                                                                  const pod_life& life) {
        std::map<std::string, accounted_container> containers;
        bool has_changed = false;
        for (const auto& [key, amounts] : pod.requests) {
            std::int64_t most = -1;
            for (const requested_at& requested : amounts) {
                if (count_within(requested.times.sorted(), life.first_ms, life.last_ms) == 0) continue;
                has_changed = has_changed || (most >= 0 && most != requested.amount);
                most = std::max(most, requested.amount);
            }
            if (most < 0) continue;
            accounted_container& container = containers[key.first];
            if (key.second == "cpu") {
                container.cpu = milli_cpu{most};
            } else if (key.second == "memory") {
                container.memory = vgpualloc::bytes{most};
            } else if (most > 0) {
                container.devices.emplace(key.second, most);
            }
        }
        return {std::move(containers), has_changed};
    }

    [[nodiscard]] expected<void> add(const pod_series& pod, const pod_life& life) {
        accounted_job job{.id = pod.space + "/" + pod.name,
                          .row = next_row_++,
                          .user = pod.space,
                          .owner = pod.owner,
                          .queue = pod.queue};
        const auto [containers, has_changed] = amounts_in(pod, life);
        for (const auto& [name, container] : containers) {
            job.containers.push_back(container);
            job.cpu += container.cpu;
            job.memory += container.memory;
            for (const auto& [resource, amount] : container.devices) job.gpus += counts_as_gpus(resource) ? amount : 0;
        }
        const auto omission =
            job.containers.empty() ? expected<pod_omission>{pod_omission::no_requests} : read_times(pod, life, job);
        if (!omission) return unexpected(omission.error());
        if (*omission != pod_omission::none) {
            ++omitted_[static_cast<std::size_t>(*omission)];
            return {};
        }
        changed_ += has_changed ? 1 : 0;
        result_.jobs.push_back(std::move(job));
        return {};
    }

    [[nodiscard]] expected<pod_omission> read_times(const pod_series& pod, const pod_life& life, accounted_job& job) {
        const auto told = [&](pod_time which) { return pod.told(which, life.first_ms, life.last_ms); };
        const auto started = told(pod_time::started);
        const auto completed = told(pod_time::completed);
        if (completed && started && *completed < *started) {
            return unexpected(bad_value(error_code::out_of_range, "kube_pod_completion_time of " + job.id,
                                        iso_text(*completed) + "Z",
                                        "a time not before kube_pod_start_time, which is " + iso_text(*started) + "Z")
                                  .at(pod.place));
        }
        if (completed && *completed <= ticks_of_ms(grid().first_ms())) return pod_omission::ended_before;
        if (life.running.empty() && !(started && completed)) {
            const bool has_ended = completed || count_within(pod.ended.sorted(), life.first_ms, life.last_ms) > 0;
            return has_ended ? pod_omission::length_unknown : pod_omission::never_ran;
        }
        const std::int64_t first_running = life.running.empty() ? 0 : life.running.front();
        const std::int64_t after_running = life.running.empty() ? 0 : life.running.back() + grid().step_ms();
        job.start = started.value_or(ticks_of_ms(first_running));
        job.is_running = !completed && life.running.back() == grid().last_ms();
        job.end = std::max(job.start, completed.value_or(ticks_of_ms(after_running)));
        job.elapsed = job.end - job.start;
        job.arrival = std::min(job.start, told(pod_time::created).value_or(ticks_of_ms(life.first_ms)));
        ++(started ? exact_starts_ : first_running == grid().first_ms() ? cut_starts_ : step_starts_);
        if (!job.is_running) ++(completed ? exact_ends_ : step_ends_);
        return pod_omission::none;
    }

    void finish() {
        for (std::size_t i = 0; i < omitted_.size(); ++i) {
            if (omitted_[i] > 0) result_.left_out.push_back({.reason = pod_omission_words[i], .count = omitted_[i]});
        }
        std::ranges::stable_sort(result_.jobs, {}, &accounted_job::arrival);
        std::unordered_map<std::string, std::int64_t> pods_of; // only looked up, never walked
        for (accounted_job& job : result_.jobs) {
            const std::int64_t number = ++pods_of[job.id];
            if (number > 1) job.id += "." + std::to_string(number);
        }
        const std::int64_t end_ms = grid().last_ms() + grid().step_ms();
        result_.covered = covered_span{.begin = ticks_of_ms(grid().first_ms()), .end = ticks_of_ms(end_ms)};
        result_.own_gpu_seconds = static_cast<double>(own_gpu_steps_ * grid().step_ms()) / ms_per_second;
        add_notes();
    }

    void add_notes() {
        const std::string step = seconds_text_of_ms(grid().step_ms()) + " s";
        std::string samples =
            "samples from " + utc_text(grid().first_ms()) + " to " + utc_text(grid().last_ms()) + ", every " + step;
        if (grid().missing() > 0) {
            samples += "; at " + std::to_string(grid().missing()) + " of these times there is none, which ends no pod";
        }
        result_.notes.push_back(std::move(samples));
        if (!pods_->has_phases) {
            result_.notes.emplace_back(
                "no kube_pod_status_phase: pods count as running while their requests are there, "
                "so that waiting and completed pods do too");
        }
        add_precision("starts", exact_starts_, "kube_pod_start_time", step_starts_, step);
        if (cut_starts_ > 0) {
            result_.notes.push_back("starts: " + std::to_string(cut_starts_) +
                                    " are the first sample, at which the pods ran already");
        }
        add_precision("ends", exact_ends_, "kube_pod_completion_time", step_ends_, step);
        if (changed_ > 0) {
            result_.notes.push_back("requests of " + std::to_string(changed_) +
                                    " pods changed while they were there; the largest are taken");
        }
    }

    void add_precision(const std::string& what, std::int64_t exact, const std::string& metric, std::int64_t by_step,
                       const std::string& step) {
        if (exact + by_step == 0) return;
        result_.notes.push_back(what + ": " + std::to_string(exact) + " exact by " + metric + ", " +
                                std::to_string(by_step) + " to the step of " + step);
    }

    pods_of_metrics* pods_;
    row_options options_;
    accounting result_{};
    std::array<std::int64_t, pod_omission_words.size()> omitted_{};
    std::int64_t next_row_ = 0;
    std::int64_t own_gpu_steps_ = 0;
    std::int64_t exact_starts_ = 0;
    std::int64_t step_starts_ = 0;
    std::int64_t cut_starts_ = 0;
    std::int64_t exact_ends_ = 0;
    std::int64_t step_ends_ = 0;
    std::int64_t changed_ = 0;
};

} // namespace

expected<accounting> accounting_of(pods_of_metrics& pods, const row_options& options, skipped_rows skipped) {
    if (!pods.has_requests) {
        return unexpected(bad_input(error_code::missing, "kube_pod_container_resource_requests", "missing",
                                    "series of this metric with GPUs, cpu or memory"));
    }
    if (auto finished = pods.grid.finish(); !finished) return unexpected(std::move(finished).error());
    auto result = pod_reader{pods, options, std::move(skipped)}.read();
    if (result && result->jobs.empty()) {
        return unexpected(bad_input(error_code::missing, "", "missing", "at least one pod that has run"));
    }
    return result;
}

} // namespace vgputraces
