#include "vgpusim/bound/wait_bound.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <utility>

namespace vgpusim {

namespace {

constexpr auto ticks_of_second = static_cast<double>(ticks_per_second.count());

/// The pods that run in the pool, counted by request, and what they are worth by each condition.
class pool_state {
public:
    pool_state(std::size_t requests, std::span<const whole_cut> cuts)
        : cuts_{cuts}, worth_(cuts.size(), 0), running_(requests, 0) {}

    [[nodiscard]] bool has_room_for(std::uint32_t request) const {
        for (std::size_t c = 0; c < cuts_.size(); ++c) {
            if (worth_[c] + cuts_[c].of_request[request] > cuts_[c].most) return false;
        }
        return true;
    }
    void start(std::uint32_t request, ticks end) {
        add(request, 1);
        ends_.emplace(end, request);
    }
    [[nodiscard]] bool is_empty() const noexcept { return ends_.empty(); }
    /// Of the pod that ends next.
    [[nodiscard]] ticks next_end() const { return ends_.top().first; }
    void end_until(ticks now) {
        for (; !ends_.empty() && ends_.top().first <= now; ends_.pop()) add(ends_.top().second, -1);
    }
    [[nodiscard]] const std::vector<std::int64_t>& running() const noexcept { return running_; }
    /// How near the pods come to the condition that they fill the most.
    [[nodiscard]] double fullness() const {
        double result = 0.0;
        for (std::size_t c = 0; c < cuts_.size(); ++c) {
            if (cuts_[c].most > 0) {
                result = std::max(result, static_cast<double>(worth_[c]) / static_cast<double>(cuts_[c].most));
            }
        }
        return result;
    }

private:
    void add(std::uint32_t request, std::int64_t count) {
        running_[request] += count;
        for (std::size_t c = 0; c < cuts_.size(); ++c) worth_[c] += count * cuts_[c].of_request[request];
    }

    using end_of_pod = std::pair<ticks, std::uint32_t>;

    std::span<const whole_cut> cuts_;
    std::vector<std::int64_t> worth_;
    std::vector<std::int64_t> running_; ///< by request
    std::priority_queue<end_of_pod, std::vector<end_of_pod>, std::greater<>> ends_;
};

/// Replays the queue and shows the state after each start.
template <class Look>
pooled_queue replay_queue(const simulation_input& input, const std::vector<bool>& never_fits,
                          std::span<const whole_cut> cuts, const Look& look) {
    pooled_queue result;
    result.waits.resize(input.pods.size());
    pool_state pool{input.requests.size(), cuts};
    ticks now;
    wide_integer waited = 0;
    double gpus = 0.0;
    double gpu_seconds = 0.0;
    for (std::size_t i = 0; i < input.pods.size(); ++i) {
        const arriving_pod& pod = input.pods[i];
        if (never_fits[pod.request]) continue;
        now = result.pods == 0 ? pod.arrival : std::max(now, pod.arrival);
        pool.end_until(now);
        while (!pool.has_room_for(pod.request) && !pool.is_empty()) {
            now = pool.next_end();
            pool.end_until(now);
        }
        pool.start(pod.request, now + *pod.duration);
        look(i, pool);
        const ticks wait = now - pod.arrival;
        result.waits[i] = wait;
        ++result.pods;
        waited += wait.count();
        const auto units = static_cast<double>(input.requested[pod.request].larger());
        gpus += units;
        gpu_seconds += units * (static_cast<double>(wait.count()) / ticks_of_second);
    }
    if (result.pods > 0) {
        result.mean_s = static_cast<double>(waited) / static_cast<double>(result.pods) / ticks_of_second;
    }
    if (gpus > 0.0) result.gpu_mean_s = gpu_seconds / gpus;
    return result;
}

/// Looks for conditions that states of the pool do not meet.
class cut_search {
public:
    cut_search(const simulation_input& input, const std::vector<bool>& never_fits, workload_packing& packing,
               vgpualloc::plan::lp_solver& solver, const wait_search& search)
        : input_{input}, never_fits_{never_fits}, packing_{packing}, solver_{solver}, search_{search} {}

