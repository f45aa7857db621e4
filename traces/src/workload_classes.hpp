// Classes of pods of a workload model, as manifests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgputraces/generator.hpp"
#include "vgputraces/workload_model.hpp"
#include "vgputraces/workload_nodes.hpp"

namespace vgputraces {

/// How long pods run: exactly one of the three; none: they stay.
struct duration_model {
    std::optional<double> constant_s;
    std::optional<double> mean_s; ///< exponential
    duration_quantiles quantiles;

    [[nodiscard]] bool empty() const { return !constant_s && !mean_s && quantiles.empty(); }
};

struct workload_class {
    std::string name;
    std::int64_t weight = 0;
    document manifest;
    duration_model durations; ///< empty: the model's
    /// What is said of the duration: it times a number between these.
    std::optional<std::pair<double, double>> estimate_factor;
    std::string queue;
    std::int32_t priority = 0;
    class_demand demand; ///< of one row
};

/// The cluster that classes are checked with: one node of every kind.
struct class_checker {
    std::span<const workload_node_kind> kinds;
    const vgpualloc::kube::snapshot& sample;
    const vgpualloc::mig_catalog& gpus;
    profile_wish profiles = profile_wish::by_memory;
};

inline constexpr std::string_view duration_keys[] = {"duration_s", "mean_duration_s", "duration_quantiles_s"};

[[nodiscard]] duration_model read_duration_model(const cursor& object);

/// Reads one entry of pods.classes. Its manifest is read back: what no dialect reads, or reads as something else than
/// the short form says, is an error of the entry.
[[nodiscard]] workload_class read_workload_class(const cursor& object, const class_checker& checker);

} // namespace vgputraces
