// Upper bounds on what any policy could have served in a run, as values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/plan/lp.hpp"

namespace vgpusim {

/// Sums over pods of a run.
struct pool_amounts {
    std::int64_t pods = 0;         ///< that ask for devices
    std::int64_t memory_units = 0; ///< memory slices where devices are cut by MIG, else MiB of device memory
};

struct pool_outcome {
    pool_amounts arrived{};
    pool_amounts accepted{};
    std::vector<bool> placed{}; ///< by pod of the input; those without devices are placed
};

/// A bound by the configuration LP (plan/packing_lp.hpp) with some pods forced.
struct lp_bound {
    vgpualloc::plan::lp_status status = vgpualloc::plan::lp_status::optimal; ///< infeasible: the forced pods do not fit
    double amount = 0.0; ///< milli-GPU that pods which run at one time ask for, or what else is bounded
    std::int64_t forced_pods = 0;
    double forced_load = 0.0; ///< what they ask for, of all devices
    double shortage = 0.0;    ///< infeasible: how many of them stay out at least, at fractions
    std::size_t rounds = 0;
    std::size_t columns = 0;
};

/// Of the integer program in which every node is on its own.
struct exact_bound {
    vgpualloc::plan::lp_status status = vgpualloc::plan::lp_status::optimal;
    double milli = 0.0; ///< the most that any placement serves; where the status is a limit, a bound on it
    std::size_t columns = 0;
};

struct achieved_amount {
    std::string policy;
    double milli = 0.0;                     ///< served at the end, at the peak where pods leave
    std::optional<pool_amounts> accepted{}; ///< of a workload that a pool was replayed for
};

/// A bound on a share of GPUs, 0 to 1, and what a run reached.
struct share_bound {
    double most = 1.0;
    /// Of a bound that holds on average over durations: by how much the run may pass it because the pods that it
    /// accepted happened to be short; below 0 where they were long.
    double luck = 0.0;
    std::optional<double> achieved{};
};

/// A lower bound on how long pods wait, and how long they did.
struct least_wait {
    double mean_s = 0.0;
    double gpu_mean_s = 0.0; ///< of a GPU that is asked for
    std::int64_t pods = 0;
    std::size_t conditions = 0; ///< of the pool that it was proven with
    std::optional<double> achieved_mean_s{};
    std::optional<double> achieved_gpu_mean_s{};
};

/// Bounds on means over a run whose pods leave. Where one is missing, a reason is there.
struct steady_figures {
    double seconds = 0.0;                  ///< from the first arrival to the last one
    share_bound served{};                  ///< of all GPUs, what running pods ask for, in the mean over that time
    std::optional<share_bound> accepted{}; ///< of the GPUs asked for; for policies that know all arrivals and durations
    std::optional<share_bound> blind{};    ///< likewise, for policies that do not know durations
    std::string why_no_accepted{};         ///< a sentence without its full stop
    std::optional<least_wait> wait{};
    std::string why_no_wait{};
};

struct bound_figures {
    std::string solver;
    std::int64_t total_milli = 0;
    double arrived_milli = 0.0;
    bool pods_leave = false;
    lp_bound configuration{}; ///< sound for every policy, online or offline
    double pods = 0.0;        ///< likewise, on the number of pods with devices that are placed at one time
    double memory_mib = 0.0;  ///< likewise, on device memory; 0 where the lists do not say it
    std::int64_t memory_total_mib = 0;
    std::optional<lp_bound> work_conserving{}; ///< sound for every policy that places what fits
    std::optional<lp_bound> prefix{};          ///< sound for policies that place the whole forced prefix
    std::string prefix_policy{};               ///< whose first failure ends the prefix; empty: a load that was given
    std::optional<exact_bound> exact{};
    std::optional<pool_outcome> pool{};     ///< of a workload whose pods leave; no bound
    std::optional<steady_figures> steady{}; ///< likewise, bounds; absent where things happen to nodes or pods
    std::string why_not_steady{};
    std::optional<achieved_amount> achieved{};
};

} // namespace vgpusim