    expected<wait_bound> run() {
        const std::vector<double> cpu = packing_.host_share(0);
        const std::vector<double> memory = packing_.host_share(1);
        double milli_of_all = 0.0; // so that a share of all CPU is worth as much as that share of all devices
        for (const vgpualloc::node& node : input_.nodes.nodes) {
            milli_of_all += static_cast<double>(node.devices.size()) * static_cast<double>(whole_gpu.count());
        }
        milli_of_all = std::max(milli_of_all, static_cast<double>(whole_gpu.count()));
        value_ = packing_.milli();
        for (std::size_t t = 0; t < value_.size(); ++t) value_[t] += milli_of_all * (cpu[t] + memory[t]);
        for (const std::vector<double>& price :
             {packing_.milli(), scaled(cpu, milli_of_all), scaled(memory, milli_of_all)}) {
            if (auto added = add(price); !added) return unexpected(std::move(added.error()));
        }
        wait_bound result;
        for (std::size_t round = 0;; ++round) {
            const std::vector<running_pods> states = replay_and_pick(result.queue);
            result.cuts = cuts_.size();
            const bool is_done = round > 0 && result.queue.mean_s <= last_mean_s_ * (1.0 + search_.gain_min);
            if (is_done || round == search_.rounds_max) return result;
            last_mean_s_ = result.queue.mean_s;
            for (const running_pods& running : states) {
                if (auto added = separate(running); !added) return unexpected(std::move(added.error()));
            }
            if (cuts_.size() == result.cuts) return result;
        }
    }

private:
    using running_pods = std::vector<std::int64_t>; ///< by request

    static std::vector<double> scaled(std::vector<double> values, double factor) {
        for (double& value : values) value *= factor;
        return values;
    }

    /// The fullest state of each part of the arrivals.
    std::vector<running_pods> replay_and_pick(pooled_queue& queue) {
        std::vector<running_pods> states(search_.states_per_round);
        std::vector<double> fullest(search_.states_per_round, 0.0);
        queue = replay_queue(input_, never_fits_, cuts_, [&](std::size_t pod, const pool_state& pool) {
            const std::size_t part = pod * states.size() / input_.pods.size();
            const double fullness = pool.fullness();
            if (fullness <= fullest[part]) return;
            fullest[part] = fullness;
            states[part] = pool.running();
        });
        std::erase_if(states, [](const running_pods& running) { return running.empty(); });
        return states;
    }

    /// Adds a condition that these pods do not meet, if there is one. A set of pods is a packing if packing as much as
    /// possible of them leaves nothing out, whatever the worth of each; if something is left out, costs show it.
    expected<void> separate(const running_pods& running) {
        std::vector<double> entries(packing_.types(), 0.0);
        for (std::size_t r = 0; r < running.size(); ++r) {
            for (const auto& [type, count] : packing_.entries_of(r))
                entries[type] += count * static_cast<double>(running[r]);
        }
        const auto prices = packing_.solve(value_, entries, solver_);
        if (!prices) return unexpected(prices.error());
        double all = 0.0;
        for (std::size_t t = 0; t < entries.size(); ++t) all += value_[t] * entries[t];
        constexpr double rounding = 1e-9;
        if (!(prices->bound < all * (1.0 - rounding))) return {};
        return add(costs_of(*prices, value_), &running);
    }

    /// Adds the condition with these prices in whole numbers; if `broken_by` is given, only if it breaks it.
    expected<void> add(const std::vector<double>& prices, const running_pods* broken_by = nullptr) {
        std::vector<double> price;
        for (const double exact : prices) price.push_back(std::round(exact * steps_per_milli));
        if (std::ranges::all_of(price, [](double of_type) { return of_type == 0.0; })) return {};
        auto cut = cut_at(std::move(price), packing_, solver_);
        if (!cut) return unexpected(std::move(cut.error()));
        if (!(cut->most < worth_max)) return {};
        whole_cut whole;
        for (std::size_t r = 0; r < input_.requests.size(); ++r) {
            whole.of_request.push_back(static_cast<std::int64_t>(packing_.sum_of(r, cut->price)));
        }
        // The bound is a sum of rounded products, and what it bounds is a whole number.
        constexpr double rounding = 1e-9;
        whole.most = static_cast<std::int64_t>(std::floor(cut->most * (1.0 + rounding) + rounding));
        if (broken_by != nullptr) {
            std::int64_t worth = 0;
            for (std::size_t r = 0; r < broken_by->size(); ++r) worth += (*broken_by)[r] * whole.of_request[r];
            if (worth <= whole.most) return {};
        }
        cuts_.push_back(std::move(whole));
        return {};
    }

    static constexpr double steps_per_milli = 1000.0;
    static constexpr double worth_max = 1e17;

    const simulation_input& input_;
    const std::vector<bool>& never_fits_;
    workload_packing& packing_;
    vgpualloc::plan::lp_solver& solver_;
    wait_search search_;
    std::vector<double> value_; ///< by type, above 0 for all that take anything
    std::vector<whole_cut> cuts_;
    double last_mean_s_ = 0.0;
};

} // namespace

pooled_queue replay_pooled_queue(const simulation_input& input, const std::vector<bool>& never_fits,
                                 std::span<const whole_cut> cuts) {
    return replay_queue(input, never_fits, cuts, [](std::size_t, const pool_state&) {});
}

expected<wait_bound> least_waits(const simulation_input& input, const std::vector<bool>& never_fits,
                                 workload_packing& packing, vgpualloc::plan::lp_solver& solver,
                                 const wait_search& search) {
    return cut_search{input, never_fits, packing, solver, search}.run();
}

} // namespace vgpusim
