// How HAMi's scheduler ranks nodes and GPUs (docs/dialects/hami.md): for those who want to know where its pods go.
// Links between GPUs, which it may look at as well, are not known here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "vgpualloc/policy/positional.hpp"

namespace vgpualloc::policies {

enum class hami_order : std::uint8_t { binpack, spread };

/// hami.io/device-scoring-weights.
struct hami_weights {
    std::int64_t slots = 1;
    std::int64_t cores = 1;
    std::int64_t memory = 1;

    bool operator==(const hami_weights&) const = default;
};

struct hami_ranking {
    hami_order nodes = hami_order::binpack; ///< flag node-scheduler-policy, or hami.io/node-scheduler-policy
    hami_order gpus = hami_order::spread;   ///< flag gpu-scheduler-policy, or hami.io/gpu-scheduler-policy
    hami_weights weights{};                 ///< of GPUs

    bool operator==(const hami_ranking&) const = default;
};

/// Nodes: 10 x (slots + compute + memory used, each as a share of the node's), before the pod is there. GPUs: 10 x the
/// same sum of the GPU, each part times its weight, before the container is there. Binpack takes the highest, spread
/// the lowest, and of equal GPUs the one of the highest NUMA node, then the one registered last. All in 32-bit floats,
/// as HAMi computes.
class hami final : public positional_policy {
public:
    /// `numa`: NUMA nodes of the GPUs, by node and device index; GPUs that are not in it are at node 0.
    explicit hami(hami_ranking ranking, std::vector<std::vector<std::int32_t>> numa = {})
        : ranking_{ranking}, numa_{std::move(numa)} {}

    [[nodiscard]] std::string_view name() const noexcept override { return "hami"; }

    [[nodiscard]] double device_score(const request_view&, const node_view& before, const node_view&,
                                      const step_view& step) override {
        const totals of_gpu = totals_of(*step.before);
        const hami_weights& weights = ranking_.weights;
        const double later_first = rank_of_equals(before.node.at(), step.index);
        if (!of_gpu.is_whole()) return later_first;
        const float score = 10.0F * ((static_cast<float>(weights.slots) * share(of_gpu.slots_used, of_gpu.slots) +
                                      static_cast<float>(weights.cores) * share(of_gpu.cores_used, of_gpu.cores)) +
                                     static_cast<float>(weights.memory) * share(of_gpu.memory_used, of_gpu.memory));
        return signed_by(ranking_.gpus, score) + later_first;
    }

    [[nodiscard]] double placement_score(const request_view&, const placement_view& chosen) override {
        totals of_node;
        for (const device_view* const gpu : chosen.before.config->devices) of_node.add(totals_of(*gpu));
        if (!of_node.is_whole()) return 0.0;
        const float score =
            10.0F * ((share(of_node.slots_used, of_node.slots) + share(of_node.cores_used, of_node.cores)) +
                     share(of_node.memory_used, of_node.memory));
        return signed_by(ranking_.nodes, score);
    }

private:
    /// Tells equal GPUs apart and, below the last place of a 32-bit score, no others.
    [[nodiscard]] double rank_of_equals(std::size_t node, std::size_t gpu) const {
        constexpr double step = 1.0 / (std::uint64_t{1} << 46U);
        constexpr std::int32_t numa_max = 63; // no host has more
        constexpr std::int64_t gpus_max = 1024;
        const bool is_known = node < numa_.size() && gpu < numa_[node].size();
        const std::int64_t numa = is_known ? std::clamp(numa_[node][gpu], 0, numa_max) : 0;
        return step * static_cast<double>(numa * gpus_max + static_cast<std::int64_t>(gpu));
    }

    struct totals {
        std::int64_t slots = 0, slots_used = 0;
        std::int64_t cores = 0, cores_used = 0;
        std::int64_t memory = 0, memory_used = 0;

        void add(const totals& more) {
            slots += more.slots, slots_used += more.slots_used;
            cores += more.cores, cores_used += more.cores_used;
            memory += more.memory, memory_used += more.memory_used;
        }
        [[nodiscard]] bool is_whole() const { return slots > 0 && cores > 0 && memory > 0; }
    };

    [[nodiscard]] static totals totals_of(const device_view& gpu) {
        return {.slots = gpu.spec->slots,
                .slots_used = gpu.state.slots,
                .cores = gpu.spec->cores.count(),
                .cores_used = gpu.state.cores.count(),
                .memory = gpu.spec->memory.count(),
                .memory_used = gpu.state.memory.count()};
    }
    [[nodiscard]] static float share(std::int64_t used, std::int64_t whole) {
        return static_cast<float>(used) / static_cast<float>(whole);
    }
    [[nodiscard]] static double signed_by(hami_order order, float score) {
        return order == hami_order::binpack ? score : -static_cast<double>(score);
    }

    hami_ranking ranking_;
    std::vector<std::vector<std::int32_t>> numa_;
};

} // namespace vgpualloc::policies
